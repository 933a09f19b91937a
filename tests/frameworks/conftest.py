"""The frameworks' own suites: `make test-frameworks` runs them where the frameworks are."""

from importlib.util import find_spec

if find_spec("haystack") is None:
    collect_ignore_glob = ["test_*.py"]

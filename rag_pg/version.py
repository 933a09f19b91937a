"""The version of this program; pyproject.toml has the same."""

__version__ = "0.2.0.dev0"

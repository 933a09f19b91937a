"""Whether the service keeps to its OpenAPI, whatever it is sent: schemathesis over every route.

make bench-service_openapi [ARGS=EXAMPLES]

It is python bench/service_openapi.py FOLDER [EXAMPLES] with an environment that has schemathesis,
which is none of this project's. A service is started on a database of its own; the exit code is
that of schemathesis.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from lib.service import filled_service

# Ranges, names and filters are judged by SQL: data that the shape admits may be refused by 400, and
# a table or model that is not there by 404 or 409.
CONFIG = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 400, 403, 404, 409, 503]
[checks.negative_data_rejection]
expected-statuses = [400, 404, 409, 422, 405, 413]
[checks.missing_required_header]
enabled = false
"""


def main() -> None:
    folder, *rest = sys.argv[1:]
    with filled_service() as (url, _, _), TemporaryDirectory() as name:
        config = Path(name) / "schemathesis.toml"
        config.write_text(CONFIG, encoding="utf-8")
        command = [
            str(Path(folder).absolute() / "bin" / "st"),
            "--config-file",
            str(config),
            "run",
            f"{url}/openapi.json",
        ]
        command += ["--max-examples", (rest or ["20"])[0], "--seed", "1", "--phases"]
        command += ["examples,coverage,fuzzing", "--continue-on-failure", "--warnings", "off"]
        raise SystemExit(subprocess.run(command, cwd=name, check=False).returncode)


if __name__ == "__main__":
    main()

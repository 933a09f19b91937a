"""Run `make demo` twice, in a pipe and on a terminal of 80 columns, and check what it prints.

python tests/package/demo.py      `.ci/run` does it, in a clone where nothing is installed yet
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = ["make", "--no-print-directory", "demo"]


def in_a_pipe() -> str:
    done = subprocess.run(
        COMMAND,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout.decode()
    return done.stdout.decode()


def on_a_terminal(columns: int) -> str:
    main, other = pty.openpty()
    environment = os.environ | {"COLUMNS": str(columns), "TERM": "xterm"}
    running = subprocess.Popen(
        COMMAND, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=other, stderr=other, env=environment
    )
    os.close(other)
    shown = b""
    try:
        while part := os.read(main, 65536):
            shown += part
    except OSError:
        pass  # how Linux says that nobody writes any more
    os.close(main)
    assert running.wait() == 0, shown.decode()
    return shown.decode().replace("\r\n", "\n")


def check(text: str) -> None:
    """Three searches with hits; three questions, the last a follow-up, with answers that cite where
    they come from."""
    assert "Traceback" not in text
    assert len(re.findall(r"^ ?\d\. Search: ", text, re.M)) == 3, text
    assert len(re.findall(r"^ 1\. docs/\S+\.md", text, re.M)) >= 6, text
    assert text.count(". Ask: ") == 3 and text.count("asked as: ") == 1, text
    assert len(re.findall(r"^ *(?:- )?\[1\] [^\[]*docs/\S+\.md", text, re.M)) >= 2, text
    first = text.index("RG005")
    assert "keyword #1" in text[first : text.index("vector alone")], text
    assert "all searchable" in text, text


def main() -> None:
    text = in_a_pipe()
    check(text)
    assert "\x1b" not in text, "a pipe was given colours"
    documents = int(re.findall(r"(\d+) documents embedded now", text)[0])
    print(text)

    text = on_a_terminal(80)
    assert "\x1b[1m" in text, "a terminal was given no colours"
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    check(plain)
    assert f"0 documents embedded now, {documents} unchanged" in plain, plain
    wide = [line for line in plain.splitlines() if line.startswith("    ") and len(line) > 80]
    assert wide == [], wide
    sys.stdout.write(plain[-300:])


if __name__ == "__main__":
    main()

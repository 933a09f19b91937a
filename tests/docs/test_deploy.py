"""docs/deploy: the units and the Kubernetes example name commands and options that there are."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml
from paths import ROOT

from rag_pg.cli.app import app
from rag_pg.config import Settings

DEPLOY = ROOT / "docs" / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
STARTED = {
    "rag-pg-upgrade": "rag-pg db upgrade",
    "rag-pg-serve": "rag-pg serve",
    "rag-pg-worker@": "rag-pg worker",
}
OBJECTS: list[dict[str, Any]] = [
    *yaml.safe_load_all((DEPLOY / "kubernetes" / "rag-pg.yaml").read_text())
]


def command_of(words: list[str]) -> str:
    """Return the path of the command that a line calls, as rag-pg db upgrade. Fail where rag-pg has
    no such command or option; what it would do is not done."""
    program, *rest = words
    assert program == "rag-pg"
    command: Any = typer.main.get_command(app)
    context = command.make_context("rag-pg", list(rest), resilient_parsing=True)
    while hasattr(command, "resolve_command"):
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, list(rest), parent=context)
    return str(context.command_path)


def containers() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [
        (one, container)
        for one in OBJECTS
        if one["kind"] != "Service"
        for container in one["spec"]["template"]["spec"]["containers"]
    ]


def test_files_that_these_files_name_are_there() -> None:
    given = {"postgresql.service"}  # of the machine
    for folder in (ROOT / "docker", DEPLOY):
        texts = [
            p.read_text() for p in folder.rglob("*") if p.suffix in (".yaml", ".yml", ".service")
        ]
        named = {name for t in texts for name in re.findall(r"[\w@.-]+\.(?:ya?ml|service)\b", t)}
        assert named and named - given - {path.name for path in folder.rglob("*")} == set()


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_starts_what_there_is(unit: Path) -> None:
    (line,) = re.findall(r"^ExecStart=/usr/bin/env (.+)$", unit.read_text(), re.M)
    assert command_of(shlex.split(line.replace("%i", "8080"))) == STARTED[unit.stem]


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None,
    reason="no engine: systemd-analyze is not on the PATH",
)
def test_systemd_takes_the_units() -> None:
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(str(unit) for unit in UNITS)],
        capture_output=True,
        text=True,
    )
    ours = [line for line in done.stderr.splitlines() if "rag-pg" in line]
    assert ours == [], done.stderr
    assert done.returncode == 0 or done.stderr  # of what other units of the machine lack


def test_the_environment_has_settings_that_there_are() -> None:
    lines = (DEPLOY / "systemd" / "environment").read_text().splitlines()
    pairs = dict(
        line.lstrip("# ").split("=", 1) for line in lines if re.match(r"[# ]*[A-Z_]+=", line)
    )
    assert {"RAG_PG_DSN", "OTEL_EXPORTER_OTLP_ENDPOINT"} <= pairs.keys()
    assert Settings.from_environment(pairs).dsn == pairs["RAG_PG_DSN"]


def test_the_objects_of_kubernetes_fit_each_other() -> None:
    assert [one["kind"] for one in OBJECTS] == ["Job", "Deployment", "Deployment", "Service"]
    commands = [
        command_of([str(word) for word in container["command"]]) for _, container in containers()
    ]
    assert sorted(commands) == sorted(STARTED.values())
    for one, container in containers():
        pod = one["spec"]["template"]
        labels = pod["metadata"]["labels"]
        assert (
            one["spec"].get("selector", {"matchLabels": {}})["matchLabels"].items()
            <= labels.items()
        )
        volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
        ports = {port["name"] for port in container.get("ports", ())}
        probes = [container[key] for key in container if key.endswith("Probe")]
        assert {probe["httpGet"]["port"] for probe in probes} <= ports
        assert {probe["httpGet"]["path"] for probe in probes} <= {"/health", "/ready"}
        environment = {value["name"]: value.get("value", "x") for value in container["env"]}
        assert Settings.from_environment(environment).dsn == "x"
        assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
    service = OBJECTS[-1]["spec"]
    served = [
        one for one in OBJECTS[1:3]
        if service["selector"].items() <= one["spec"]["template"]["metadata"]["labels"].items()
    ]  # fmt: skip
    assert [one["metadata"]["name"] for one in served] == ["rag-pg-serve"]

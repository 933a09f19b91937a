"""What Prometheus reads of a worker and of the service, and what the dashboard and alerts use."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
import yaml
from fakes import HashEmbedder, ScriptedLLM
from http_service import app_over, running, with_service
from paths import ROOT
from patience import BOUND, wait_until
from prometheus import read

from rag_pg import DatabaseUnavailable, Rag, Settings
from rag_pg.tracing import add_meter, remove_meter
from rag_pg.worker import serve_health

DEPLOY = ROOT / "docs" / "deploy"
ALERTS = DEPLOY / "prometheus" / "alerts.yml"
PANELS = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text())["panels"]
EXPRESSIONS = [target["expr"] for panel in PANELS for target in panel.get("targets", ())]
RULES = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="no engine: promtool is not on the PATH"
)


@pytest.fixture(scope="module")
def busy(new_database: Callable[..., str], template: str, tmp_path_factory: Any) -> Iterator[Rag]:
    """A client of a database where everything that is measured has happened."""
    settings = Settings(home=tmp_path_factory.mktemp("home"))
    dsn = new_database(template)
    with (
        psycopg.connect(dsn, autocommit=True) as connection,
        Rag(dsn, settings=settings, embedders={"hash": lambda name: HashEmbedder()}) as rag,
    ):
        docs = rag.collection("docs", model="hash:32")
        docs.add({"uri": "a", "content": "The fish are red."}, {"uri": "b", "content": "And blue."})
        docs.ask("Which fish are red?", llm=ScriptedLLM("The fish are red [1]."))
        connection.execute(
            """SELECT rag.measure_recall('docs', sample => 5, target => 0.9);
               SELECT rag.set_budget('hash', spend_cap => 10);
               DELETE FROM rag.embeddings; CALL rag.maintain(); SELECT pg_stat_force_next_flush()"""
        )
        docs.add({"uri": "c", "content": "The fish are green."}, wait=False)
        yield rag


def metrics_of_worker(rag: Rag) -> tuple[int, str]:
    """What a worker tells that has worked what is queued."""
    worker = rag.worker()
    add_meter(worker.figures)
    try:
        worker.drain()
    finally:
        remove_meter(worker.figures)
    with serve_health(worker.health, "127.0.0.1", 0, worker.metrics) as (host, port):
        return get(f"http://{host}:{port}/metrics")


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url) as reply:
            assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as exc:
        with exc:
            return exc.code, exc.read().decode()


def metrics_of_service(rag: Rag) -> str:
    async def used(client: httpx2.AsyncClient) -> str:
        body = {"collection": "docs", "query": "red fish"}
        assert (await client.post("/search", json=body)).status_code == 200
        asked = {"collection": "docs", "question": "Which fish are red?"}
        assert (await client.post("/ask", json=asked)).status_code == 200
        assert (await client.post("/search", json=body | {"limit": -1})).status_code == 400
        return (await client.get("/metrics")).text

    return with_service(app_over(rag), used)


def test_every_metric_of_the_dashboard_and_the_alerts_is_told(busy: Rag, tmp_path: Path) -> None:
    status, of_worker = metrics_of_worker(busy)
    assert status == 200
    of_service = metrics_of_service(busy)
    told = read(of_worker).keys() | read(of_service).keys()
    # A test of standbys sees to these.
    told |= {"rag_pg_replication_lag_bytes", "rag_pg_replication_lag_seconds"}
    expressions = [*EXPRESSIONS, *(rule["expr"] for rule in RULES)]
    used = {name for one in expressions for name in re.findall(r"rag_pg_\w+", one)}
    assert used - told == set()
    shown = {re.sub("_(bucket|sum|count)$", "", name) for name in used}
    assert {re.sub("_(bucket|sum|count)$", "", name) for name in told} - shown == set()


def test_the_service_times_what_it_is_asked_and_tells_no_text(busy: Rag) -> None:
    text = metrics_of_service(busy)
    found = read(text)
    requests = {
        (labels["path"], labels["status"]): value
        for labels, value in found["rag_pg_http_request_seconds_count"]
    }
    assert requests == {("/search", "200"): 1, ("/ask", "200"): 1, ("/search", "400"): 1}
    operations = {
        (labels["operation"], labels["error"]): value
        for labels, value in found["rag_pg_operation_seconds_count"]
    }
    assert operations["invoke_workflow", ""] == 1 and operations["retrieval", ""] >= 2
    legs = {labels["leg"] for labels, _ in found["rag_pg_search_leg_seconds_count"]}
    assert legs == {"embed", "statement"}
    assert not {"red", "fish", "Which"} & set(re.findall(r"\w+", text))


def test_only_who_operates_reads_them_where_keys_are_asked_for(busy: Rag) -> None:
    keys = {
        scope: busy.database.make_service_key(
            scope, role_name=None, scopes=[scope], settings={}, limits={}, expires_at=None
        )
        for scope in ("read", "ask", "write", "operate")
    }

    async def statuses(client: httpx2.AsyncClient) -> dict[str, int]:
        found = {"nobody": (await client.get("/metrics")).status_code}
        for scope, key in keys.items():
            reply = await client.get("/metrics", headers={"Authorization": f"Bearer {key}"})
            found[scope] = reply.status_code
        return found

    found = with_service(app_over(busy, keys=True), statuses)
    assert found == {"nobody": 401, "read": 403, "ask": 403, "write": 403, "operate": 200}


def test_a_worker_without_its_database_says_so(busy: Rag) -> None:
    def fail() -> str:
        raise DatabaseUnavailable("the secret host is away")

    with serve_health(busy.worker().health, "127.0.0.1", 0, fail) as (host, port):
        status, text = get(f"http://{host}:{port}/metrics")
    assert (status, "cannot be asked" in text, "secret" in text) == (503, True, False)


@pytest.mark.minutes
def test_processes_of_a_service_tell_what_all_of_them_have_timed(busy: Rag) -> None:
    def searches(url: str) -> float:
        samples = read(get(f"{url}/metrics")[1]).get("rag_pg_http_request_seconds_count", [])
        return sum(value for labels, value in samples if labels["path"] == "/health")

    with running(busy, "--processes", "2") as service:
        for _ in range(8):
            with httpx2.Client(timeout=BOUND) as client:  # whichever process takes the connection
                assert client.get(f"{service.url}/health").status_code == 200
        wait_until(lambda: searches(service.url) == 8)
        wait_until(lambda: all(searches(service.url) == 8 for _ in range(5)))


def test_every_panel_has_its_place() -> None:
    places = {
        (x, y)
        for panel in PANELS
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    }
    assert len(places) == sum(p["gridPos"]["w"] * p["gridPos"]["h"] for p in PANELS)
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)


@promtool
def test_prometheus_takes_the_rules_the_panels_and_the_output(busy: Rag, tmp_path: Path) -> None:
    def check(*arguments: str | Path, given: str = "") -> str:
        done = subprocess.run(
            ["promtool", "check", *arguments], input=given, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    check("config", DEPLOY / "prometheus" / "prometheus.yml")
    records = [
        {"record": f"panel:{number}", "expr": one.replace("$__rate_interval", "5m")}
        for number, one in enumerate(EXPRESSIONS)
    ]
    panels = tmp_path / "panels.yml"
    panels.write_text(json.dumps({"groups": [{"name": "panels", "rules": records}]}))
    check("rules", panels)
    assert check("metrics", given=metrics_of_worker(busy)[1]) == ""
    assert check("metrics", given=metrics_of_service(busy)) == ""


@promtool
def test_the_alerts_fire_when_they_should_and_not_before(tmp_path: Path) -> None:
    quiet = {
        "rag_pg_info": 1,
        "rag_pg_workers": 1,
        'rag_pg_jobs{collection="d",state="waiting"}': 5,
        'rag_pg_jobs{collection="d",state="dead"}': 0,
        'rag_pg_queue_age_seconds{collection="d"}': 10,
        'rag_pg_collections_throttled{collection="d"}': 0,
        'rag_pg_budget_spent{provider="p"}': 1,
        'rag_pg_budget_cap{provider="p"}': 10,
        'rag_pg_sources{state="broken"}': 0,
        "rag_pg_maintenance_failures": 0,
        'rag_pg_recall{collection="d"}': 0.99,
        'rag_pg_recall_target{collection="d"}': 0.95,
        'rag_pg_dead_ratio{collection="d",kind="chunks"}': 0.1,
        'rag_pg_bytes{collection="d",kind="chunks"}': 2e8,
        'rag_pg_replication_lag_bytes{standby="s"}': 5,
        'rag_pg_maintenance_timestamp_seconds{step="leftovers"}': 7000,
    }
    loud = quiet | {
        "rag_pg_workers": 0,
        'rag_pg_jobs{collection="d",state="dead"}': 1,
        'rag_pg_queue_age_seconds{collection="d"}': 901,
        'rag_pg_collections_throttled{collection="d"}': 1,
        'rag_pg_budget_spent{provider="p"}': 9,
        'rag_pg_sources{state="broken"}': 1,
        "rag_pg_maintenance_failures": 1,
        'rag_pg_recall{collection="d"}': 0.9,
        'rag_pg_dead_ratio{collection="d",kind="chunks"}': 0.5,
        'rag_pg_replication_lag_bytes{standby="s"}': 2e8,
        'rag_pg_maintenance_timestamp_seconds{step="leftovers"}': 1,
    }
    rates = {
        # (a minute's increase) when all is well, and when it is not
        'rag_pg_operation_seconds_bucket{operation="retrieval",le="0.5"}': (60, 30),
        'rag_pg_operation_seconds_bucket{operation="retrieval",le="2.5"}': (60, 60),
        'rag_pg_operation_seconds_bucket{operation="retrieval",le="+Inf"}': (60, 60),
        'rag_pg_http_request_seconds_count{path="/ask",status="200"}': (60, 60),
        'rag_pg_http_request_seconds_count{path="/ask",status="500"}': (1, 5),
        'rag_pg_model_calls_total{model="m",kind="answer"}': (60, 60),
        'rag_pg_model_failures_total{model="m",kind="answer"}': (1, 30),
    }
    names = {rule["alert"] for rule in RULES}
    unseen = {"RagPgUnseen"}

    def case(levels: dict[str, Any], column: int, fires: set[str]) -> dict[str, Any]:
        series = [{"series": name, "values": f"{value}x120"} for name, value in levels.items()]
        series += [
            {"series": name, "values": f"0+{value[column]}x120"} for name, value in rates.items()
        ]
        return {
            "interval": "1m",
            "input_series": series if levels else [],
            "promql_expr_test": [
                {
                    "expr": f'count(ALERTS{{alertname="{name}",alertstate="firing"}}) or vector(0)',
                    "eval_time": "115m",
                    "exp_samples": [{"labels": "{}", "value": int(name in fires)}],
                }
                for name in sorted(names)
            ],
        }

    tests = [case(quiet, 0, set()), case(loud, 1, names - unseen), case({}, 0, unseen)]
    file = tmp_path / "tests.yml"
    file.write_text(json.dumps({"rule_files": [str(ALERTS)], "tests": tests}))
    done = subprocess.run(["promtool", "test", "rules", file], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

"""The alarms of docs/alerts.yml: about metrics that there are, checked, and raised by a real Prometheus."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from leaderboard.application import create_app
from leaderboard.db.engine import Database
from leaderboard.db.tables import Worker
from leaderboard.settings import Settings
from tests import ROOT
from tests.make.sites import START_S, Site, all_answer, free_port, running_site

RULES = ROOT / "docs" / "alerts.yml"
TOKEN = "a-token-that-nobody-guesses"
PROCESSES = 2
REQUESTS = 12
promtool, prometheus = shutil.which("promtool"), shutil.which("prometheus")
needs_promtool = pytest.mark.skipif(promtool is None, reason="promtool is not installed (Debian: prometheus)")
needs_prometheus = pytest.mark.skipif(
    prometheus is None, reason="Prometheus is not installed (Debian: prometheus)"
)

RAISED: dict[str, tuple[dict[str, str], str]] = {
    "LeaderboardDown": ({'up{job="leaderboard"}': "0x400"}, "10m"),
    "LeaderboardDatabaseAway": ({"leaderboard_database_up": "0x400"}, "10m"),
    "LeaderboardNoEvaluator": ({"leaderboard_evaluators": "0x400"}, "10m"),
    "LeaderboardQueueOld": (
        {'leaderboard_jobs_oldest_seconds{kind="check",state="waits"}': "0+60x400"},
        "30m",
    ),
    "LeaderboardJobsFailed": ({'leaderboard_jobs{kind="check",state="failed"}': "0x30 2x400"}, "45m"),
    "LeaderboardLeasesLost": ({"leaderboard_leases_lost_total": "0+1x400"}, "60m"),
    "LeaderboardErrors": (
        {
            'leaderboard_requests_total{route="/",status="200"}': "0+90x400",
            'leaderboard_requests_total{route="/",status="500"}': "0+10x400",
        },
        "30m",
    ),
    "LeaderboardBackupOld": ({"leaderboard_backup_age_seconds": "200000x400"}, "1m"),
    "LeaderboardDiskLow": (
        {"leaderboard_disk_free_bytes": "1000000x400", "leaderboard_disk_needed_bytes": "200000000x400"},
        "10m",
    ),
    "LeaderboardMailFailing": ({'leaderboard_letters{state="retrying"}': "3x400"}, "40m"),
    "LeaderboardWebhooksFailing": ({'leaderboard_webhook_deliveries{state="failed"}': "0x30 1x400"}, "45m"),
}
"""Alarm -> series, a sample a minute, that raise it, and by when."""
QUIET = {
    'up{job="leaderboard"}': "1x400",
    "leaderboard_database_up": "1x400",
    "leaderboard_evaluators": "2x400",
    'leaderboard_jobs_oldest_seconds{kind="check",state="waits"}': "3x400",
    'leaderboard_jobs_oldest_seconds{kind="compare",state="waits"}': "5000x400",
    'leaderboard_jobs{kind="check",state="failed"}': "7x400",
    "leaderboard_leases_lost_total": "4x400",
    'leaderboard_requests_total{route="/",status="200"}': "0+99x400",
    'leaderboard_requests_total{route="/",status="500"}': "0+1x400",
    'leaderboard_requests_total{route="/healthz",status="503"}': "0+50x400",
    "leaderboard_backup_age_seconds": "0+60x400",
    "leaderboard_disk_free_bytes": "9000000000x400",
    "leaderboard_disk_needed_bytes": "200000000x400",
    'leaderboard_letters{state="retrying"}': "0x30 1x5 0x365",
    'leaderboard_letters{state="failed"}': "9x400",
    'leaderboard_webhook_deliveries{state="failed"}': "9x400",
}
"""A site that has seen better days, where nothing is wrong now."""


def _names() -> list[str]:
    return re.findall(r"- alert: (\w+)", RULES.read_text(encoding="utf-8"))


def test_alarms_are_about_metrics_that_there_are(settings: Settings, database: Database) -> None:
    """Every name in an expression is told by /metrics, with the labels and their values that it asks for."""
    text = create_app(settings, database).test_client().get("/metrics").text
    told = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    rules = RULES.read_text(encoding="utf-8")
    used = set(re.findall(r"\bleaderboard_\w+", rules))
    assert used
    assert used <= told
    for name, labels in re.findall(r"\b(leaderboard_\w+)\{([^}]*)\}", rules):
        for label, value in re.findall(r'(\w+)="(\w+)"', labels):
            assert re.search(rf'^{name}\{{[^}}]*\b{label}="{value}"', text, re.MULTILINE), (
                name,
                label,
                value,
            )


def test_every_alarm_is_tried_and_says_what_to_do() -> None:
    """Each has its series here, a summary and a remedy."""
    assert _names() == list(RAISED)
    text = RULES.read_text(encoding="utf-8")
    assert text.count("summary: ") == text.count("remedy: ") == len(RAISED)


@needs_promtool
def test_the_rules_are_whole() -> None:
    """promtool reads them."""
    done = subprocess.run([str(promtool), "check", "rules", str(RULES)], capture_output=True, text=True)
    assert f"{len(RAISED)} rules found" in done.stdout, done.stdout + done.stderr


@needs_promtool
def test_what_is_told_is_as_prometheus_wants_it(settings: Settings, database: Database) -> None:
    """promtool finds nothing to say of names, kinds and units."""
    text = create_app(settings, database).test_client().get("/metrics").text
    done = subprocess.run(
        [str(promtool), "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@pytest.mark.trial
@needs_promtool
def test_each_alarm_is_raised_when_it_should_and_not_before(tmp_path: Path) -> None:
    """Each by its own series alone; none by a site that is well."""
    labels = 'instance="i"'
    tests = [_case(series, at, name, labels) for name, (series, at) in RAISED.items()]
    tests += [_case(QUIET, at, name, labels, is_raised=False) for name in RAISED for at in ("45m", "6h")]
    file = tmp_path / "tests.json"
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
    done = subprocess.run(
        [str(promtool), "test", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _case(
    series: dict[str, str], at: str, name: str, labels: str, *, is_raised: bool = True
) -> dict[str, Any]:
    """A test of promtool: it asks for ALERTS, so that labels and texts need not be written twice."""
    inputs = [{"series": _with(key, labels), "values": values} for key, values in series.items()]
    query = f'count(ALERTS{{alertname="{name}",alertstate="firing"}})'
    expected = [{"labels": "{}", "value": 1}] if is_raised else []
    case = {"expr": query, "eval_time": at, "exp_samples": expected}
    return {"interval": "1m", "input_series": inputs, "promql_expr_test": [case]}


def _with(series: str, labels: str) -> str:
    name, _, rest = series.partition("{")
    return f"{name}{{{labels},{rest}" if rest else f"{name}{{{labels}}}"


@contextmanager
def _watching(folder: Path, site: Site) -> Iterator[Callable[[str], Any]]:
    """A Prometheus that reads the site each second by these rules; gives a function that asks its API."""
    port, address = free_port(), site.address.removeprefix("http://")
    config = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [
            {
                "job_name": "leaderboard",
                "authorization": {"credentials": TOKEN},
                "static_configs": [{"targets": [address]}],
            }
        ],
    }
    (folder / "prometheus.json").write_text(json.dumps(config))
    with (folder / "prometheus.log").open("w") as log:
        process = subprocess.Popen(
            [
                str(prometheus),
                f"--config.file={folder / 'prometheus.json'}",
                f"--storage.tsdb.path={folder / 'series'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=log,
            stderr=log,
        )

        def ask(path: str) -> Any:
            connection = HTTPConnection("127.0.0.1", port, timeout=START_S)
            try:
                connection.request("GET", f"/api/v1/{path}")
                return json.loads(connection.getresponse().read())["data"]
            except OSError:
                assert process.poll() is None, (folder / "prometheus.log").read_text()
                return {}
            finally:
                connection.close()

        try:
            yield ask
        finally:
            process.terminate()
            process.wait(timeout=START_S)


def _eventually(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + START_S
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.2)


@pytest.mark.trial
@needs_prometheus
def test_a_real_prometheus_reads_a_site_and_raises_an_alarm(tmp_path: Path) -> None:
    """A site of two web processes without a backup: told as one, and the alarm ends once there is one."""
    environ = {
        **os.environ,
        "LEADERBOARD_WEB_PROCESSES": str(PROCESSES),
        "LEADERBOARD_EVALUATORS": "1",
        "LEADERBOARD_METRICS_TOKEN": TOKEN,
    }
    data = tmp_path / "site"
    with running_site(data, environ=environ) as site, _watching(tmp_path, site) as ask:
        all_answer(site, PROCESSES)

        def is_raised(name: str) -> bool:
            alarms = ask("alerts").get("alerts", ())
            return any(each["labels"]["alertname"] == name and each["state"] == "firing" for each in alarms)

        def value(query: str) -> float:
            found = ask(f"query?query={query}").get("result")
            return float(found[0]["value"][1]) if found else -1.0

        _eventually(lambda: is_raised("LeaderboardBackupOld"))
        _eventually(lambda: value("leaderboard_evaluators") == _evaluators(data))
        rules = [rule for group in ask("rules")["groups"] for rule in group["rules"]]
        assert {rule["name"]: rule["health"] for rule in rules} == dict.fromkeys(_names(), "ok")
        _ask(site, "/measures", REQUESTS)
        counted = 'sum(leaderboard_requests_total{route="/measures",status="200"})'
        _eventually(lambda: value(counted) == REQUESTS)
        command = [str(Path(sys.executable).parent / "leaderboard"), "backup", str(tmp_path / "site.backup")]
        subprocess.run([*command, "--data", str(data)], check=True, capture_output=True)
        _eventually(lambda: not is_raised("LeaderboardBackupOld"))
        assert not is_raised("LeaderboardDown")


def _ask(site: Site, path: str, requests: int) -> None:
    """Ask so often over connections that are open together, so that both processes get some."""
    opened = [HTTPConnection(site.address.removeprefix("http://"), timeout=START_S) for _ in range(requests)]
    for connection in opened:
        connection.request("GET", path)
        assert connection.getresponse().status == 200
    for connection in opened:
        connection.close()


def _evaluators(data: Path) -> int:
    database = Database(f"sqlite:///{data / 'leaderboard.sqlite3'}")
    with database.read() as session:
        seen = len(session.scalars(select(Worker.owner)).all())
    database.dispose()
    return seen

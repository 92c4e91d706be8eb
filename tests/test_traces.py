"""Traces as a collector of OpenTelemetry receives them: requests by route, jobs by kind, nothing unasked."""

import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from leaderboard import traces
from leaderboard.db.engine import Database
from leaderboard.errors import Invalid
from leaderboard.settings import Settings
from leaderboard.worker import Evaluator
from tests.make import build
from tests.make.apps import application
from tests.make.sites import running_site

pytest.importorskip("opentelemetry.sdk", reason="the extra otel is not installed")

Span = dict[str, Any]


class _Collector(ThreadingHTTPServer):
    """Takes spans by OTLP over HTTP; told are name, kind, status, process and attributes of each."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.spans: list[Span] = []

    @property
    def address(self) -> str:
        """What OTEL_EXPORTER_OTLP_ENDPOINT is set to."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: _Collector

    def do_POST(self) -> None:
        """Keep what is sent to /v1/traces."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        proto = import_module("opentelemetry.proto.collector.trace.v1.trace_service_pb2")
        asked = proto.ExportTraceServiceRequest.FromString(body)
        for sent in asked.resource_spans if self.path == "/v1/traces" else ():
            about = _values(sent.resource.attributes)
            self.server.spans += [_told(span, about) for scope in sent.scope_spans for span in scope.spans]
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _values(attributes: Any) -> Span:
    return {each.key: each.value.string_value or each.value.int_value for each in attributes}


def _told(span: Any, about: Span) -> Span:
    return {
        "name": span.name,
        "kind": span.kind,
        "is_error": span.status.code == 2,
        "seconds": (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
        "of": (about["service.name"], about["service.instance.id"]),
        **_values(span.attributes),
    }


@pytest.fixture
def collector() -> Iterator[_Collector]:
    """A collector that answers."""
    made = _Collector()
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def sent(collector: _Collector, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Span]]:
    """What this process sends, once traces.stop() was called."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address)
    traces.configure("web-1")
    yield collector.spans
    traces.stop()


def test_a_request_is_told_by_its_route(settings: Settings, database: Database, sent: list[Span]) -> None:
    """Not by its address, which may hold a secret; with the number that the log has."""
    client = application(settings, database).test_client()
    answers = [client.get(path) for path in ("/measures", "/judge/SECRET", "/no/such/SECRET")]
    traces.stop()
    names = ["GET /measures", "GET /judge/<token>", "other other"]
    assert [(span["name"], span["http.response.status_code"]) for span in sent] == list(
        zip(names, (200, 404, 404), strict=True)
    )
    assert [span["leaderboard.request"] for span in sent] == [
        answer.headers["X-Request-ID"] for answer in answers
    ]
    assert {span["of"] for span in sent} == {("leaderboard", "web-1")}
    assert all(span["kind"] == 2 and 0 < span["seconds"] < 3600 and not span["is_error"] for span in sent)
    assert "SECRET" not in str(sent)


def test_what_fails_is_an_error(settings: Settings, sent: list[Span]) -> None:
    """A database that is away."""
    gone = Database("postgresql+psycopg://nobody@127.0.0.1:1/none")
    application(settings, gone).test_client().get("/")
    traces.stop()
    assert [(span["name"], span["is_error"]) for span in sent] == [("GET /", True)]
    gone.dispose()


def test_a_job_is_told_by_its_kind(database: Database, tmp_path: Path, sent: list[Span]) -> None:
    """With its number, which claim it is and what became of it."""
    build.task(database, tmp_path)
    build.run(database, tmp_path, {"1": ["a"]})
    assert Evaluator(database, Settings()).drain() >= 1
    traces.stop()
    found = next(span for span in sent if span["name"] == "job evaluate")
    facts = {name: found[f"leaderboard.{name}"] for name in ("job", "kind", "claim", "outcome")}
    assert facts == {"job": 1, "kind": "evaluate", "claim": 1, "outcome": "done"}
    assert not found["is_error"]


def test_nothing_is_loaded_or_sent_unasked() -> None:
    """Without an endpoint the packages are not even imported."""
    script = (
        "import sys; from leaderboard import traces; traces.configure('web-1'); "
        "traces.record('x', traces.REQUEST, 1.0, {}); traces.stop(); "
        "print([name for name in sys.modules if 'opentelemetry' in name])"
    )
    environ = {name: text for name, text in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "[]")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything starts, where an endpoint is set."""
    monkeypatch.setattr(traces, "find_spec", lambda _: None)
    traces.require_extra()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:1/v1/traces")
    with pytest.raises(Invalid, match=r"pip install ir-leaderboard\[otel\]"):
        traces.require_extra()


@pytest.mark.trial
def test_the_processes_of_a_site_send_theirs(collector: _Collector, data_folder: Path) -> None:
    """All that was asked is there once the site has stopped."""
    environ = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.address}
    with running_site(data_folder, environ=environ) as site:
        for _ in range(3):
            urllib.request.urlopen(f"{site.address}/measures").close()
        assert site.stop() == 0
    asked = [span for span in collector.spans if span["name"] == "GET /measures"]
    assert len(asked) == 3
    assert all(span["of"][1].startswith("web-") for span in asked)


@pytest.mark.trial
def test_a_collector_that_is_away_keeps_no_site_from_ending(data_folder: Path) -> None:
    """Pages are answered, and the site stops in time: no process is killed."""
    environ = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
    with running_site(data_folder, environ=environ) as site:
        with urllib.request.urlopen(f"{site.address}/measures") as answer:
            assert answer.status == 200
        assert site.stop() == 0
    assert not any("killing" in line for line in site.output)

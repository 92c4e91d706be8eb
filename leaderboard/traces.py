"""Traces by OpenTelemetry: a span for each request and each job; nothing unless an endpoint is set.

The variables are OpenTelemetry's own (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME, ...), and so are names
of attributes. Source: OpenTelemetry, "Semantic conventions for HTTP spans", 1.27.
"""

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from leaderboard import __version__
from leaderboard.errors import Invalid

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
STOP_S = 5.0
"""Maximum seconds for sending the rest at the end of a process: an absent collector causes no delay."""
REQUEST, JOB = "SERVER", "CONSUMER"
"""Kinds of spans."""


@dataclass(frozen=True, slots=True)
class _Tracing:
    provider: Any
    tracer: Any
    api: Any


tracing: _Tracing | None = None
"""Exporter of spans; None if nothing is sent, so that no attributes are collected in that case."""


def is_wanted() -> bool:
    """Whether an endpoint is set."""
    return any(os.environ.get(name) for name in ENDPOINTS)


def require_extra() -> None:
    """Raise Invalid where traces are wanted and what sends them is not installed."""
    if is_wanted() and (find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None):
        raise Invalid(
            f"{ENDPOINTS[0]} is set, but OpenTelemetry is not installed. Run `pip install "
            "ir-leaderboard[otel]`, or unset it."
        )


def configure(process: str) -> None:
    """Send the spans of this process from now on, where an endpoint is set."""
    global tracing
    if not is_wanted():
        return
    require_extra()
    os.environ.setdefault("OTEL_SERVICE_NAME", "leaderboard")
    # Loaded where it is wanted only: it takes a third of a second and some megabytes.
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    about = {"service.version": __version__, "service.instance.id": process}
    # Not by atexit, which processes that a supervisor started do not come to.
    provider = TracerProvider(resource=Resource.create(about), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    tracing = _Tracing(provider, provider.get_tracer("leaderboard"), trace)


def record(
    name: str, kind: str, seconds: float, attributes: Mapping[str, str | int], *, is_error: bool = False
) -> None:
    """Record a span that ends now and took this many seconds; does nothing if no endpoint is set."""
    if tracing is None:
        return
    end, api = time.time_ns(), tracing.api
    start = end - round(seconds * 1e9)
    span = tracing.tracer.start_span(
        name, kind=api.SpanKind[kind], start_time=start, attributes=attributes, context=None
    )
    if is_error:
        span.set_status(api.StatusCode.ERROR)
    span.end(end)


def stop() -> None:
    """Send the remaining spans, and none from now on."""
    global tracing
    ended, tracing = tracing, None
    if ended is not None:
        ending = threading.Thread(target=ended.provider.shutdown, name="traces", daemon=True)
        ending.start()
        ending.join(STOP_S)

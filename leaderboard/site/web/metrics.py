"""Numbers for who watches the site: their address, and all of them as Prometheus reads them.

Source: Prometheus, "Text-based format", version 0.0.4.
"""

import hmac
import logging
from collections.abc import Iterable, Mapping
from math import inf, isinf

from flask import Blueprint, Response, request
from flask.typing import ResponseReturnValue
from prometheus_client import Metric as Family
from prometheus_client import generate_latest
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.datastructures import WWWAuthenticate

from leaderboard.errors import Forbidden
from leaderboard.logs import BOUNDS_S, Metric, RouteCount, Sample
from leaderboard.settings import Settings, is_loopback
from leaderboard.site import page as pages
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import (
    BEARER,
    RequestCounts,
    Route,
    client_ip,
    counted_requests,
    reading,
    settings,
)

log = logging.getLogger(__name__)


blueprint = Blueprint("metrics", __name__)


PROXIES_SAY = ("Forwarded", "Via", "X-Real-IP", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host")
"""Headers that reveal a proxy."""


MIMETYPE = "text/plain; version=0.0.4; charset=utf-8"


@blueprint.get("/metrics")
@rule(PUBLIC)
def show() -> ResponseReturnValue:
    """All metrics as text. 401 without the right token; without any, 403 to all but this machine itself.

    A database that does not answer is a metric too, not an error: the rest is reported anyway.
    """
    here = settings()
    if here.metrics_token:
        if not _has_token(here):
            return _refused()
    elif not _is_this_machine(here):
        raise Forbidden(
            "Metrics are for operators. Set LEADERBOARD_METRICS_TOKEN and send it as `Authorization: Bearer "
            "TOKEN`. Without it, only this machine can read metrics, without a proxy."
        )
    counted = _requests(counted_requests())
    response = Response(exposition_text((*pages.about(here), *_of_database(), *counted)))
    response.headers["Content-Type"] = MIMETYPE
    response.headers["Cache-Control"] = "no-store"
    return response


def _of_database() -> Iterable[Metric]:
    try:
        return (*pages.site_metrics(reading()), pages.database_state(answers=True))
    except SQLAlchemyError as error:
        log.warning("the database does not answer: %s", error)
        return (pages.database_state(answers=False),)


def _has_token(here: Settings) -> bool:
    given = request.headers.get("Authorization", "")
    return hmac.compare_digest(given.encode(), f"{BEARER}{here.metrics_token}".encode())


def _is_this_machine(here: Settings) -> bool:
    """Whether a program of this machine asks directly.

    Through a proxy on this machine all requests seem local. So nobody is where a proxy or a name of the
    site's own is set, or where a header names one.
    """
    return (
        not here.public_url
        and not here.trusted_hosts
        and is_loopback(client_ip())
        and not any(name in request.headers for name in PROXIES_SAY)
    )


def _refused() -> Response:
    response = Response("Send the token as `Authorization: Bearer TOKEN`.\n", 401, mimetype="text/plain")
    response.www_authenticate = WWWAuthenticate("bearer", {"realm": "metrics"})
    return response


class _Told(Collector):
    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Family]:
        for metric in self._metrics:
            # The output has the suffix of a counter again.
            family = Family(metric.name.removesuffix("_total"), metric.meaning, metric.kind)
            for sample in metric.samples:
                family.add_sample(metric.name + sample.suffix, {**sample.labels}, sample.value)
            yield family


def exposition_text(metrics: Iterable[Metric]) -> str:
    """The metrics, each with what it means and its samples."""
    return generate_latest(_Told(metrics)).decode()


def _requests(counts: RequestCounts) -> tuple[Metric, ...]:
    """Counters of this machine's processes: requests, durations, cached pages and lost leases."""
    kept, by_route = counts.counter.kept_pages().items(), counts.by_route()
    return (
        Metric("leaderboard_requests_total", "counter", "Answered requests.", tuple(_by_status(by_route))),
        Metric(
            "leaderboard_request_seconds",
            "histogram",
            "Seconds until the response starts.",
            tuple(_by_seconds(by_route)),
        ),
        Metric(
            "leaderboard_kept_pages_total",
            "counter",
            "Requests for cacheable pages, by source of the response.",
            tuple(Sample(count, {"found": source}) for source, count in kept),
        ),
        Metric(
            "leaderboard_leases_lost_total",
            "counter",
            "Jobs that evaluators on this machine took over because their previous evaluator was gone.",
            (Sample(counts.counter.leases_lost()),),
        ),
    )


def _by_status(counts: Mapping[Route, RouteCount]) -> Iterable[Sample]:
    for (method, route), count in counts.items():
        for status, requests in count.statuses.items():
            shown = str(status) if status else "other"
            yield Sample(requests, {"method": method, "route": route, "status": shown})


def _by_seconds(counts: Mapping[Route, RouteCount]) -> Iterable[Sample]:
    for (method, route), count in counts.items():
        labels, so_far = {"method": method, "route": route}, 0
        for bound, requests in zip((*BOUNDS_S, inf), count.spans, strict=True):
            so_far += requests
            yield Sample(so_far, {**labels, "le": "+Inf" if isinf(bound) else repr(bound)}, "_bucket")
        yield Sample(count.seconds, labels, "_sum")
        yield Sample(so_far, labels, "_count")

"""Numbers for who watches the site: what is counted of requests, and all of it as Prometheus reads it.

Source: Prometheus, "Text-based format", version 0.0.4.
"""

import hmac
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf, isinf

from flask import Blueprint, Flask, Response, current_app, request
from flask.typing import ResponseReturnValue
from prometheus_client import Metric as Family
from prometheus_client import generate_latest
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.datastructures import WWWAuthenticate

from leaderboard import counters
from leaderboard.counters import BOUNDS_S, ROUTES, RouteCount, WebCounter
from leaderboard.errors import Forbidden
from leaderboard.pages import site as pages
from leaderboard.pages.site import Metric, Sample
from leaderboard.settings import Settings, is_loopback
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import BEARER, client_ip, reading, settings

EXTENSION = "request counts"
OTHER = ("other", "other")
"""Method and route of what leads nowhere: its addresses are whatever somebody thought of."""

Route = tuple[str, str]
"""Method and rule, such as GET and /tasks/<slug>."""


@dataclass(frozen=True, slots=True)
class RequestCounts:
    """Where this application counts, and the number of each route: the same in every process of a site."""

    counter: WebCounter
    numbers: dict[Route, int]

    def by_route(self) -> dict[Route, RouteCount]:
        """What all processes counted, of the routes that were asked for."""
        counts = ((route, self.counter.route(number)) for route, number in self.numbers.items())
        return {route: count for route, count in counts if count is not None}


def register_request_counts(app: Flask, counter: WebCounter | None) -> None:
    """Number the routes of an application, which has all of them by now, and count in the counter given.

    Raises RuntimeError where they are more than there is room for.
    """
    methods = ((method, rule.rule) for rule in app.url_map.iter_rules() for method in rule.methods or ())
    routes = [OTHER, *sorted(route for route in set(methods) if route[0] not in ("HEAD", "OPTIONS"))]
    if len(routes) > ROUTES:
        raise RuntimeError(f"There are {len(routes)} routes; make room for them in counters.ROUTES.")
    numbers = {route: number for number, route in enumerate(routes)}
    app.extensions[EXTENSION] = RequestCounts(counter or WebCounter(counters.counters(), 0), numbers)


def counted_requests() -> RequestCounts:
    """What this application counts."""
    found: RequestCounts = current_app.extensions[EXTENSION]
    return found


def counter() -> WebCounter:
    """Where this process counts."""
    return counted_requests().counter


def present_route() -> Route:
    """The route of the present request."""
    rule, method = request.url_rule, "GET" if request.method == "HEAD" else request.method
    route = (method, rule.rule) if rule is not None else OTHER
    return route if route in counted_requests().numbers else OTHER


def count_request(status: int, seconds: float) -> None:
    """Count the present request."""
    here = counted_requests()
    here.counter.answered(here.numbers[present_route()], status, seconds)


MIMETYPE = "text/plain; version=0.0.4; charset=utf-8"


class _Told(Collector):
    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Family]:
        for metric in self._metrics:
            # What is written has the ending of a counter again.
            family = Family(metric.name.removesuffix("_total"), metric.meaning, metric.kind)
            for sample in metric.samples:
                family.add_sample(metric.name + sample.suffix, {**sample.labels}, sample.value)
            yield family


def exposition_text(metrics: Iterable[Metric]) -> str:
    """The metrics, each with what it means and its samples."""
    return generate_latest(_Told(metrics)).decode()


def requests(counts: RequestCounts) -> tuple[Metric, ...]:
    """What this machine's processes counted: requests, their seconds, kept pages, leases that were lost."""
    kept, by_route = counts.counter.kept_pages().items(), counts.by_route()
    return (
        Metric("leaderboard_requests_total", "counter", "Requests answered.", tuple(_by_status(by_route))),
        Metric(
            "leaderboard_request_seconds",
            "histogram",
            "Seconds until an answer begins.",
            tuple(_by_seconds(by_route)),
        ),
        Metric(
            "leaderboard_kept_pages_total",
            "counter",
            "Requests for pages that may be kept, by where the page was found.",
            tuple(Sample(count, {"found": found}) for found, count in kept),
        ),
        Metric(
            "leaderboard_leases_lost_total",
            "counter",
            "Jobs that this machine's evaluators took back because their holders were gone.",
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


log = logging.getLogger(__name__)
blueprint = Blueprint("metrics", __name__)

PROXIES_SAY = ("Forwarded", "Via", "X-Real-IP", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host")
"""Headers by which a proxy tells that it stands between."""


@blueprint.get("/metrics")
@rule(PUBLIC)
def show() -> ResponseReturnValue:
    """All metrics as text. 401 without the right token; without any, 403 to all but this machine itself.

    A database that does not answer is a metric too, not an error: the rest is told all the same.
    """
    here = settings()
    if here.metrics_token:
        if not _has_token(here):
            return _refused()
    elif not _is_this_machine(here):
        raise Forbidden(
            "Metrics are for who runs this site. Its operator sets LEADERBOARD_METRICS_TOKEN and sends it as "
            "`Authorization: Bearer TOKEN`; without one, only this machine itself may ask, past every proxy."
        )
    counted = requests(counted_requests())
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

    Through a proxy on this machine everybody seems to be on it. So nobody is where a proxy or a name of the
    site's own is set, or where a header tells of one.
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

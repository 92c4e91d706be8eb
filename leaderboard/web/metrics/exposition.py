"""Metrics as text that Prometheus reads.

Source: Prometheus, "Text-based format", version 0.0.4.
"""

from collections.abc import Iterable, Mapping
from math import inf, isinf

from prometheus_client import Metric as Family
from prometheus_client import generate_latest
from prometheus_client.registry import Collector

from leaderboard.counters import BOUNDS_S, RouteCount
from leaderboard.pages.site.metrics import Metric, Sample
from leaderboard.web.metrics.request_counts import RequestCounts, Route

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


def text(metrics: Iterable[Metric]) -> str:
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

"""Counts of requests by route, the rule that an address follows: no name and no number is ever a label."""

from dataclasses import dataclass

from flask import Flask, current_app, request

from leaderboard import counters
from leaderboard.counters import ROUTES, RouteCount, WebCounter

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


def register(app: Flask, counter: WebCounter | None) -> None:
    """Number the routes of an application, which has all of them by now, and count in the counter given.

    Raises RuntimeError where they are more than there is room for.
    """
    methods = ((method, rule.rule) for rule in app.url_map.iter_rules() for method in rule.methods or ())
    routes = [OTHER, *sorted(route for route in set(methods) if route[0] not in ("HEAD", "OPTIONS"))]
    if len(routes) > ROUTES:
        raise RuntimeError(f"There are {len(routes)} routes; make room for them in counters.ROUTES.")
    numbers = {route: number for number, route in enumerate(routes)}
    app.extensions[EXTENSION] = RequestCounts(counter or WebCounter(counters.counters(), 0), numbers)


def counted() -> RequestCounts:
    """What this application counts."""
    found: RequestCounts = current_app.extensions[EXTENSION]
    return found


def counter() -> WebCounter:
    """Where this process counts."""
    return counted().counter


def present_route() -> Route:
    """The route of the present request."""
    rule, method = request.url_rule, "GET" if request.method == "HEAD" else request.method
    route = (method, rule.rule) if rule is not None else OTHER
    return route if route in counted().numbers else OTHER


def count(status: int, seconds: float) -> None:
    """Count the present request."""
    here = counted()
    here.counter.answered(here.numbers[present_route()], status, seconds)

"""A run's page as plain values: all of it as JSON, each of its tables as header and rows."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from leaderboard.errors import NotFound
from leaderboard.pages.runs.curves import CurveLines, Curves
from leaderboard.pages.runs.profiles import Profile
from leaderboard.pages.runs.run import RunPage
from leaderboard.services.boards.rows import place_facts

Table = tuple[list[str], list[list[Any]]]
LINES = ("mine", "leader", "median", "highest", "ideal")


def as_json(page: RunPage) -> dict[str, Any]:
    """The run as plain values at full precision."""
    basis, profile = page.basis, page.profile
    keys = [each.column.key for each in page.measures]
    return {
        "run": page.name,
        "run_id": page.id,
        "team": page.team,
        "kind": page.kind,
        "task": page.slug,
        "state": page.state.state,
        "position": page.state.position,
        "message": page.state.message,
        "revision": basis.revision if basis else None,
        "revision_sha256": (basis.revision_sha256 or None) if basis else None,
        "dialect": basis.dialect if basis else None,
        "topics": basis.topics if basis else None,
        "measure_versions": {each.column.key: each.column.version for each in page.measures},
        "scores": {each.column.key: each.value for each in page.measures},
        **place_facts(page.place),
        "ranks": {each.column.key: each.rank for each in page.measures},
        "field": {each.column.key: asdict(each.spread) for each in page.measures if each.spread},
        "per_topic": {each.topic_id: dict(zip(keys, each.scores, strict=True)) for each in page.topics},
        "file_sha256": page.provenance.sha256 if page.provenance else None,
        "ranking_sha256": page.provenance.ranking_sha256 if page.provenance else None,
        "facts": {each.key: each.value for each in page.facts},
        "metadata": page.header,
        "evaluator": profile.evaluator if profile else None,
        "command": profile.command if profile else None,
        **(_profile_facts(profile) if profile else {}),
    }


def _profile_facts(profile: Profile) -> dict[str, Any]:
    ties, field = profile.ties, profile.field
    under = {
        each.column.key: {name: getattr(each, name) for name in ("lowest", "expected", "highest", "exact")}
        for each in ties.measures
    }
    return {
        "by_topic": {
            "measure": field.column.key,
            "order": field.order,
            "ranked": field.ranked,
            "topics": [asdict(each) for each in field.topics],
        }
        if field
        else None,
        "curves": {
            "leader": profile.curves.leader or None,
            **{name: _lines(profile.curves, name) for name in ("recall", "precision", "gain")},
        },
        "ties": {
            **{name: getattr(ties, name) for name in ("topics", "documents", "largest")},
            "scores": under,
        },
        "near_duplicates": [asdict(each) for each in profile.near],
        "all_measures": {each.column.key: each.value for each in profile.every},
    }


def _lines(curves: Curves, name: str) -> dict[str, Any]:
    lines: CurveLines = getattr(curves, name)
    return {"points": lines.points, **{kind: getattr(lines, kind) for kind in LINES}}


def topics(page: RunPage) -> Table:
    """The scores of every topic by every measure, with `all` for the run's own value."""
    rows: list[list[Any]] = [[topic.topic_id, *topic.scores] for topic in page.topics]
    keys = [each.column.key for each in page.measures]
    return ["topic", *keys], [*rows, ["all", *[each.value for each in page.measures]]]


def measures(page: RunPage) -> Table:
    """The run's place among the ranked runs by every measure."""
    header = ["measure", "score", "rank", "ranked", "best", "upper", "median", "lower", "worst"]
    rows: list[list[Any]] = []
    for each in page.measures:
        spread = each.spread
        numbers: list[float | None] = [None] * 5
        if spread is not None:
            numbers = [spread.high, spread.upper, spread.median, spread.lower, spread.low]
        if each.column.direction == "lower":
            numbers.reverse()
        rows.append([each.column.key, each.value, each.rank, each.ranked or None, *numbers])
    return header, rows


def field(page: RunPage) -> Table:
    """Every topic by one measure between the best, median and worst ranked run."""
    header = ["topic", "title", "score", "difference", "best", "best_run", "median", "worst", "rank"]
    found = page.profile.field if page.profile else None
    return header, [
        [
            *(each.topic_id, each.title, each.score, each.difference, each.best, each.best_run),
            *(each.median, each.worst, each.rank),
        ]
        for each in (found.topics if found else ())
    ]


def recall(page: RunPage) -> Table:
    """Interpolated precision at eleven levels of recall."""
    return _curve(page, "recall", "recall", LINES[:4])


def ranks(page: RunPage) -> Table:
    """Precision and cumulated gain at every rank."""
    by_precision, precision = _curve(page, "precision", "rank", LINES[:4])
    by_gain, gain = _curve(page, "gain", "rank", LINES)
    heads = [f"precision_{name}" for name in by_precision[1:]] + [f"gain_{name}" for name in by_gain[1:]]
    rows = [[int(one[0]), *one[1:], *other[1:]] for one, other in zip(precision, gain, strict=True)]
    return ["rank", *heads], rows


def _curve(page: RunPage, name: str, across: str, kinds: Sequence[str]) -> Table:
    if page.profile is None:
        return [across, *kinds], []
    lines: CurveLines = getattr(page.profile.curves, name)
    columns = [lines.points, *(getattr(lines, kind) or [None] * len(lines.points) for kind in kinds)]
    return [across, *kinds], [list(row) for row in zip(*columns, strict=True)]


def every(page: RunPage) -> Table:
    """The run by every measure there is."""
    found = page.profile.every if page.profile else ()
    return ["measure", "score", "version"], [
        [each.column.key, each.value, each.column.version] for each in found
    ]


def ties(page: RunPage) -> Table:
    """Lowest, expected and highest value of the run over all orders of equal scores."""
    found = page.profile.ties.measures if page.profile else ()
    return ["measure", "lowest", "expected", "highest", "exact"], [
        [each.column.key, each.lowest, each.expected, each.highest, each.exact] for each in found
    ]


TABLES: dict[str, tuple[str, Callable[[RunPage], Table]]] = {
    "topics": ("Scores by topic", topics),
    "measures": ("Place among the ranked runs", measures),
    "field": ("Scores by topic against the ranked runs", field),
    "recall": ("Interpolated precision by recall", recall),
    "ranks": ("Precision and cumulated gain by rank", ranks),
    "ties": ("Scores under ties", ties),
    "all": ("All measures", every),
}
"""Name in an address -> what the table is called, and how it is made."""


def table(page: RunPage, name: str) -> Table:
    """One of the tables by its name; raises NotFound for an unknown one."""
    if name not in TABLES:
        raise NotFound(f"A run has no table {name[:40]!r}; it has {', '.join(TABLES)}.")
    return TABLES[name][1](page)


def caption(page: RunPage, name: str) -> str:
    """What a table of that name says of itself where it stands alone."""
    on = ""
    if (basis := page.basis) is not None:
        on = f", {basis.topics} topics, qrels revision {basis.revision}, trec_eval {basis.dialect}"
    measure = page.profile.field.column.key if name == "field" and page.profile and page.profile.field else ""
    return f"{TABLES[name][0]} of {page.name}{f' by {measure}' if measure else ''} on {page.task}{on}."


def digits(page: RunPage) -> dict[str, int]:
    """Decimals of the columns of `topics`, by their head."""
    return {each.column.key: each.column.digits for each in page.measures}

"""Two rankings of one topic side by side, the documents both have joined by lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leaderboard.web.charts.scales import Name, fitted, fitted_title, number

HEAD, FOOT, ROW = 24.0, 8.0, 20.0
LEFT, RIGHT = 41.0, 59.0
LONGEST = 25, 13


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document at the next rank, with its title where there is one.

    deeper is its rank in the other ranking where that is not shown.
    """

    docno: str
    grade: int | None
    href: str | None = None
    deeper: int | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A row on one side; alone that the other side does not show it, elsewhere its rank there."""

    y: float
    rank: int
    docno: str
    name: Name
    """Its title, else its docno, shortened to fit."""
    grade: str
    kind: str
    alone: bool
    elsewhere: str
    label: str
    href: str | None


@dataclass(frozen=True, slots=True)
class Join:
    """A line between the two places of a document."""

    start: float
    end: float
    kind: str
    label: str


@dataclass(frozen=True, slots=True)
class RankingsChart:
    """Two columns of documents; lines run between left and right, in percent of the drawing's width."""

    height: float
    row_height: float
    left: float
    right: float
    first: tuple[Entry, ...]
    second: tuple[Entry, ...]
    joins: tuple[Join, ...]


def rankings_chart(first: Sequence[Ranked], second: Sequence[Ranked], *, level: int = 1) -> RankingsChart:
    """The top ranks of two rankings; grades from level on are relevant.

    >>> one, two = [Ranked("x", 1), Ranked("y", 0)], [Ranked("z", None, deeper=7), Ranked("x", 1)]
    >>> chart = rankings_chart(one, two)
    >>> [(join.start, join.end, join.kind) for join in chart.joins]
    [(34.0, 54.0, 'relevant')]
    >>> [(entry.docno, entry.alone, entry.elsewhere) for entry in chart.second]
    [('z', True, '7'), ('x', False, '1')]
    """
    ranks = [
        {document.docno: rank for rank, document in enumerate(side, start=1)} for side in (first, second)
    ]
    left = tuple(_entry(document, rank, level, ranks[1]) for rank, document in enumerate(first, start=1))
    right = tuple(_entry(document, rank, level, ranks[0]) for rank, document in enumerate(second, start=1))
    joins = [
        Join(
            start=entry.y,
            end=_height(ranks[1][entry.docno]),
            kind=entry.kind,
            label=f"{entry.name.full}: rank {entry.rank} and rank {entry.elsewhere}",
        )
        for entry in left
        if not entry.alone
    ]
    return RankingsChart(
        height=HEAD + ROW * max(len(left), len(right)) + FOOT,
        row_height=ROW,
        left=LEFT,
        right=RIGHT,
        first=left,
        second=right,
        joins=tuple(sorted(joins, key=lambda join: join.kind == "relevant")),
    )


def _height(rank: int) -> float:
    return HEAD + ROW * (rank - 0.5)


def _entry(document: Ranked, rank: int, level: int, other_ranks: Mapping[str, int]) -> Entry:
    alone = document.docno not in other_ranks
    elsewhere = other_ranks.get(document.docno, document.deeper)
    kind = "unjudged" if document.grade is None else "relevant" if document.grade >= level else "irrelevant"
    judged = "unjudged" if document.grade is None else f"grade {document.grade}"
    where = "not in the other ranking" if elsewhere is None else f"rank {elsewhere} in the other"
    name = f"{document.title} ({document.docno})" if document.title else document.docno
    return Entry(
        y=_height(rank),
        rank=rank,
        docno=document.docno,
        name=fitted_title(document.title, *LONGEST) if document.title else fitted(document.docno, *LONGEST),
        grade="–" if document.grade is None else number(document.grade, 1.0),
        kind=kind,
        alone=alone,
        elsewhere="–" if elsewhere is None else str(elsewhere),
        label=f"{rank}. {name}: {judged}, {where}",
        href=document.href,
    )

"""Whom a machine favours: runs by team, and by the language models that they declare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from leaderboard.pages.boards import facts
from leaderboard.services.boards.rows import Row
from leaderboard.stats.combined.bias import LEAST_OTHERS, Favour, favours
from leaderboard.stats.combined.labels import FloatArray, Labels, ValueOf
from leaderboard.trec.facts.models import families


@dataclass(frozen=True, slots=True, kw_only=True)
class FavouredRuns:
    """What the machine gives some runs beyond what it gives others for documents like theirs.

    name: of their team, or of the family of language models that they declare.
    """

    name: str
    runs: int
    favour: Favour
    is_own: bool = False
    """Whether it is the family of the machine that judged."""


class FavourSeen(NamedTuple):
    """What favour is seen from: the labels, what a grade is worth, and how much documents count in runs.

    placed: (runs, judged documents), in the order of the labels.
    """

    labels: Labels
    value_of: ValueOf
    placed: FloatArray


def by_team(rows: Sequence[Row], seen: FavourSeen) -> tuple[FavouredRuns, ...]:
    """Most favoured first; without teams with too few runs of others, or with no documents but all runs'."""
    members: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        members.setdefault(row.team, []).append(at)
    return _favoured(_compared(members, rows), seen)


def by_model(rows: Sequence[Row], seen: FavourSeen, machine: str) -> tuple[FavouredRuns, ...]:
    """Most favoured first; machine: the name of the one that judged, whose own family is marked.

    A family is left out where too few runs do not declare it.
    """
    members: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        declared = facts.of_row(row).get("llm")
        for family in families(declared.text) if declared else ():
            members.setdefault(family, []).append(at)
    return _favoured(_compared(members, rows), seen, families(machine))


def _compared(members: Mapping[str, list[int]], rows: Sequence[Row]) -> dict[str, list[int]]:
    return {name: runs for name, runs in members.items() if len(rows) - len(runs) >= LEAST_OTHERS}


def _favoured(
    members: Mapping[str, Sequence[int]], seen: FavourSeen, own: frozenset[str] = frozenset()
) -> tuple[FavouredRuns, ...]:
    if not members:
        return ()
    found = favours(*seen, list(members.values()))
    groups = [
        FavouredRuns(name=name, runs=len(runs), favour=favour, is_own=name in own)
        for (name, runs), favour in zip(members.items(), found, strict=True)
        if favour is not None
    ]
    return tuple(sorted(groups, key=lambda group: (-group.favour.mean, group.name)))

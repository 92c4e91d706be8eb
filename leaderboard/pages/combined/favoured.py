"""Whom a machine favours: runs by team, and by the language models that they declare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leaderboard.pages.boards import facts
from leaderboard.pages.combined.estimates import EstimatedScores
from leaderboard.services.boards.rows import Row
from leaderboard.stats.combined.bias import LEAST_OTHERS, Favour, favours
from leaderboard.trec.facts.models import families


@dataclass(frozen=True, slots=True, kw_only=True)
class FavouredRuns:
    """What the machine gives some runs beyond what it gives others that people score alike.

    name: of their team, or of the family of language models that they declare.
    """

    name: str
    runs: int
    favour: Favour
    is_own: bool = False
    """Whether it is the family of the machine that judged."""


def by_team(rows: Sequence[Row], made: EstimatedScores) -> tuple[FavouredRuns, ...]:
    """Most favoured first; without teams that have too few runs of others beside them."""
    members: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        members.setdefault(row.team, []).append(at)
    return _favoured(_compared(members, rows), made)


def by_model(rows: Sequence[Row], made: EstimatedScores, machine: str) -> tuple[FavouredRuns, ...]:
    """Most favoured first; machine: the name of the one that judged, whose own family is marked.

    A family is left out where too few runs do not declare it.
    """
    members: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        declared = facts.of_row(row).get("llm")
        for family in families(declared.text) if declared else ():
            members.setdefault(family, []).append(at)
    return _favoured(_compared(members, rows), made, families(machine))


def _compared(members: Mapping[str, list[int]], rows: Sequence[Row]) -> dict[str, list[int]]:
    return {name: runs for name, runs in members.items() if len(rows) - len(runs) >= LEAST_OTHERS}


def _favoured(
    members: Mapping[str, Sequence[int]], made: EstimatedScores, own: frozenset[str] = frozenset()
) -> tuple[FavouredRuns, ...]:
    if not members:
        return ()
    found = favours(made.by_machine, made.by_people, list(members.values()))
    groups = [
        FavouredRuns(name=name, runs=len(runs), favour=favour, is_own=name in own)
        for (name, runs), favour in zip(members.items(), found, strict=True)
    ]
    return tuple(sorted(groups, key=lambda group: (-group.favour.mean, group.name)))

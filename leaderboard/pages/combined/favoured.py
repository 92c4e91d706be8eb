"""Whom a machine favours: runs by team, and by the language models that they say they use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from leaderboard.pages.boards import facts
from leaderboard.pages.combined.estimates import EstimatedScores
from leaderboard.services.boards.rows import Row
from leaderboard.stats.combined.bias import Favour, favours
from leaderboard.trec.facts.models import families


@dataclass(frozen=True, slots=True, kw_only=True)
class FavouredRuns:
    """What the machine gives some runs more than people do, compared with all runs.

    name: of their team, or of the family of language models that they declare.
    """

    name: str
    runs: int
    favour: Favour
    is_own: bool = False
    """Whether it is the family of the machine that judged."""


def by_team(rows: Sequence[Row], made: EstimatedScores) -> tuple[FavouredRuns, ...]:
    """Most favoured first; empty where all runs are of one team."""
    members: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        members.setdefault(row.team, []).append(at)
    return _favoured(members, made) if len(members) > 1 else ()


def by_model(rows: Sequence[Row], made: EstimatedScores, machine: str) -> tuple[FavouredRuns, ...]:
    """Most favoured first; machine: the name of the one that judged, whose own family is marked.

    A family that all runs or none declare is left out: there is nothing to compare it with.
    """
    members: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        declared = facts.of_row(row).get("llm")
        for family in families(declared.text) if declared else ():
            members.setdefault(family, []).append(at)
    some = {family: runs for family, runs in members.items() if len(runs) < len(rows)}
    return _favoured(some, made, families(machine)) if some else ()


def _favoured(
    members: Mapping[str, Sequence[int]], made: EstimatedScores, own: frozenset[str] = frozenset()
) -> tuple[FavouredRuns, ...]:
    found = favours(made.by_machine, made.by_people, list(members.values()))
    groups = [
        FavouredRuns(name=name, runs=len(runs), favour=favour, is_own=name in own)
        for (name, runs), favour in zip(members.items(), found, strict=True)
    ]
    return tuple(sorted(groups, key=lambda group: (-group.favour.mean, group.name)))

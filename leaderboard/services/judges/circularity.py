"""Where a judge and what it judges are not independent, by what both declare.

A run and a judge of one family of models, or of one team, may agree for that reason. Nothing is taken away:
the runs are named, and the agreement without them stands beside that with all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from leaderboard.services.judges.agreements import JudgeAgreement
from leaderboard.stats.judges.agreement import BoardAgreement, board_agreement
from leaderboard.stats.judges.over_rating import OverRating, group_over_rating
from leaderboard.tables.record import Shown
from leaderboard.trec.boards.align import FEWEST_RUNS
from leaderboard.trec.boards.declared import Declared
from leaderboard.trec.facts.models import families

MACHINE_REFERENCE = "The reference is by a machine: this is agreement of two machines."
NOTHING: Declared = Declared()


@dataclass(frozen=True, slots=True)
class DeclaredFacts:
    """What runs and judges declare, by name; is_machine: whether the reference is by a machine."""

    runs: Mapping[str, Declared]
    judges: Mapping[str, Declared]
    is_machine: bool = False


@dataclass(frozen=True, slots=True)
class GroupRating:
    """A group of runs by its name, with how many they are and by how much the judge over-rates them."""

    name: Annotated[str, Shown("Runs of", key="group")]
    runs: int
    rating: OverRating


@dataclass(frozen=True, slots=True)
class CircularAgreement:
    """What is circular about a judge, in sentences, with the runs concerned.

    without: the agreement without these runs, None where fewer than three remain; rating: by how much the
    judge over-rates them.
    """

    sentences: tuple[str, ...]
    runs: tuple[str, ...]
    without: BoardAgreement | None
    rating: OverRating | None


def circularity(agreement: JudgeAgreement, facts: DeclaredFacts) -> CircularAgreement:
    """What is circular about a judge by the facts declared; no sentence where nothing is."""
    judge = facts.judges.get(agreement.judge, NOTHING)
    by_family = _of_family(agreement.runs, judge, facts)
    by_team = [run for run in agreement.runs if judge.team and _fact(facts, run).team == judge.team]
    sentences = []
    if by_family:
        sentences.append(f"The judge shares a family of models with {_named(by_family)}.")
    if by_team:
        sentences.append(f"The judge is of the team of {_named(by_team)}.")
    if judge.saw_reference:
        sentences.append("The judge saw what the reference rests on.")
    if facts.is_machine:
        sentences.append(MACHINE_REFERENCE)
    concerned = {*by_family, *by_team}
    places = [at for at, run in enumerate(agreement.runs) if run in concerned]
    return CircularAgreement(
        tuple(sentences),
        tuple(agreement.runs[at] for at in places),
        _without(agreement, places) if places else None,
        _rating(agreement, places) if places else None,
    )


def by_team(agreement: JudgeAgreement, facts: DeclaredFacts) -> tuple[GroupRating, ...]:
    """The over-rating of each team that runs declare, the most over-rated first."""
    members: dict[str, list[int]] = {}
    for at, run in enumerate(agreement.runs):
        if team := _fact(facts, run).team:
            members.setdefault(team, []).append(at)
    return _groups(agreement, members)


def by_family(agreement: JudgeAgreement, facts: DeclaredFacts) -> tuple[GroupRating, ...]:
    """The over-rating of runs that use the judge's family of models and of those that do not.

    Empty where no run does, or all do: there is nothing to compare them with.
    """
    judge = facts.judges.get(agreement.judge, NOTHING)
    own = set(_of_family(agreement.runs, judge, facts))
    members = {
        "the judge's family": [at for at, run in enumerate(agreement.runs) if run in own],
        "others": [at for at, run in enumerate(agreement.runs) if run not in own],
    }
    return _groups(agreement, members) if all(members.values()) else ()


def _of_family(runs: Sequence[str], judge: Declared, facts: DeclaredFacts) -> list[str]:
    own = families(f"{judge.llm};{judge.reranker}")
    return [
        run for run in runs if own & (families(_fact(facts, run).llm) | families(_fact(facts, run).reranker))
    ]


def _fact(facts: DeclaredFacts, run: str) -> Declared:
    return facts.runs.get(run, NOTHING)


def _without(agreement: JudgeAgreement, places: Sequence[int]) -> BoardAgreement | None:
    kept = np.setdiff1d(np.arange(len(agreement.runs)), places)
    if len(kept) < FEWEST_RUNS:
        return None
    names = [agreement.runs[at] for at in kept]
    return board_agreement(agreement.reference_means[kept], agreement.means[kept], names)


def _rating(agreement: JudgeAgreement, places: Sequence[int]) -> OverRating | None:
    return None if agreement.over is None else group_over_rating(agreement.over, places)


def _groups(agreement: JudgeAgreement, members: Mapping[str, Sequence[int]]) -> tuple[GroupRating, ...]:
    rated = [(name, len(places), _rating(agreement, places)) for name, places in members.items()]
    groups = [GroupRating(name, runs, rating) for name, runs, rating in rated if rating is not None]
    return tuple(sorted(groups, key=lambda group: (-group.rating.mean, group.name)))


def _named(runs: Sequence[str]) -> str:
    return ("run " if len(runs) == 1 else "runs ") + ", ".join(runs)

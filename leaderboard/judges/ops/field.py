"""The judges of a task compared with its reference; computed once for the same boards.

A run and a judge of one model family, or of one team, may agree for that reason. Nothing is removed:
the runs are named, and the agreement without them is shown next to the full agreement.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from leaderboard.scoring.ops.agreements import (
    AgreementPlan,
    JudgeAgreement,
    JudgesBoard,
    RankBy,
    agreement_of,
    judges_board,
)
from leaderboard.stats.judges import BoardAgreement, OverRating, board_agreement, group_over_rating
from leaderboard.tables.record import Shown
from leaderboard.trec.boards.align import FEWEST_RUNS, Reference, reference_from
from leaderboard.trec.boards.forms import Declared
from leaderboard.trec.boards.packing import KeptBoard, KeptReference
from leaderboard.trec.facts import families

MACHINE_REFERENCE = "The reference is judged by a machine, so this is agreement between two machines."
NOTHING: Declared = Declared()


@dataclass(frozen=True, slots=True)
class DeclaredFacts:
    """Declared facts of runs and judges, by name; is_machine: whether a machine judged the reference."""

    runs: Mapping[str, Declared]
    judges: Mapping[str, Declared]
    is_machine: bool = False


@dataclass(frozen=True, slots=True)
class GroupRating:
    """A group of runs by name, with its size and the judge's over-rating of it."""

    name: Annotated[str, Shown("Runs of", key="group")]
    runs: int
    rating: OverRating


@dataclass(frozen=True, slots=True)
class CircularAgreement:
    """Circularity of a judge, as sentences, with the runs concerned.

    without: the agreement without these runs, None if fewer than three remain; rating: the judge's
    over-rating of them.
    """

    sentences: tuple[str, ...]
    runs: tuple[str, ...]
    without: BoardAgreement | None
    rating: OverRating | None


def circularity(agreement: JudgeAgreement, facts: DeclaredFacts) -> CircularAgreement:
    """Circularity of a judge by the declared facts; no sentences if absent."""
    judge = facts.judges.get(agreement.judge, NOTHING)
    by_family = _of_family(agreement.runs, judge, facts)
    by_team = [run for run in agreement.runs if judge.team and _fact(facts, run).team == judge.team]
    sentences = []
    if by_family:
        sentences.append(f"The judge shares a model family with {_named(by_family)}.")
    if by_team:
        sentences.append(f"The judge belongs to the team of {_named(by_team)}.")
    if judge.saw_reference:
        sentences.append("The judge saw the judgments behind the reference.")
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
    """Over-rating of each declared team, highest first."""
    members: dict[str, list[int]] = {}
    for at, run in enumerate(agreement.runs):
        if team := _fact(facts, run).team:
            members.setdefault(team, []).append(at)
    return _groups(agreement, members)


def by_family(agreement: JudgeAgreement, facts: DeclaredFacts) -> tuple[GroupRating, ...]:
    """Over-rating of runs that use the judge's model family and of those that do not.

    Empty if no run does, or all do, because there is nothing to compare.
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


BY_MEASURE: Mapping[str, RankBy] = {"BoardTau": "tau_b", "TopicTau": "topics", "TopicAccuracy": "topics"}
"""Ranking measure of a judge task -> ranking of its judges' board."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgeEntry:
    """A judge of a task: its board under its run's name, declared facts, and whether it is ranked."""

    kept: KeptBoard
    declared: Declared
    is_ranked: bool
    least: float | None = None
    """Lower bound of its τ_b, if an evaluator computed it."""
    is_least_known: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class JudgedField:
    """All judges: their boards, and declared facts of runs and judges."""

    board: JudgesBoard
    facts: DeclaredFacts


def over_topics(reference: Reference, topics: Sequence[str]) -> Reference:
    """The reference restricted to some of its topics, in its order."""
    kept = [place for place, topic in enumerate(reference.topics) if topic in set(topics)]
    named = [reference.topics[place] for place in kept]
    scores = np.ascontiguousarray(reference.scores[:, kept])
    return reference_from(reference.runs, named, reference.measure, scores)


def judged_field(
    kept: KeptReference, entries: Sequence[JudgeEntry], plan: AgreementPlan, rank_by: RankBy
) -> JudgedField:
    """The judges' board; judges without a rank on the task's board have none here.

    Contains only what the board needs about each judge; `agreement_of` has the rest.
    """
    agreements = [_with_least(kept, entry, plan) for entry in entries]
    ranked = [agreement for agreement, entry in zip(agreements, entries, strict=True) if entry.is_ranked]
    board = judges_board(kept.reference, ranked, plan, rank_by)
    others = [agreement for agreement, entry in zip(agreements, entries, strict=True) if not entry.is_ranked]
    unranked = (
        replace(row, rank=None, place=None, why=row.why or "Not an official run.")
        for row in (judges_board(kept.reference, others, plan, rank_by).rows if others else ())
    )
    facts = DeclaredFacts(
        runs=kept.facts,
        judges={entry.kept.board.name: entry.declared for entry in entries},
        is_machine=kept.is_machine,
    )
    return JudgedField(replace(board, rows=(*board.rows, *unranked)), facts)


def _with_least(kept: KeptReference, entry: JudgeEntry, plan: AgreementPlan) -> JudgeAgreement:
    agreement = agreement_of(kept, entry.kept, plan, only_ranked=True)
    return replace(agreement, least=entry.least) if entry.is_least_known else agreement

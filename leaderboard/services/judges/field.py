"""The judges of a task held against its reference: what is computed once for the same boards.

A run and a judge of one family of models, or of one team, may agree for that reason. Nothing is taken away:
the runs are named, and the agreement without them stands beside that with all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from leaderboard.memory import Kept, keep
from leaderboard.services.judges.agreements import (
    AgreementPlan,
    JudgeAgreement,
    JudgesBoard,
    RankBy,
    judge_agreement,
    judges_board,
)
from leaderboard.services.statistics import requests
from leaderboard.stats.judges import (
    BoardAgreement,
    Coefficient,
    OverRating,
    board_agreement,
    group_over_rating,
)
from leaderboard.stats.pairs.methods import method
from leaderboard.tables.record import Shown
from leaderboard.trec.boards.align import FEWEST_RUNS, FloatArray, Reference, reference_from
from leaderboard.trec.boards.board_files import BoardFile
from leaderboard.trec.boards.declared import Declared
from leaderboard.trec.boards.packing import KeptBoard, KeptReference
from leaderboard.trec.facts import families

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


USUAL = "t+holm"
BY_MEASURE: Mapping[str, RankBy] = {"BoardTau": "tau_b", "TopicTau": "topics", "TopicAccuracy": "topics"}
"""The measure that a task ranks judges by -> what its judges' board does."""

# An agreement takes tens of milliseconds and more, mostly resampling, and never changes.
_kept: Kept[JudgeAgreement] = Kept(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class JudgeEntry:
    """A judge of a task: its board under the name of its run, what it declares, whether it has a rank."""

    kept: KeptBoard
    declared: Declared
    is_ranked: bool
    least: float | None = None
    """What holds at least of its τ_b, where an evaluator computed it."""
    is_least_known: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class JudgedField:
    """All judges: their board, and what runs and judges declare."""

    board: JudgesBoard
    facts: DeclaredFacts


def plan_of(comparison: str, primary: str, reference: Reference) -> AgreementPlan:
    """How a task's judges are held against its reference: by the test of its boards where that is quick."""
    runs, topics = reference.scores.shape
    is_quick = requests.seconds(comparison, runs, topics) <= requests.AT_ONCE_S
    by: Coefficient = "accuracy" if primary == "TopicAccuracy" else "tau_b"
    return AgreementPlan(method=method(comparison if is_quick else USUAL), by=by)


def over_topics(reference: Reference, topics: Sequence[str]) -> Reference:
    """The reference on these of its topics, in its order."""
    kept = [place for place, topic in enumerate(reference.topics) if topic in set(topics)]
    named = [reference.topics[place] for place in kept]
    scores = np.ascontiguousarray(reference.scores[:, kept])
    return reference_from(reference.runs, named, reference.measure, scores)


def judged_field(
    kept: KeptReference, entries: Sequence[JudgeEntry], plan: AgreementPlan, rank_by: RankBy
) -> JudgedField:
    """The judges' board: judges that have no rank on the task's board have none here.

    What is said of each is what the board needs; `agreement_of` has the rest.
    """
    held = [_with_least(kept, entry, plan) for entry in entries]
    ranked = [agreement for agreement, entry in zip(held, entries, strict=True) if entry.is_ranked]
    board = judges_board(kept.reference, ranked, plan, rank_by)
    others = [agreement for agreement, entry in zip(held, entries, strict=True) if not entry.is_ranked]
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


# References and boards are the same objects for every judge and page that they are read for.
@keep
def _digest(kept: KeptReference | KeptBoard) -> str:
    return kept.sha256


def _with_least(kept: KeptReference, entry: JudgeEntry, plan: AgreementPlan) -> JudgeAgreement:
    found = agreement_of(kept, entry.kept, plan, only_ranked=True)
    return replace(found, least=entry.least) if entry.is_least_known else found


def agreement_of(
    kept: KeptReference, judge: KeptBoard, plan: AgreementPlan, *, only_ranked: bool = False
) -> JudgeAgreement:
    """The agreement of a judge with the reference, by the measure it named."""
    whole = "" if only_ranked else "whole"
    key = (_digest(kept), _digest(judge), judge.board.name, plan.method.key, plan.by, whole)
    known = _kept.get(key)
    if known is None:
        known = judge_agreement(judge.board, judge.primary, kept.reference, plan, only_ranked=only_ranked)
        _kept.put(key, known)
    return known


BY_TOPIC = "TopicAccuracy"
"""Scores of nuggets tie many runs on a topic; by pairwise accuracy a tie is half right."""
Scores = Mapping[int, FloatArray]
"""Run id -> scores on the topics of its side, more is better, none of them nan."""


@dataclass(frozen=True, slots=True, eq=False)
class LineAgreement:
    """How a line agrees with the board, and how that was worked out; run_ids: in the order of its runs."""

    found: JudgeAgreement
    plan: AgreementPlan
    run_ids: tuple[int, ...]


def line_agreement(
    board: tuple[Scores, Sequence[str]], line: tuple[Scores, Sequence[str]], measure: str, comparison: str
) -> LineAgreement | None:
    """The agreement of two sides, each with its topics, by the test of the task's boards where that is quick.

    Of the runs that both sides have, on topics of the board; None of fewer than three. RBO takes tied runs in
    the order in which they were sent.
    """
    common = sorted(board[0].keys() & line[0].keys())
    if len(common) < FEWEST_RUNS or not board[1]:
        return None
    names = [f"{run_id:012}" for run_id in common]
    reference = reference_from(names, board[1], measure, np.array([board[0][run_id] for run_id in common]))
    rows = {
        name: dict(zip(line[1], line[0][run_id].tolist(), strict=True))
        for name, run_id in zip(names, common, strict=True)
    }
    by_line = BoardFile("", "", {measure: rows}, {}, (), tuple(rows), tuple(line[1]), ())
    plan = plan_of(comparison, BY_TOPIC, reference)
    found = agreement_of(KeptReference(reference, ""), KeptBoard(by_line, measure), plan)
    return LineAgreement(found, plan, tuple(common[place] for place in found.places.tolist()))

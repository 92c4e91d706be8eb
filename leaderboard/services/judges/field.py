"""The judges of a task held against its reference: what is computed once for the same boards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from leaderboard.memory import Kept, keep
from leaderboard.services.judges.agreements import AgreementPlan, JudgeAgreement, judge_agreement
from leaderboard.services.judges.board import JudgesBoard, RankBy, judges_board
from leaderboard.services.judges.circularity import DeclaredFacts
from leaderboard.services.statistics import requests
from leaderboard.stats.judges.by_topic import Coefficient
from leaderboard.stats.pairs.methods import method
from leaderboard.trec.boards.align import Reference, reference_from
from leaderboard.trec.boards.declared import Declared
from leaderboard.trec.boards.packing import KeptBoard, KeptReference

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

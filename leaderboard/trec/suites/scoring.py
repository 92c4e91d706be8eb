"""Submissions to a suite scored member by member, each member's judgments read once."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from leaderboard.errors import Invalid, LeaderboardError
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import FloatArray
from leaderboard.stats.suites.board import MemberScores
from leaderboard.trec.read.forms import USUAL, Asked
from leaderboard.trec.scores.report import RunScores
from leaderboard.trec.scores.scoring import Inputs, Options, Scorer
from leaderboard.trec.suites.submissions import Submission
from leaderboard.trec.suites.suite_files import Member, Suite


@dataclass(frozen=True, slots=True, eq=False)
class SuiteRun:
    """A run of a suite: by member its scores, (topics,); missing: members that it has none for."""

    name: str
    scores: dict[str, FloatArray]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SuiteScores:
    """All runs of a suite, by member in the suite's order.

    notes: what was left out of members' rankings; read_as: how the files were read.
    """

    suite: Suite
    runs: tuple[SuiteRun, ...]
    measures: dict[str, BoundMeasure]
    topics: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]
    read_as: tuple[str, ...] = ()

    def of(self, members: Sequence[Member]) -> list[MemberScores]:
        """The scores in these members, a missing one None; the group is the one of macro means."""
        return [
            MemberScores(
                self.topics[member.name],
                tuple(run.scores.get(member.name) for run in self.runs),
                member.groups.get(self.suite.macro, ""),
            )
            for member in members
        ]


def score_suite(
    suite: Suite, paths: Sequence[Path], *, level: int = 1, dialect: int = 10, mapping: Asked = USUAL
) -> SuiteScores:
    """Every submission scored; memory does not grow with the size of runs.

    mapping: how the judgments of every member are read.

    Raises Invalid for judgments and measures as scorers do, for a submission with any problem, naming up to
    25, and for two submissions of one name.
    """
    scorers = {
        member.name: _scorer(member, Options((member.measure,), level, dialect), mapping)
        for member in suite.members
    }
    runs: list[SuiteRun] = []
    for path in paths:
        run = _scored(suite, scorers, Submission(path, suite.names))
        if run.name in {other.name for other in runs}:
            raise Invalid(f"Two submissions are named {run.name}; give each its own tag or file name.")
        runs.append(run)
    return SuiteScores(
        suite=suite,
        runs=tuple(runs),
        measures={name: scorer.measures[0] for name, scorer in scorers.items()},
        topics={name: scorer.topics for name, scorer in scorers.items()},
        notes=tuple(
            f"{name}: {note}" for name, scorer in scorers.items() for note in scorer.left_out_notes()
        ),
        read_as=tuple(note for scorer in scorers.values() for note in scorer.notes),
    )


def _scorer(member: Member, options: Options, mapping: Asked) -> Scorer:
    assert member.qrels is not None, "a suite file names judgments"
    inputs = Inputs(
        member.qrels, left_out=member.left_out, changed_docnos=member.changed_docnos, asked=mapping
    )
    scorer = Scorer(inputs, options)
    if len(scorer.measures) != 1:
        keys = ", ".join(measure.key for measure in scorer.measures)
        raise Invalid(f"The member {member.name} has one measure, not several: {keys}.")
    return scorer


def _scored(suite: Suite, scorers: dict[str, Scorer], submission: Submission) -> SuiteRun:
    scores: dict[str, FloatArray] = {}
    for member, path in submission.runs():
        try:
            scores[member] = _column(scorers[member].scores(path))
        except LeaderboardError as error:
            submission.refuse(member, path, error)
    submission.require(suite.metadata_is_required)
    missing = tuple(submission.missing)
    if suite.missing_is_empty:
        scores |= {member: _column(scorers[member].empty()) for member in missing}
    return SuiteRun(submission.name, scores, missing)


def _column(report: RunScores) -> FloatArray:
    (column,) = report.scores.values()
    values = np.asarray(column, dtype=np.float64)
    if not np.isfinite(values).all():
        raise Invalid("The measure is undefined on some topic, so runs cannot be ranked by it.")
    return values

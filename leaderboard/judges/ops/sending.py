"""Submission of a judge: the rules of its task, the check, and the resulting run."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from leaderboard.answers.ops.nuggets import reading
from leaderboard.checksums import belonging_to
from leaderboard.core.kinds import Others, PackedRun, UploadRules, refused_probe
from leaderboard.db.tables import QrelsRevision, Task
from leaderboard.errors import Closed, Invalid, Problem, TooLarge
from leaderboard.judges.ops.labels import run_sources
from leaderboard.memory import keep
from leaderboard.scoring.ops.qrels import files
from leaderboard.scoring.ops.qrels.files import PreparedQrels
from leaderboard.trec.boards.align import FEWEST_RUNS, align
from leaderboard.trec.boards.board_files import BoardFile, Known, read_board
from leaderboard.trec.boards.forms import form_of
from leaderboard.trec.boards.packing import (
    BoardRules,
    KeptBoard,
    KeptReference,
    pack_board,
    pack_reference,
    unpack_reference,
)
from leaderboard.trec.read.bundles import kind_of, on_disk
from leaderboard.trec.read.lines import Limits, Source, numbered_lines, shown
from leaderboard.trec.runs.check import Report

KIND = "judges"
LINE = "board"
"""The kind of judgments of a reference."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PreparedReference(PreparedQrels):
    """A parsed and packed reference."""

    kept: KeptReference

    @property
    def made_by(self) -> tuple[str, str] | None:
        """Machine if the reference is based on a machine's judgments; its source stays hidden."""
        return ("machine" if self.kept.is_machine else "human"), ""

    @property
    def topics(self) -> list[str]:
        """The topics of the reference, in byte order."""
        return sorted(self.kept.reference.topics, key=str.encode)

    @property
    def facts(self) -> dict[tuple[str, ...], float]:
        """(topic, measure, run) -> value."""
        reference = self.kept.reference
        return {
            (topic, reference.measure, run): float(reference.scores[row, place])
            for row, run in enumerate(reference.runs)
            for place, topic in enumerate(reference.topics)
        }


def of_reference(kept: KeptReference, file_name: str = "") -> PreparedReference:
    """A prepared reference, with the digest of its contents."""
    return PreparedReference(
        file_name=file_name,
        sha256=kept.sha256,
        kind=LINE,
        judgments={},
        rows=(),
        packed=pack_reference(kept),
        warnings=kept.reference.warnings,
        kept=kept,
    )


def of_packed(stored: bytes, file_name: str) -> PreparedReference:
    """The reference of a revision; raises Damaged."""
    return of_reference(unpack_reference(stored), file_name)


def newest_reference(session: Session, task_id: int) -> KeptReference | None:
    """The newest reference of a task, None if none was chosen; raises Damaged."""
    revision = files.newest(session, task_id)
    return None if revision is None else _of(revision)


def of_revision(session: Session, revision_id: int) -> KeptReference:
    """The reference in a revision; raises Damaged."""
    query = select(QrelsRevision).where(QrelsRevision.id == revision_id)
    return _of(session.scalars(query.options(undefer(QrelsRevision.packed))).one())


# Cached because an evaluator scores all judges of an edition against the same reference, in sequence.
@keep
def opened_reference(stored: bytes) -> KeptReference:
    """The reference of a revision's bytes; raises Damaged."""
    return unpack_reference(stored)


def _of(revision: QrelsRevision) -> KeptReference:
    with belonging_to(f"revision {revision.number} (number {revision.id} of all)"):
        return opened_reference(revision.packed)


_PRIMARY = re.compile(r"#\s*primary\s*[:=]\s*(\S+)\s*", re.IGNORECASE)
PRIMARY_REMEDY = "Add a line `# primary: NAME` to the file."


def rules_of(session: Session, task: Task, topics: list[str]) -> BoardRules:
    """The task's requirements for a board file; raises Closed until a reference is chosen."""
    kept = newest_reference(session, task.id)
    if kept is None:
        raise Closed(
            f"{task.name} has no reference yet. Boards can be submitted once its organisers choose one."
        )
    return BoardRules(tuple(topics), kept, run_sources.places(session, kept))


def checked(
    source: Source, rules: UploadRules, limits: Limits, others: Others | None
) -> tuple[Report, PackedRun | None]:
    """The report on a board file or labels, and its storage format if it can be accepted."""
    report, packed = read(source, rules.own, limits)
    if rules.is_blind:
        remedy = "Submit the board on all topics; this task accepts no other."
        report = refused_probe(report, "topics", rules.own.topics, "has values on", remedy, "board")
    return report, packed


def read(
    source: Source, rules: BoardRules, limits: Limits, *, is_brought: bool = False
) -> tuple[Report, PackedRun | None]:
    """The same with the reference to compare with.

    is_brought: whether another site accepted it, so that labels are accepted whose runs are not here.
    """
    with on_disk(source) as path:
        try:
            if kind_of(path, limits):
                return _checked_archive(path, rules, limits, is_brought)
            form = form_of(path, rules.kept.reference.runs, limits)
            if form != "board":
                return run_sources.checked(path, form, rules, limits, is_brought=is_brought)
            expected = Known(frozenset(rules.kept.reference.runs), frozenset(rules.topics))
            board = read_board(path, expected, limits=limits)
            primary = _primary(path, board, limits)
        except Invalid as error:
            return Report(error.problems or (Problem(error.message, _remedy(error)),)), None
    if board.order == "one_run":
        return Report(
            (Problem("Each line must name its run.", "Use the format: run topic measure value."),)
        ), None
    kept = KeptBoard(board, primary)
    aligned = align(board, primary, rules.kept.reference)
    warnings = (*board.warnings, *aligned.warnings, *_missing(aligned.missing, aligned.left_out))
    facts = {
        "runs": len(board.runs),
        "topics": len(board.topics),
        "measures": len(board.measures),
        "order": board.order,
        "primary": primary,
    }
    few = Problem(f"{primary} has values for fewer than {FEWEST_RUNS} runs of the reference.")
    report = Report(() if aligned.is_enough else (few,), warnings, facts)
    return report, packed_board(kept) if report.accepted else None


def _checked_archive(
    path: Path, rules: BoardRules, limits: Limits, is_brought: bool
) -> tuple[Report, PackedRun | None]:
    """The same for an archive; raises Invalid."""
    if not reading.has_parts(path, limits):
        rule = f"The archive must contain the files of one judge, named {reading.SENDERS_NAMES}."
        raise _refused(Problem(rule, "Submit a board or labels file on its own, not in an archive."))
    try:
        with reading.parts_of(path, limits) as files:
            return run_sources.checked_parts(files, rules, is_brought=is_brought)
    except TooLarge as error:
        return Report((Problem(error.message),)), None


def _primary(path: Path, board: BoardFile, limits: Limits) -> str:
    """The primary measure: named in the file, or its only one; raises Invalid otherwise."""
    named_measures = [
        match[1] for _, line in numbered_lines(path, limits) if (match := _PRIMARY.fullmatch(line.strip()))
    ]
    measures = ", ".join(map(shown, board.measures)) or "no usable ones"
    if len(set(named_measures)) > 1 or (named_measures and named_measures[0] not in board.measures):
        rule = f"The primary measure must be one of the file: {measures}."
        raise _refused(Problem(rule, PRIMARY_REMEDY, field="primary", value=shown(named_measures[0])))
    if not named_measures and len(board.measures) != 1:
        rule = f"The file has {len(board.measures)} measures ({measures}). Name the primary one."
        raise _refused(Problem(rule, PRIMARY_REMEDY, field="primary"))
    return named_measures[0] if named_measures else board.measures[0]


def _refused(problem: Problem) -> Invalid:
    return Invalid(f"The board file cannot be accepted: {problem}", [problem])


def _remedy(error: Invalid) -> str:
    is_asked = "order of the columns" in error.message
    return "Start the file with a header such as `run_id query_id measure value`." if is_asked else ""


def _missing(runs: tuple[str, ...], topics: tuple[str, ...]) -> Iterator[Problem]:
    if runs:
        rule = "The board lacks a run of the reference, so the judge has no rank."
        yield Problem(rule, "", None, "run", shown(runs[0]), len(runs))
    if topics:
        rule = "A run lacks this topic, so the topic is left out for all runs of this judge."
        yield Problem(rule, "", None, "topic", shown(topics[0]), len(topics))


def packed_board(kept: KeptBoard) -> PackedRun:
    """A board in storage format."""
    board = kept.board
    cells = {
        (run, topic, value)
        for by_run in board.values.values()
        for run, row in by_run.items()
        for topic, value in row.items()
    }
    return PackedRun(
        board=pack_board(kept),
        topics=len(board.topics),
        entries=len(cells),
        deepest=len(board.runs),
        digest=kept.sha256,
        sketch=run_sources.sketch_of(cells),
    )

"""A file of a judge on its way in: the rules of its task, its check, and the run it becomes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session, undefer

from leaderboard.checksums import belonging_to
from leaderboard.db.tables import QrelsRevision, Task
from leaderboard.errors import Closed, Invalid, Problem, TooLarge
from leaderboard.memory import keep
from leaderboard.services.judges.labels import run_sources
from leaderboard.services.judges.packed import sketch_of
from leaderboard.services.kinds import Others, PackedRun, UploadRules, refused_probe
from leaderboard.services.nuggets import reading
from leaderboard.services.qrels import files
from leaderboard.services.qrels.files import PreparedQrels
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
from leaderboard.trec.read.bundles import kind_of
from leaderboard.trec.read.lines import Limits, Source, numbered_lines, shown
from leaderboard.trec.read.on_disk import on_disk
from leaderboard.trec.runs.check import Report

KIND = "judges"
LINE = "board"
"""The kind of judgments that a reference is."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PreparedReference(PreparedQrels):
    """A reference, read and packed."""

    kept: KeptReference

    @property
    def made_by(self) -> tuple[str, str] | None:
        """Machine where the reference rests on a machine's judgments; where it is from is held back."""
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
    """A reference, prepared; its digest is that of all it says."""
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
    """What a revision holds; raises Damaged."""
    return of_reference(unpack_reference(stored), file_name)


def newest_reference(session: Session, task_id: int) -> KeptReference | None:
    """The newest reference of a task, None where none was chosen; raises Damaged."""
    revision = files.newest(session, task_id)
    return None if revision is None else _of(revision)


def of_revision(session: Session, revision_id: int) -> KeptReference:
    """The reference that a revision is; raises Damaged."""
    query = select(QrelsRevision).where(QrelsRevision.id == revision_id)
    return _of(session.scalars(query.options(undefer(QrelsRevision.packed))).one())


# An evaluator scores all judges of an edition against the same reference, one after the other.
@keep
def opened_reference(stored: bytes) -> KeptReference:
    """The reference of a revision's bytes; raises Damaged."""
    return unpack_reference(stored)


def _of(revision: QrelsRevision) -> KeptReference:
    with belonging_to(f"revision {revision.number} (number {revision.id} of all)"):
        return opened_reference(revision.packed)


_PRIMARY = re.compile(r"#\s*primary\s*[:=]\s*(\S+)\s*", re.IGNORECASE)
PRIMARY_REMEDY = "Write `# primary: NAME` as a line of the file."


def rules_of(session: Session, task: Task, topics: list[str]) -> BoardRules:
    """What the task asks of a board file; raises Closed while no reference is chosen."""
    kept = newest_reference(session, task.id)
    if kept is None:
        raise Closed(f"{task.name} has no reference yet; it takes boards once its organisers chose one.")
    return BoardRules(tuple(topics), kept, run_sources.places(session, kept))


def checked(
    source: Source, rules: UploadRules, limits: Limits, others: Others | None
) -> tuple[Report, PackedRun | None]:
    """The report on a board file, labels or parts of them, and what is stored of it if it can be accepted."""
    report, packed = read(source, rules.own, limits)
    if rules.is_blind:
        remedy = "Send the board on all topics; this task takes no other."
        report = refused_probe(report, "topics", rules.own.topics, "has values on", remedy, "board")
    return report, packed


def read(
    source: Source, rules: BoardRules, limits: Limits, *, is_brought: bool = False
) -> tuple[Report, PackedRun | None]:
    """The same by the reference that a file is held against.

    is_brought: whether another site took it, so that labels are taken whose runs are not here.
    """
    with on_disk(source) as path:
        try:
            if kind_of(path, limits):
                return _checked_archive(path, rules, limits, is_brought)
            form = form_of(path, rules.kept.reference.runs, limits)
            if form != "board":
                return run_sources.checked(path, form, rules, limits, is_brought=is_brought)
            known = Known(frozenset(rules.kept.reference.runs), frozenset(rules.topics))
            board = read_board(path, known, limits=limits)
            primary = _primary(path, board, limits)
        except Invalid as error:
            return Report(error.problems or (Problem(error.message, _remedy(error)),)), None
    if board.order == "one_run":
        return Report((Problem("A line names its run.", "Write run topic measure value."),)), None
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
    few = Problem(f"{primary} has a value for fewer than {FEWEST_RUNS} runs of the reference.")
    report = Report(() if aligned.is_enough else (few,), warnings, facts)
    return report, packed_board(kept) if report.accepted else None


def _checked_archive(
    path: Path, rules: BoardRules, limits: Limits, is_brought: bool
) -> tuple[Report, PackedRun | None]:
    """The same of an archive; raises Invalid."""
    if not reading.has_parts(path, limits):
        rule = f"The archive does not hold the parts of one judge, files named {reading.SENDERS_NAMES}."
        raise _refused(Problem(rule, "Send a board or a file of labels by itself, not in an archive."))
    try:
        with reading.parts_of(path, limits) as files:
            return run_sources.checked_parts(files, rules, is_brought=is_brought)
    except TooLarge as error:
        return Report((Problem(error.message),)), None


def _primary(path: Path, board: BoardFile, limits: Limits) -> str:
    """The measure that counts: named in the file, or its only one; raises Invalid where it is neither."""
    found = [
        match[1] for _, line in numbered_lines(path, limits) if (match := _PRIMARY.fullmatch(line.strip()))
    ]
    measures = ", ".join(map(shown, board.measures)) or "none that can be used"
    if len(set(found)) > 1 or (found and found[0] not in board.measures):
        rule = f"The measure that counts is one of the file: {measures}."
        raise _refused(Problem(rule, PRIMARY_REMEDY, field="primary", value=shown(found[0])))
    if not found and len(board.measures) != 1:
        rule = f"The file has {len(board.measures)} measures ({measures}); name the one that counts."
        raise _refused(Problem(rule, PRIMARY_REMEDY, field="primary"))
    return found[0] if found else board.measures[0]


def _refused(problem: Problem) -> Invalid:
    return Invalid(f"The board file cannot be taken: {problem}", [problem])


def _remedy(error: Invalid) -> str:
    is_asked = "order of the columns" in error.message
    return "Begin the file with a heading such as `run_id query_id measure value`." if is_asked else ""


def _missing(runs: tuple[str, ...], topics: tuple[str, ...]) -> Iterator[Problem]:
    if runs:
        rule = "The reference has a run that the board lacks, so the judge has no rank."
        yield Problem(rule, "", None, "run", shown(runs[0]), len(runs))
    if topics:
        rule = "A run lacks the topic, which is left out for all runs of this judge."
        yield Problem(rule, "", None, "topic", shown(topics[0]), len(topics))


def packed_board(kept: KeptBoard) -> PackedRun:
    """A board as it is stored."""
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
        sketch=sketch_of(cells),
    )

"""Database access to the runs of a reference, which labels score."""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from collections.abc import Collection as AbcCollection
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.answers.ops import answers as answers_services
from leaderboard.answers.ops.nuggets import scoring
from leaderboard.answers.ops.nuggets.reading import PartFile
from leaderboard.checksums import with_checksum
from leaderboard.core.kinds import PackedRun
from leaderboard.db.engine import Database
from leaderboard.db.tables import Collection, Edition, QrelsRevision, Run, Task
from leaderboard.errors import Conflict, Invalid, MissingInput, Problem
from leaderboard.measures.answers import registry as answer_measures
from leaderboard.measures.answers.registry import parse
from leaderboard.measures.judged import FloatArray, Judged
from leaderboard.measures.naming import parse as naming_parse
from leaderboard.memory import Kept
from leaderboard.scoring.ops.rankings import whole_blocks
from leaderboard.trec.answers.record import Answer
from leaderboard.trec.boards.answer_labels import (
    KeptAnswerLabels,
    PartOfLabels,
    Places,
    pack_answer_labels,
    read_answer_labels,
)
from leaderboard.trec.boards.board_files import BoardFile
from leaderboard.trec.boards.forms import Form, split_parts
from leaderboard.trec.boards.judge_labels import KeptLabels, pack_labels, read_judge_labels
from leaderboard.trec.boards.packing import BoardRules, KeptBoard, KeptReference, Origin
from leaderboard.trec.nuggets.judgments import notes_on
from leaderboard.trec.nuggets.packing import PARTS, Part
from leaderboard.trec.qrels.align import Aligner, CompiledJudgments
from leaderboard.trec.qrels.packed import pack_judgments, pack_left_out, unpack_left_out
from leaderboard.trec.qrels.revision_inputs import RevisionInputs, compiled_inputs
from leaderboard.trec.read.kernel import Block
from leaderboard.trec.read.lines import Limits, shown, text_of
from leaderboard.trec.runs.check import Report
from leaderboard.trec.runs.fingerprints import SKETCH_SIZE

Cell = tuple[str, str, float | str]
"""Contents of a submission: run, topic and value of a board; topic, document and grade of labels; or text."""


@dataclass(frozen=True, slots=True)
class ReferenceBasis:
    """The basis of a reference's board, apart from judgments.

    dialect: its edition's; size: documents of the collection, None if unknown; left_out: documents
    left out of rankings, packed, None if none; digests: run id -> digest of its rankings or answers.
    """

    dialect: int
    size: int | None
    left_out: bytes | None
    digests: Mapping[int, str]


class RunSource:
    """Reads the runs of a reference, each outside the transaction that stores the results."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def basis(self, origin: Origin) -> ReferenceBasis:
        """The scoring inputs of the runs; raises Conflict if they no longer exist."""
        with self._database.read() as session:
            return basis(session, origin)

    def blocks(self, run_id: int, sha256: str) -> Iterator[Block]:
        """The rankings of a run, a few blocks in each transaction; raises Damaged."""
        return whole_blocks(self._database, run_id, sha256)

    def answers(self, run_id: int) -> Mapping[str, Answer]:
        """Topic -> answer of a run; raises Damaged."""
        with self._database.read() as session:
            return {answer.topic: answer for answer in answers_services.of_run(session, run_id)}


def basis(session: Session, origin: Origin) -> ReferenceBasis:
    """The scoring inputs of a reference's runs; raises Conflict if they no longer exist."""
    edition = session.get(Edition, origin.edition_id)
    query = select(Run.id, Run.ranking_sha256).where(Run.id.in_(origin.run_ids))
    digests = {run_id: sha256 for run_id, sha256 in session.execute(query)}
    sizes = select(Collection.size).join(Task, Task.collection_id == Collection.id)
    size = session.scalar(sizes.where(Task.id == origin.task_id))
    if edition is None or len(digests) < len(set(origin.run_ids)):
        raise Conflict(
            "Labels cannot score the reference: some of its runs no longer exist. Choose another reference."
        )
    left_out = session.scalar(select(QrelsRevision.left_out).where(QrelsRevision.id == edition.revision_id))
    return ReferenceBasis(edition.dialect, size, left_out, digests)


ANSWERS_KIND = "answers"
_places: Kept[Places] = Kept(__name__)


def answers_board_of(runs: RunSource, kept: KeptReference, sent: KeptAnswerLabels) -> KeptBoard:
    """The board of a judge's labels by the reference's measure, on the labelled topics.

    A topic of a run without labels has no value. Raises Conflict if runs of the reference no longer exist,
    Invalid if labels belong to another answer, Damaged.
    """
    key = parse(kept.reference.measure).key
    origin = kept.origin
    if origin is None or origin.kind != ANSWERS_KIND:
        raise Conflict(
            "The reference is not a leaderboard of answers on this site. Choose another reference."
        )
    runs.basis(origin)
    values: dict[str, dict[str, float]] = {}
    for name, run_id in zip(kept.reference.runs, origin.run_ids, strict=True):
        answers = runs.answers(run_id)
        scored = scoring.scores(sent.answers, name, answers, [key])[key].scores.tolist()
        by_topic = zip(sent.answers.topics, scored, strict=True)
        values[name] = {topic: value for topic, value in by_topic if math.isfinite(value)}
    values = {name: row for name, row in values.items() if row}
    topics = tuple(dict.fromkeys(topic for row in values.values() for topic in row))
    board = BoardFile("", "", {kept.reference.measure: values}, {}, (), tuple(values), topics, ())
    return KeptBoard(board, kept.reference.measure)


def places(session: Session, kept: KeptReference) -> Places:
    """Number of documents cited by each segment of the reference's answers; empty for other references."""
    origin = kept.origin
    if origin is None or origin.kind != ANSWERS_KIND:
        return {}
    # Cached because answers never change, and reading all of them takes seconds.
    key = str(session.get_bind().engine.url), origin.run_ids
    if (cached_places := _places.get(key)) is not None:
        return cached_places
    return _places.put(key, _read(session, dict(zip(kept.reference.runs, origin.run_ids, strict=True))))


def _read(session: Session, runs: Mapping[str, int]) -> Places:
    return {
        (name, answer.topic): tuple(len(segment.citations) for segment in answer.segments)
        for name, run_id in runs.items()
        for answer in answers_services.of_run(session, run_id)
    }


DOCUMENTS_KIND = "rankings"
USUAL_DIALECT = 10


def documents_board_of(runs: RunSource, kept: KeptReference, sent: KeptLabels) -> KeptBoard:
    """The board of a judge's labels by the reference's measure, on the labelled topics.

    Rankings are read block by block. Raises Conflict if runs of the
    reference no longer exist, Invalid if a score is not finite, Damaged.
    """
    origin = kept.origin
    if origin is None or origin.kind != DOCUMENTS_KIND:
        raise Conflict("The reference is not a ranking leaderboard on this site. Choose another reference.")
    basis = runs.basis(origin)
    compiled = judgments_of(kept, sent, basis.size, basis.left_out)
    compute = measure_of(kept)
    values = {}
    for name, run_id in zip(kept.reference.runs, origin.run_ids, strict=True):
        aligner = Aligner(compiled, dialect=basis.dialect)
        for block in runs.blocks(run_id, basis.digests[run_id]):
            aligner.add(block)
        values[name] = _by_topic(name, compiled.judgments.topics, compute(aligner.judged()))
    return KeptBoard(_file(kept, values, compiled.judgments.topics), kept.reference.measure)


def judgments_of(
    kept: KeptReference, sent: KeptLabels, size: int | None = None, left_out: bytes | None = None
) -> CompiledJudgments:
    """The labels on the reference's topics, ready to be aligned with runs.

    size: of the collection. left_out: documents that the reference's board leaves out of rankings, packed;
    their labels are ignored.
    """
    topics, gone = set(kept.reference.topics), unpack_left_out(left_out)
    counting = {
        topic: {docno: grade for docno, grade in grades.items() if docno not in gone.get(topic, ())}
        for topic, grades in sent.labels.judgments.items()
        if topic in topics
    }
    labels = {topic: grades for topic, grades in counting.items() if grades}
    packed, leaving = pack_judgments(labels), pack_left_out({topic: gone.get(topic, ()) for topic in labels})
    inputs = RevisionInputs(packed, left_out=leaving, collection_size=size, name="the labels")
    return compiled_inputs(inputs)


def measure_of(kept: KeptReference) -> Callable[[Judged], FloatArray]:
    """The reference's measure; computing it raises MissingInput if labels alone are not enough."""
    bound = naming_parse(kept.reference.measure)
    return bound.compute


def on_no_run(compiled: CompiledJudgments) -> Judged:
    """Result of labels for a run without a document."""
    return Aligner(compiled, dialect=USUAL_DIALECT).judged()


def _by_topic(run: str, topics: Sequence[str], scores: FloatArray) -> dict[str, float]:
    if not np.isfinite(scores).all():
        raise Invalid(f"With these labels a score of run {run} is not finite. Submit smaller labels.")
    return dict(zip(topics, scores.tolist(), strict=True))


def _file(kept: KeptReference, values: dict[str, dict[str, float]], topics: Sequence[str]) -> BoardFile:
    return BoardFile(
        name="",
        order="",
        values={kept.reference.measure: values},
        totals={},
        unusable=(),
        runs=kept.reference.runs,
        topics=tuple(topics),
        warnings=(),
    )


REMEDY = "Submit a board file: run topic measure value."
ADD = (
    "Submit nuggets and their labels in one zip or tar: nuggets.jsonl with assignments.jsonl or argue.jsonl."
    " Or submit assignments alone: their lines name the nuggets."
)
WORDS = {
    "labels": "labels of documents",
    "nuggets": "nuggets",
    "assignments": "assignments",
    "support": "support labels",
    "argue": "Auto-ARGUE’s judgments",
}
"""Format of a file -> its contents."""


def checked(
    path: Path, form: Form, rules: BoardRules, limits: Limits, *, is_brought: bool = False
) -> tuple[Report, PackedRun | None]:
    """The report on a labels file, and the labels if they can be accepted; raises Invalid.

    is_brought: whether another site accepted it, so that the runs of its reference need not be here.
    """
    assert form != "board", "a file of labels"
    if form == "labels":
        if refused := _refused(rules.kept, ["labels"], is_brought):
            return Report((refused,)), None
        return _of_documents(path, rules, limits)
    with TemporaryDirectory(prefix="labels-") as folder:
        parts = split_parts(path, form, Path(folder), limits)
        return _of_answers({part: PartOfLabels(file) for part, file in parts.items()}, rules, is_brought)


def checked_parts(
    files: Mapping[Part, PartFile], rules: BoardRules, *, is_brought: bool = False
) -> tuple[Report, PackedRun | None]:
    """The same for several files; raises Invalid, with problems that name the file."""
    named = {part: PartOfLabels(file.path, file.name) for part, file in files.items()}
    return _of_answers(named, rules, is_brought)


def packed_documents(sent: KeptLabels) -> PackedRun:
    """Labels of documents in storage format."""
    judgments = sent.labels.judgments
    cells: set[Cell] = {
        (topic, text_of(docno), float(grade))
        for topic, grades in judgments.items()
        for docno, grade in grades.items()
    }
    return PackedRun(
        board=pack_labels(sent),
        topics=len(judgments),
        entries=len(cells),
        deepest=max(map(len, judgments.values())),
        digest=sent.sha256,
        sketch=sketch_of(cells),
        tag=sent.labels.run,
    )


def packed_answers(sent: KeptAnswerLabels, topics: int) -> PackedRun:
    """Labels of answers in storage format; topics: number of topics with scores."""
    return PackedRun(
        board=pack_answer_labels(sent),
        topics=topics,
        entries=sent.documents,
        deepest=len({run for run, _ in sent.labelled("answers")}),
        digest=sent.sha256,
        sketch=sketch_of(_cells(sent)),
    )


def _of_documents(path: Path, rules: BoardRules, limits: Limits) -> tuple[Report, PackedRun | None]:
    labels = read_judge_labels(path, limits, frozenset(rules.topics))
    sent, kept = KeptLabels(labels), rules.kept
    facts = {
        "form": "labels",
        "documents": sent.documents,
        "topics": len(labels.judgments),
        "confidence": sum(map(len, labels.confidence.values())),
        "primary": kept.reference.measure,
    }
    warnings = (*labels.notes, *_missing(kept, labels.judgments))
    report = Report(tuple(_unfit(kept, sent)), warnings, facts)
    return report, packed_documents(sent) if report.accepted else None


def _of_answers(
    files: Mapping[Part, PartOfLabels], rules: BoardRules, is_brought: bool
) -> tuple[Report, PackedRun | None]:
    kept, forms = rules.kept, [part for part in PARTS if part in files]
    if refused := _refused(kept, forms, is_brought):
        return Report((refused,)), None
    sent = read_answer_labels(files, rules.places, kept.reference.runs, frozenset(rules.topics))
    measure = answer_measures.parse(kept.reference.measure)
    basis = answer_measures.NAMES[measure.measure.name].basis
    labelled_cells = sent.labelled(basis)
    # A set may have more topics than were labelled; only labelled ones give values.
    topics = sent.answers.topics_of(measure) & {topic for _, topic in labelled_cells}
    problems: tuple[Problem, ...] = ()
    if not sent.answers.judgments.has(basis) or not topics:
        kinds_of_labels = " and ".join(WORDS[form] for form in forms)
        rule = f"The reference is by {kept.reference.measure}, which {kinds_of_labels} alone cannot compute."
        problems = (Problem(rule, REMEDY, field="labels"),)
    runs = {run for run, _ in labelled_cells}
    facts = {
        "form": ", ".join(forms),
        "runs": len(runs),
        "labels": sent.documents,
        "topics": len(topics),
        "primary": kept.reference.measure,
    }
    lacking = [run for run in kept.reference.runs if run not in runs]
    warnings = (*notes_on(sent.answers.judgments, kept.reference.runs), *_without_runs(lacking))
    report = Report(problems, (*warnings, *_missing(kept, topics)), facts)
    return report, packed_answers(sent, len(topics)) if report.accepted else None


def _refused(kept: KeptReference, forms: Sequence[Form], is_brought: bool) -> Problem | None:
    """Why these files cannot be scored against the reference."""
    if "nuggets" in forms and not {"assignments", "argue"} & set(forms):
        rule = "Nuggets alone score no run. Add assignments that say which answer contains which nugget."
        return Problem(rule, ADD, field="labels")
    if "assignments" in forms and "argue" in forms:
        rule = "Assignments and Auto-ARGUE’s judgments both label nuggets."
        return Problem(rule, "Submit one of the two.", field="labels")
    if is_brought:
        return None
    if kept.origin is None:
        is_here = kept.elsewhere is None
        where = "which here is a board file without runs." if is_here else "which are not on this site."
        rule = f"Labels are scored on the runs of the reference, {where}"
        return Problem(rule, REMEDY, field="labels")
    needed_kind = DOCUMENTS_KIND if forms == ["labels"] else ANSWERS_KIND
    if kept.origin.kind != needed_kind:
        kinds_of_labels = " and ".join(WORDS[form] for form in forms)
        rule = f"The runs of the reference are {kept.origin.kind}, which {kinds_of_labels} cannot score."
        return Problem(rule, REMEDY, field="labels")
    return None


def _unfit(kept: KeptReference, sent: KeptLabels) -> Iterator[Problem]:
    """Raise Invalid for labels on no topic of the reference, or not sufficient for its measure."""
    compiled = judgments_of(kept, sent)
    if not compiled.judgments.topics:
        yield Problem(
            "The file has no label on a topic of the reference.", "Submit labels on topics of the reference."
        )
        return
    try:
        measure_of(kept)(on_no_run(compiled))
    except MissingInput as error:
        by = kept.reference.measure
        rule = f"The reference is by {by}, which labels alone cannot compute: {error.message}"
        yield Problem(rule, REMEDY, field="labels")


def _missing(kept: KeptReference, topics: AbcCollection[str]) -> Iterator[Problem]:
    lacking = [topic for topic in kept.reference.topics if topic not in topics]
    if lacking:
        rule = "The file has no label on this topic, so the topic is left out for this judge."
        yield Problem(rule, "", None, "topic", shown(lacking[0]), len(lacking))


def _without_runs(lacking: list[str]) -> Iterator[Problem]:
    if lacking:
        rule = "A run of the reference has no label, so the judge has no rank."
        yield Problem(rule, "", None, "run", shown(lacking[0]), len(lacking))


def _cells(sent: KeptAnswerLabels) -> set[Cell]:
    """Labelled items and labels as one text each, to find copies."""
    judgments = sent.answers.judgments
    assigned = judgments.assignments.cells if judgments.assignments is not None else {}
    return {
        *((*cell, str(labels.labels)) for cell, labels in assigned.items()),
        *((*cell, str(labels.labels)) for cell, labels in judgments.support.answers.items()),
        *((*cell, str(argued.sentences)) for cell, argued in judgments.argued.cells.items()),
    }


def sketch_of(cells: Set[Cell]) -> bytes:
    """The smallest hashes of the contents, with a checksum."""
    hashes = sorted({_hash(cell) for cell in cells})[:SKETCH_SIZE]
    return with_checksum(np.array(hashes, "<u8").tobytes())


def _hash(cell: Cell) -> int:
    return int.from_bytes(hashlib.blake2b(json.dumps(cell).encode(), digest_size=8).digest(), "little")

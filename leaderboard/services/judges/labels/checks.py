"""A judge's labels on their way in: what their reference must have, their check, what is stored of them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from leaderboard.errors import MissingInput, Problem
from leaderboard.measures.answers import registry as answer_measures
from leaderboard.services.judges.labels import answers, documents
from leaderboard.services.judges.packed import Cell, sketch_of
from leaderboard.services.kinds import PackedRun
from leaderboard.services.nuggets.reading import PartFile
from leaderboard.trec.boards.answer_labels import (
    KeptAnswerLabels,
    PartOfLabels,
    pack_answer_labels,
    read_answer_labels,
)
from leaderboard.trec.boards.forms import Form, split_parts
from leaderboard.trec.boards.judge_labels import read_judge_labels
from leaderboard.trec.boards.labels import KeptLabels, pack_labels
from leaderboard.trec.boards.packing import BoardRules, KeptReference
from leaderboard.trec.nuggets.judgments import notes_on
from leaderboard.trec.nuggets.packing import PARTS, Part
from leaderboard.trec.read.lines import Limits, shown, text_of
from leaderboard.trec.runs.reports import Report

REMEDY = "Send a board file: run topic measure value."
ADD = (
    "Send them in one zip or tar with labels of them: nuggets.jsonl with assignments.jsonl or argue.jsonl."
    " Or send assignments alone: their lines name the nuggets."
)
WORDS = {
    "labels": "labels of documents",
    "nuggets": "nuggets",
    "assignments": "assignments",
    "support": "support labels",
    "argue": "Auto-ARGUE’s judgments",
}
"""Forms of a file -> what it holds."""


def checked(
    path: Path, form: Form, rules: BoardRules, limits: Limits, *, is_brought: bool = False
) -> tuple[Report, PackedRun | None]:
    """The report on a file of labels, and the labels if they can be accepted; raises Invalid.

    is_brought: whether another site took it: the runs of its reference need not be here then.
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
    """The same of parts that come together; raises Invalid, with problems that name the part's file."""
    named = {part: PartOfLabels(file.path, file.name) for part, file in files.items()}
    return _of_answers(named, rules, is_brought)


def packed_documents(sent: KeptLabels) -> PackedRun:
    """Labels of documents as they are stored."""
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
    """Labels of answers as they are stored; topics: how many they give scores on."""
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
    # A set may have more topics than were labelled: only these give values.
    topics = sent.answers.topics_of(measure) & {topic for _, topic in labelled_cells}
    problems: tuple[Problem, ...] = ()
    if not sent.answers.judgments.has(basis) or not topics:
        said = " and ".join(WORDS[form] for form in forms)
        rule = f"The reference is by {kept.reference.measure}, which {said} alone do not give."
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
    """Why such files cannot be scored against the reference."""
    if "nuggets" in forms and not {"assignments", "argue"} & set(forms):
        rule = "Nuggets alone score no run: a judge says which answer holds which of them."
        return Problem(rule, ADD, field="labels")
    if "assignments" in forms and "argue" in forms:
        rule = "Assignments and Auto-ARGUE’s judgments both label nuggets."
        return Problem(rule, "Send one of the two.", field="labels")
    if is_brought:
        return None
    if kept.origin is None:
        is_here = kept.elsewhere is None
        where = "which here is a board file without runs." if is_here else "which are not on this site."
        rule = f"Labels are scored on the runs of the reference, {where}"
        return Problem(rule, REMEDY, field="labels")
    wanted = documents.KIND if forms == ["labels"] else answers.KIND
    if kept.origin.kind != wanted:
        said = " and ".join(WORDS[form] for form in forms)
        rule = f"The runs of the reference are {kept.origin.kind}, which {said} do not score."
        return Problem(rule, REMEDY, field="labels")
    return None


def _unfit(kept: KeptReference, sent: KeptLabels) -> Iterator[Problem]:
    """Labels that speak of no topic of the reference, or that its measure cannot be computed from."""
    compiled = documents.judgments_of(kept, sent)
    if not compiled.judgments.topics:
        yield Problem("The file has no label on a topic of the reference.", "Send labels of its topics.")
        return
    try:
        documents.measure_of(kept)(documents.on_no_run(compiled))
    except MissingInput as error:
        by = kept.reference.measure
        rule = f"The reference is by {by}, which labels alone do not give: {error.message}"
        yield Problem(rule, REMEDY, field="labels")


def _missing(kept: KeptReference, topics: Collection[str]) -> Iterator[Problem]:
    lacking = [topic for topic in kept.reference.topics if topic not in topics]
    if lacking:
        rule = "The file has no label on the topic, which is left out for this judge."
        yield Problem(rule, "", None, "topic", shown(lacking[0]), len(lacking))


def _without_runs(lacking: list[str]) -> Iterator[Problem]:
    if lacking:
        rule = "The reference has a run without a label, so the judge has no rank."
        yield Problem(rule, "", None, "run", shown(lacking[0]), len(lacking))


def _cells(sent: KeptAnswerLabels) -> set[Cell]:
    """What was labelled and how, as one text each, to find copies."""
    judgments = sent.answers.judgments
    assigned = judgments.assignments.cells if judgments.assignments is not None else {}
    return {
        *((*cell, str(labels.labels)) for cell, labels in assigned.items()),
        *((*cell, str(labels.labels)) for cell, labels in judgments.support.answers.items()),
        *((*cell, str(argued.sentences)) for cell, argued in judgments.argued.cells.items()),
    }

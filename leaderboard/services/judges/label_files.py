"""A judge's file of labels on its way in: what its reference must have, its check, what is stored of it."""

from collections.abc import Iterator
from pathlib import Path

from leaderboard.errors import MissingInput, Problem
from leaderboard.services.judges import labelled
from leaderboard.services.judges.packed import PackedJudge, sketch_of
from leaderboard.trec.boards.labels import KeptLabels, pack_labels
from leaderboard.trec.boards.packing import BoardRules, KeptReference
from leaderboard.trec.qrels.judge_labels import JudgeLabels, read_judge_labels
from leaderboard.trec.read.lines import Limits, shown, text_of
from leaderboard.trec.runs.reports import Report

REMEDY = "Send a board file: run topic measure value."


def checked(path: Path, rules: BoardRules, limits: Limits) -> tuple[Report, PackedJudge | None]:
    """The report on a file of labels, and the labels if they can be accepted; raises Invalid."""
    if refused := _refused(rules.kept):
        return Report((refused,)), None
    labels = read_judge_labels(path, limits, frozenset(rules.topics))
    sent = KeptLabels(labels)
    problems = tuple(_unfit(rules.kept, sent))
    facts = {
        "form": "labels",
        "documents": sent.documents,
        "topics": len(labels.judgments),
        "confidence": sum(map(len, labels.confidence.values())),
        "primary": rules.kept.reference.measure,
    }
    report = Report(problems, (*labels.notes, *_missing(rules.kept, labels)), facts)
    return report, _packed(sent) if report.accepted else None


def _refused(kept: KeptReference) -> Problem | None:
    """Why labels of documents cannot be scored against the reference."""
    if kept.origin is None:
        rule = "Labels are scored on the runs of the reference, which here is a board file without runs."
        return Problem(rule, REMEDY, field="labels")
    if kept.origin.kind != "rankings":
        rule = f"Labels of documents score rankings; the runs of the reference are {kept.origin.kind}."
        return Problem(rule, REMEDY, field="labels")
    return None


def _unfit(kept: KeptReference, sent: KeptLabels) -> Iterator[Problem]:
    """Labels that speak of no topic of the reference, or that its measure cannot be computed from."""
    compiled = labelled.judgments_of(kept, sent)
    if not compiled.judgments.topics:
        yield Problem("The file has no label on a topic of the reference.", "Send labels of its topics.")
        return
    try:
        labelled.measure_of(kept)(labelled.on_no_run(compiled))
    except MissingInput as error:
        rule = (
            f"The reference is by {kept.reference.measure}, which labels alone do not give: {error.message}"
        )
        yield Problem(rule, REMEDY, field="labels")


def _missing(kept: KeptReference, labels: JudgeLabels) -> Iterator[Problem]:
    lacking = [topic for topic in kept.reference.topics if topic not in labels.judgments]
    if lacking:
        rule = "The file has no label on the topic, which is left out for this judge."
        yield Problem(rule, "", None, "topic", shown(lacking[0]), len(lacking))


def _packed(sent: KeptLabels) -> PackedJudge:
    judgments = sent.labels.judgments
    cells = {
        (topic, text_of(docno), float(grade))
        for topic, grades in judgments.items()
        for docno, grade in grades.items()
    }
    return PackedJudge(
        body=pack_labels(sent),
        topics=len(judgments),
        values=len(cells),
        most=max(map(len, judgments.values())),
        digest=sent.sha256,
        sketch=sketch_of(cells),
        tag=sent.labels.run,
    )

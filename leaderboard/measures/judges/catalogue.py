"""The catalogue of measures of judges: definition and worked example of each."""

from collections.abc import Iterator

from leaderboard.measures.answers.catalogue import AnswerMeasurePage, worked
from leaderboard.measures.catalogue.definitions import definition
from leaderboard.measures.judges.record import JudgeMeasure
from leaderboard.measures.judges.registry import MEASURES


def pages() -> Iterator[AnswerMeasurePage]:
    """The descriptions of all measures, in registry order.

    >>> [page.name for page in pages()]
    ['BoardTau', 'TopicTau', 'TopicAccuracy']
    """
    return map(_page, MEASURES)


def _page(measure: JudgeMeasure) -> AnswerMeasurePage:
    described = definition(measure)
    return AnswerMeasurePage(
        measure.name,
        measure.title,
        measure.formula,
        (*described.paragraphs, *((measure.note,) if measure.note else ())),
        (),
        tuple(_facts(measure)),
        (),
        described.explanation,
        worked(measure),
    )


def _facts(measure: JudgeMeasure) -> Iterator[tuple[str, str]]:
    low, high = measure.range
    yield "Written", measure.name
    yield "Scores", f"{low:g} to {high:g}; higher is better"
    over = "τ_b of the runs' means over topics" if measure.agreement == "boards" else "the mean over topics"
    yield "Over all topics", over
    yield "Needs", "the reference of a task of judges"
    yield "Source", measure.citation or "docs/judges.md"
    yield "Definition", f"version {measure.version}"

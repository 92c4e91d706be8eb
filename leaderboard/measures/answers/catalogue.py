"""The catalogue of measures of answers: definition, names and worked example of each."""

import inspect
import math
from collections.abc import Iterator
from dataclasses import dataclass
from doctest import DocTestParser

from leaderboard.errors import NotFound, UnknownMeasure
from leaderboard.measures.answers.record import AnswerMeasure, Basis
from leaderboard.measures.answers.registry import MEASURES, NAMES, parse
from leaderboard.measures.catalogue.definitions import definition
from leaderboard.measures.record import Measure, Parameter, value_text

NEEDS: dict[Basis, str] = {
    "nuggets": "assignments of nuggets; or a nugget set of questions and Auto-ARGUE's judgments",
    "support": "support labels",
    "sentences": "Auto-ARGUE's judgments",
    "nuggets and sentences": "a nugget set of questions and Auto-ARGUE's judgments",
    "answers": "no judgments",
}
AGGREGATES = {
    "mean": "the mean over topics",
    "micro": "a quotient of two sums over topics",
    "from means": "computed from sums over topics",
}


@dataclass(frozen=True, slots=True)
class AnswerMeasurePage:
    """The full description of a measure of answers: texts, facts under headings, worked doctest."""

    name: str
    title: str
    formula: str
    definition: tuple[str, ...]
    called: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]
    parameters: tuple[tuple[str, str], ...]
    explanation: str
    worked: str


def pages() -> Iterator[AnswerMeasurePage]:
    """The descriptions of all measures, in registry order."""
    return map(_page, MEASURES)


def find(name: str) -> AnswerMeasurePage:
    """The description of the measure of that name; raises NotFound with the nearest known name, if any.

    >>> find("V_strict").name, find("NuggetRecall").title
    ('NuggetRecall', 'Recall of nuggets')
    """
    if name in NAMES:
        return _page(NAMES[name])
    try:
        return _page(NAMES[parse(name).measure.name])
    except UnknownMeasure as error:
        raise NotFound(error.message) from error


def _page(measure: AnswerMeasure) -> AnswerMeasurePage:
    described = definition(measure)
    return AnswerMeasurePage(
        measure.name,
        measure.title,
        measure.formula,
        (*described.paragraphs, *((measure.note,) if measure.note else ())),
        measure.called,
        tuple(_facts(measure)),
        tuple((f"{parameter.name}=", _parameter_text(parameter)) for parameter in measure.parameters),
        described.explanation,
        worked(measure),
    )


def _facts(measure: AnswerMeasure) -> Iterator[tuple[str, str]]:
    inner = ",".join(f"{parameter.name}=..." for parameter in measure.parameters)
    yield "Written", f"{measure.name}({inner})" if inner else measure.name
    low, high = measure.range
    span = f"{low:g} or more" if math.isinf(high) else f"{low:g} to {high:g}"
    ranked = "; not used for ranking" if measure.direction == "none" else "; higher is better"
    yield "Scores", span + ranked
    yield "Over all topics", AGGREGATES[measure.aggregate]
    yield "Needs", NEEDS[measure.basis]
    yield "Source", measure.citation or "counted on the answer as submitted"
    yield "Definition", f"version {measure.version}"


def _parameter_text(parameter: Parameter) -> str:
    rule = f"{parameter.rule[:1].upper()}{parameter.rule[1:]}"
    default = (
        "must be given" if parameter.default is None else f"{value_text(parameter.default)} unless given"
    )
    return f"{parameter.text} {rule}; {default}."


def worked(measure: Measure) -> str:
    """The example in the docstring, which is a doctest, without what it imports."""
    examples = DocTestParser().get_examples(inspect.getdoc(measure.compute) or "")
    shown = []
    for example in examples:
        if example.source.startswith("from "):
            continue
        first, *rest = example.source.rstrip().splitlines()
        shown += [f">>> {first}", *(f"... {line}" for line in rest), *example.want.rstrip().splitlines()]
    return "\n".join(shown)

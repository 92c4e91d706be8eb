"""The catalogue of measures: which there are, what each is, and how it is written."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from leaderboard.errors import NotFound, UnknownMeasure
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.catalogue.definitions import definition
from leaderboard.measures.catalogue.examples import Worked, worked_examples
from leaderboard.measures.catalogue.names import TrecForm, examples, grammar, trec_forms
from leaderboard.measures.grammar import parse
from leaderboard.measures.record import LARGEST, Measure, Parameter, TrecName, value_text
from leaderboard.measures.registry import MEASURES, NAMES
from leaderboard.tables.record import Place, Shown

PACKAGE = "leaderboard.measures."


@dataclass(frozen=True, slots=True)
class Family:
    """Measures of one kind: those whose functions are in these modules of the package of measures."""

    name: str
    lead: str
    modules: tuple[str, ...]

    @property
    def anchor(self) -> str:
        """The anchor of its section on a page.

        >>> Family("Sets and filtering", "", ()).anchor
        'sets-and-filtering'
        """
        return self.name.lower().replace(" ", "-")


FAMILIES: tuple[Family, ...] = (
    Family(
        "Ranked retrieval",
        "Ranks of relevant documents, with binary relevance.",
        (
            "average_precision",
            "geometric",
            "inferred",
            "reciprocal_rank",
            "search_length",
            "precision",
            "recall",
            "f_measures",
            "bpref",
            "roc",
        ),
    ),
    Family(
        "Curves of precision and recall",
        "Points on the precision-recall curve, and the area under it.",
        ("interpolated", "exact_recall", "recall_points", "precision_recall_area"),
    ),
    Family(
        "Graded relevance",
        "Gain of the ranked documents, with graded relevance.",
        ("ndcg", "discounted_gain", "graded_gain", "compatibility"),
    ),
    Family(
        "Models of a reader",
        "Expected gain of a reader who continues or stops with a stated probability.",
        ("expected_reciprocal_rank", "rank_biased", "trec_eval.rbp", "cwl", "near_err"),
    ),
    Family(
        "Sets and classification",
        "The retrieved set, regardless of ranks.",
        ("sets", "classification", "averaging", "utility"),
    ),
    Family(
        "Diversity",
        "Coverage of the subtopics of a topic, or dissimilarity of the ranked documents.",
        ("diversity.novelty", "diversity.intent_aware", "diversity.at_k"),
    ),
    Family(
        "Preferences",
        "Agreement of a ranking with preferences between two documents.",
        ("preferences.fulfilled", "preferences.at_rank"),
    ),
    Family(
        "Bounds",
        "Possible values of a measure if more documents were judged or retrieved.",
        ("bounds.scores", "bounds.ndcg", "bounds.missed"),
    ),
    Family(
        "Counts and coverage",
        "Numbers of retrieved, relevant and judged documents.",
        ("coverage", "trec_eval.relstring"),
    ),
)
"""In the order shown."""

MOST_USED = ("nDCG", "AP", "RR", "P", "R", "Rprec", "Bpref", "RBP", "ERR", "Judged")
"""What boards of shared tasks usually show."""

OTHER = Family("Other measures", "Measures of no family.", ())

_BY_MODULE = {PACKAGE + module: family for family in FAMILIES for module in family.modules}


def family_of(measure: Measure) -> Family:
    """The family of a measure, by the module its function is in; OTHER where no family has it."""
    return _BY_MODULE.get(measure.compute.__module__, OTHER)


AGGREGATES = {
    "mean": "the mean over topics",
    "sum": "the sum over topics",
    "geometric": "the geometric mean over topics, each counted as at least 0.00001",
    "micro": "a quotient of two sums over topics, so topics with many documents weigh most",
    "from means": "computed from several means over topics, not from the topics’ scores",
    "none": "none: it has only topic scores",
}
DIRECTIONS = {
    "higher": "higher is better",
    "lower": "lower is better",
    "none": "no direction, so runs are not ranked by it",
}
NEEDS = {
    "graded": "judgments with grades, not only relevant or not",
    "subtopics": "judgments of subtopics",
    "preferences": "preference judgments: which of two documents is better",
    "collection size": "the number of documents in the collection",
    "documents": "the documents’ text, or their dissimilarities",
}
MUST_BE_GIVEN = "must be given"
NOT_APPLIED = "not applied"


@dataclass(frozen=True, slots=True)
class Entry:
    """A measure in the list."""

    name: Annotated[str, Shown("Measure")]
    title: Annotated[str, Shown("Title")]
    family: Annotated[str, Shown(shown=Place.DATA)]
    formula: Annotated[str, Shown(shown=Place.DATA)]
    direction: Annotated[str, Shown("Better", shown=~Place.PAGE)]
    aggregate: Annotated[str, Shown("Over topics", shown=~Place.PAGE)]
    needs: tuple[str, ...]
    aliases: tuple[str, ...]
    trec_names: tuple[str, ...]
    citation: Annotated[str, Shown(shown=Place.DATA)]
    version: Annotated[int, Shown(shown=~Place.PAGE)]


@dataclass(frozen=True, slots=True)
class Section:
    """A family and those of its measures that are listed."""

    family: Family
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class ParameterFacts:
    """A parameter: how it is written, what it does and may be, its default, its value in the form shown."""

    name: str
    written: str
    text: Annotated[str, Shown("Effect")]
    rule: Annotated[str, Shown("Values")]
    default: str
    value: str

    @property
    def sentences(self) -> str:
        """Effect of the parameter, its allowed values and its default."""
        default = self.default if self.default == MUST_BE_GIVEN else f"{self.default} unless given"
        return f"{self.text} {self.rule[:1].upper()}{self.rule[1:]}; {default}."


@dataclass(frozen=True, slots=True)
class MeasurePage:
    """A measure in full.

    anchor: where its family begins in the list; written: the form of it that was asked about, empty
    where none was; facts: notes on its scores, each under its heading; low, high: the
    range of a topic's score, None where unbounded; explanation: the worked example as text.
    """

    entry: Entry
    anchor: str
    written: str
    definition: tuple[str, ...]
    grammar: str
    examples: tuple[str, ...]
    trec_forms: tuple[TrecForm, ...]
    parameters: tuple[ParameterFacts, ...]
    facts: tuple[tuple[str, str], ...]
    low: float | None
    high: float | None
    undefined: float
    note: str
    explanation: str
    worked: tuple[Worked, ...]


def listing(query: str = "") -> tuple[Section, ...]:
    """All measures by family, or those that have all words of a query in names, titles or family."""
    words, named = query.casefold().split(), _named(query)
    measures = [measure for measure in MEASURES if measure.name == named or _has(measure, words)]
    return tuple(
        Section(family, tuple(_entry(measure) for measure in measures if family_of(measure) is family))
        for family in (*FAMILIES, OTHER)
        if any(family_of(measure) is family for measure in measures)
    )


def most_used() -> tuple[Entry, ...]:
    """The measures that boards of shared tasks usually show."""
    return tuple(_entry(NAMES[name]) for name in MOST_USED)


@lru_cache(maxsize=1024)
def find(name: str) -> tuple[str, str]:
    """The canonical name of a measure and the form of it meant: `ndcg_cut_10` gives nDCG and nDCG@10.

    The form is empty where the name is the same as the measure. Raises NotFound, with the nearest
    known name where there is one.

    >>> find("ndcg_cut_10"), find("MAP"), find("P")
    (('nDCG', 'nDCG@10'), ('AP', ''), ('P', ''))
    """
    if name in NAMES:
        return NAMES[name].name, ""
    try:
        bound = parse(name)
    except UnknownMeasure as error:
        for measure in MEASURES:
            if any(name in (trec_name.text, form.name) for trec_name, form in _trec_pairs(measure)):
                return measure.name, ""
        raise NotFound(error.message) from error
    return bound.measure.name, bound.key.removeprefix(bound.measure.name) and bound.key


def page(name: str, written: str = "") -> MeasurePage:
    """All about the measure of that canonical name, with the parameters of a form of it such as nDCG@10.

    Raises NotFound for an unknown name, or a form of another measure.
    """
    measure = NAMES.get(name)
    if measure is None or measure.name != name:
        raise NotFound(f"There is no measure {name[:40]!r}.")
    bound = _bound(measure, written) if written else None
    described = definition(measure)
    low, high = (None if math.isinf(end) else end for end in measure.range)
    return MeasurePage(
        entry=_entry(measure),
        anchor=family_of(measure).anchor,
        written=bound.key if bound else "",
        definition=described.paragraphs,
        grammar=grammar(measure),
        examples=examples(measure),
        trec_forms=trec_forms(measure),
        parameters=tuple(_parameter(parameter, bound) for parameter in measure.parameters),
        facts=tuple(_facts(measure)),
        low=low,
        high=high,
        undefined=measure.undefined,
        note=measure.note,
        explanation=described.explanation,
        worked=worked_examples(measure),
    )


def pages() -> Iterator[MeasurePage]:
    """All about every measure, in the order of the list."""
    return (page(entry.name) for section in listing() for entry in section.entries)


def _trec_pairs(measure: Measure) -> Iterator[tuple[TrecName, TrecForm]]:
    return zip(measure.trec_names, trec_forms(measure), strict=True)


def _entry(measure: Measure) -> Entry:
    return Entry(
        name=measure.name,
        title=measure.title,
        family=family_of(measure).name,
        formula=measure.formula,
        direction=measure.direction,
        aggregate=measure.aggregate,
        needs=tuple(sorted(measure.needs)),
        aliases=measure.aliases,
        trec_names=tuple(form.name for form in trec_forms(measure)),
        citation=measure.citation,
        version=measure.version,
    )


def _has(measure: Measure, words: list[str]) -> bool:
    entry = _entry(measure)
    text = " ".join((entry.name, *entry.aliases, *entry.trec_names, entry.title, entry.family)).casefold()
    return all(word in text for word in words)


def _named(query: str) -> str:
    """The measure that a query names, else empty: nDCG@10 is not part of any title."""
    try:
        return find(query.strip())[0]
    except NotFound:
        return ""


def _bound(measure: Measure, written: str) -> BoundMeasure:
    try:
        bound = parse(written)
    except UnknownMeasure as error:
        raise NotFound(error.message) from error
    if bound.measure is not measure:
        raise NotFound(f"{bound.key} is not a form of {measure.name}.")
    return bound


def _parameter(parameter: Parameter, bound: BoundMeasure | None) -> ParameterFacts:
    value = bound.params[parameter.name] if bound else None
    default = NOT_APPLIED if parameter.default is None else value_text(parameter.default)
    return ParameterFacts(
        name=parameter.name,
        written=f"@{parameter.name}" if parameter.at else f"{parameter.name}=",
        text=parameter.text,
        rule=parameter.rule.replace(f"to {LARGEST}", "up"),
        default=MUST_BE_GIVEN if parameter.required else default,
        value=NOT_APPLIED if value is None else value_text(value),
    )


def _facts(measure: Measure) -> Iterator[tuple[str, str]]:
    if measure.text:
        yield "Scores", "text, shown but never used for ranking"
    else:
        yield "Scores", f"{_range(measure)}; {DIRECTIONS[measure.direction]}"
        yield (
            "Where undefined",
            f"{measure.undefined:g}, for example if the run misses a topic without relevant documents",
        )
    yield "Over all topics", AGGREGATES[measure.aggregate]
    if measure.needs:
        yield "Needs", "; ".join(NEEDS[need] for need in sorted(measure.needs))
    yield "Source", measure.citation
    yield "Definition", f"version {measure.version}"


def _range(measure: Measure) -> str:
    """The smallest and largest score as text."""
    low, high = measure.range
    if low == high:
        return f"always {low:g}"
    if math.isinf(high):
        return "any number" if math.isinf(low) else f"{low:g} or more"
    return f"up to {high:g}" if math.isinf(low) else f"{low:g} to {high:g}"

"""The catalogue of measures: complete, true to the records, and its examples computed anew."""

import inspect
import re
from dataclasses import replace
from doctest import DocTestParser
from importlib import import_module

import numpy as np
import pytest

from leaderboard.errors import NotFound
from leaderboard.measures.catalogue import entries
from leaderboard.measures.catalogue import examples as worked_examples
from leaderboard.measures.catalogue.definitions import definition
from leaderboard.measures.catalogue.names import examples, grammar, sample, trec_forms
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import FloatArray, Judged, Preferences, Subtopics
from leaderboard.measures.record import CUTOFF, Measure, Parameter, TrecName
from leaderboard.measures.registry import MEASURES, NAMES
from leaderboard.measures.richer_examples import judged
from leaderboard.measures.trec_names import from_trec_name
from tests.make.loops import for_every

_NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e-?\d+)?")
ROUNDING = 5e-5
"""Some docstrings round to four decimals."""


def _measure(compute: object, **rest: object) -> Measure:
    """A measure of a test's own."""
    facts = {"name": "Own", "title": "Own", "formula": "1", "citation": "nowhere", **rest}
    return Measure(compute=compute, **facts)  # type: ignore[arg-type]


def test_every_measure_is_listed_once_in_a_family() -> None:
    """The list has all measures, each once, none left to the family of those without one."""
    sections = entries.listing()
    names = [entry.name for section in sections for entry in section.entries]
    assert sorted(names) == sorted(measure.name for measure in MEASURES)
    strays = [measure.compute.__module__ for measure in MEASURES if entries.family_of(measure).modules == ()]
    assert strays == [], "name these modules in leaderboard/measures/catalogue/entries.py"


def test_families_name_modules_that_are_there_and_each_once() -> None:
    """Every module of a family can be imported and is in no other family."""
    modules = [module for family in entries.FAMILIES for module in family.modules]
    assert len(modules) == len(set(modules))
    for module in modules:
        assert import_module(entries.PACKAGE + module)


@for_every("measure", MEASURES, lambda measure: measure.name)
class TestPage:
    """What holds for the page of every measure."""

    def test_the_example_gives_what_its_docstring_says(self, measure: Measure) -> None:
        """The values shown are those of the docstring, one for each call of the function."""
        doctests = DocTestParser().get_examples(inspect.getdoc(measure.compute) or "")
        values = [score.value for worked in entries.page(measure.name).worked for score in worked.scores]
        assert values
        if measure.text:
            assert all(str(value) in doctests[-1].want for value in values)
            return
        numbers = [float(number) for doctest in doctests for number in _NUMBER.findall(doctest.want)]
        assert values == pytest.approx(numbers, abs=ROUNDING)

    def test_what_it_says_to_write_can_be_written(self, measure: Measure) -> None:
        """The examples are read back as the measure, and name it as the grammar does."""
        for text in examples(measure):
            assert parse(text).key == text
            assert parse(text).measure is measure
        assert grammar(measure).startswith(measure.name)

    def test_what_it_says_of_trec_eval_is_so(self, measure: Measure) -> None:
        """trec_eval's names with a number for the letter are what the page says they are here."""
        for form in trec_forms(measure):
            bound = from_trec_name(re.sub(r"_x$", "_0.25", re.sub(r"_k$", "_4", form.name)))
            here = form.here.replace("√x", "0.5").replace("@k", "@4")
            assert bound == parse(re.sub(r"([@=])x", r"\g<1>0.25", here))

    def test_it_is_written_for_readers(self, measure: Measure) -> None:
        """The definition has words in it and none of a docstring's own."""
        page = entries.page(measure.name)
        words = " ".join((*page.definition, page.explanation))
        assert len(words) > 20
        assert not re.search(r">>>|float64|\(topics,\)|\n", words)


@pytest.mark.parametrize(
    ("name", "measure_and_form"),
    [
        ("AP", ("AP", "")),
        ("MAP", ("AP", "")),
        ("map", ("AP", "")),
        ("MRR@10", ("RR", "RR@10")),
        ("ndcg_cut_10", ("nDCG", "nDCG@10")),
        ("ndcg_cut", ("nDCG", "")),
        ("ndcg_cut_k", ("nDCG", "")),
        ("set_relative_P", ("SetP", "SetP(relative=True)")),
        ("P", ("P", "")),
        ("P(rel=1)@5", ("P", "P@5")),
    ],
)
def test_every_name_leads_to_one_measure(name: str, measure_and_form: tuple[str, str]) -> None:
    """Aliases, trec_eval's names and forms with parameters lead to the measure and its canonical form."""
    assert entries.find(name) == measure_and_form


@pytest.mark.parametrize(
    ("name", "message"),
    [("Ap", "did you mean AP"), ("ndgc@5", "did you mean nDCG@5"), ("P@0", "1 to 999999999")],
)
def test_a_name_that_is_none_is_not_found_with_a_hint(name: str, message: str) -> None:
    """The nearest name, or the range that a parameter is out of, is said."""
    with pytest.raises(NotFound, match=message):
        entries.find(name)


@pytest.mark.parametrize(
    ("name", "written"), [("MAP", ""), ("nothing", ""), ("AP", "P@5"), ("AP", "AP@0"), ("AP", "x")]
)
def test_there_is_one_page_for_a_measure(name: str, written: str) -> None:
    """No page by another name, and none with a form of another measure."""
    with pytest.raises(NotFound):
        entries.page(name, written)


def test_a_page_shows_the_parameters_of_the_form_asked_about() -> None:
    """nDCG(dcg='exp-log2')@10 has cut-off 10 and its gain, the other parameters at their defaults."""
    page = entries.page("nDCG", "nDCG(dcg='exp-log2')@10")
    values = {parameter.name: parameter.value for parameter in page.parameters}
    assert page.written == "nDCG(dcg='exp-log2')@10"
    assert values["cutoff"] == "10"
    assert values["dcg"] == "'exp-log2'"
    assert values["judged_only"] == "False"
    assert {parameter.value for parameter in entries.page("P").parameters} == {"not applied"}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("geometric mean", {"GMAP", "GMBpref"}),
        ("MEAN geometric", {"GMAP", "GMBpref"}),
        ("gm_map", {"GMAP"}),
        ("set_f_x", {"SetF"}),
        ("RPrec", {"Rprec"}),
        ("ndcg_cut_10", {"nDCG"}),
        ("no such thing", set()),
    ],
)
def test_a_search_finds_names_titles_and_trec_evals_names(query: str, names: set[str]) -> None:
    """All words must be there, in any order and case; a name with its number finds its measure."""
    assert {entry.name for section in entries.listing(query) for entry in section.entries} == names


def test_words_for_what_a_measure_is() -> None:
    """Range, direction, aggregate and needs are told in words."""
    facts = dict(entries.page("SetFallout").facts)
    assert facts["Scores"] == "0 to 1; lower is better"
    assert facts["Needs"] == "the number of documents in the collection"
    assert dict(entries.page("GMAP").facts)["Over all topics"].startswith("the geometric mean")
    assert dict(entries.page("NumRet").facts)["Scores"].startswith("0 or more; no direction")
    assert dict(entries.page("Utility").facts)["Scores"] == "any number; higher is better"
    assert dict(entries.page("NumQ").facts)["Scores"].startswith("always 1;")
    assert dict(entries.page("RelString").facts)["Over all topics"].startswith("none")
    assert "Where undefined" not in dict(entries.page("RelString").facts)


def test_an_example_shows_gaps_missed_documents_and_what_else_counts() -> None:
    """Three and more unjudged ranks are one row; two stay two; the other inputs are facts."""

    def compute(judged: Judged) -> FloatArray:
        """Counts nothing.

        >>> from leaderboard.measures.richer_examples import judged
        >>> compute(judged({1: 2, 4: 0, 9: -1}, missed=[1], dialect=9, collection_size=20))
        array([0.])
        """
        return np.zeros(len(judged.judgments))

    (worked,) = worked_examples.worked_examples(_measure(compute))
    assert worked.ranking.lines == (
        ("1", "2"),
        ("2", "not in the judgments"),
        ("3", "not in the judgments"),
        ("4", "0"),
        ("5–8", "not in the judgments"),
        ("9", "-1, pooled but not judged"),
        ("not retrieved", "1"),
    )
    assert worked.summary == "Own = 0; as trec_eval 9; 20 documents in the collection"


def _with_everything() -> Judged:
    """One topic with subtopics, a preference and dissimilarities."""
    plain = judged({1: 1, 2: 0}, missed=[1])
    rows = np.array([0, 0, 1, 2]), np.array([0, 2, 0, 1]), np.array([1, 3, 0, 1])
    judgments = replace(
        plain.judgments,
        subtopics=Subtopics(*rows, count=np.array([3])),
        preferences=Preferences(
            np.array([0, 2]), np.array([1, 0]), np.array([1.0, 2.0]), np.zeros(2, np.int64), np.array([1, 0])
        ),
    )
    return replace(plain, judgments=judgments, dissimilarity=(np.array([[0, 0.25], [0.25, 0]]),))


def test_an_example_shows_subtopics_preferences_and_dissimilarities() -> None:
    """Subtopics are numbered from 1; documents of pairs have letters."""

    def compute(judged: Judged) -> FloatArray:
        """Counts nothing.

        >>> compute(everything())
        array([0.])
        """
        return np.zeros(len(judged.judgments))

    measure = _measure(compute)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "everything", _with_everything)
        (worked,) = worked_examples.worked_examples(measure)
    assert worked.ranking.has_subtopics
    assert worked.ranking.lines == (
        ("1", "a, grade 1, subtopics 1, 3 (grade 3)"),
        ("2", "b, grade 0"),
        ("not retrieved", "c, grade 1, subtopic 2"),
    )
    assert worked.ranking.facts == (
        "3 subtopics",
        "ranks 1 and 2 have dissimilarity 0.25",
        "preferred: a to b, c to a with weight 2",
    )


def test_preferences_say_whose_they_are_and_which_documents_they_mean() -> None:
    """Judges are numbered where there are several; documents go by the letters of the example."""

    def compute(judged: Judged) -> FloatArray:
        """Counts nothing.

        >>> from leaderboard.measures.richer_examples import preferred
        >>> compute(preferred("bx", ["ba"], ["cb"]))
        array([0.])
        """
        return np.zeros(len(judged.judgments))

    (worked,) = worked_examples.worked_examples(_measure(compute))
    assert worked.ranking.heading == "Document"
    assert worked.ranking.lines == (
        ("1", "b"),
        ("2", "not in the judgments"),
        ("not retrieved", "a"),
        ("not retrieved", "c"),
    )
    assert worked.ranking.facts == ("judge 1 prefers b to a", "judge 2 prefers c to b")


def test_one_ranking_with_several_scores_is_shown_once() -> None:
    """RR and RR@3 of different rankings are two examples; forms of DCG of one ranking are one."""
    assert len(worked_examples.worked_examples(NAMES["RR"])) == 2
    (worked,) = worked_examples.worked_examples(NAMES["DCG"])
    assert [score.written for score in worked.scores] == ["DCG", "DCG(dcg='jk')"]


@pytest.mark.parametrize(
    ("docstring", "paragraphs", "explanation"),
    [
        ("One.", ("One.",), ""),
        ("One, float64 (topics,), 0 to 1.\n\nTwo\nlines.", ("One, 0 to 1.", "Two lines."), ""),
        ("One, (topics,).\n\nfloat64, from 0.\n\nLike this.", ("One.", "From 0."), "Like this."),
        ("One, strings (topics,).\n\nLike this:\n\n>>> 1\n1", ("One.",), "Like this."),
    ],
)
def test_a_docstring_is_a_definition_and_the_sentence_before_its_example(
    docstring: str, paragraphs: tuple[str, ...], explanation: str
) -> None:
    """A third paragraph, or a last one that ends in a colon, goes with the example."""

    def compute(judged: Judged) -> FloatArray:
        return np.zeros(len(judged.judgments))

    compute.__doc__ = docstring
    told = definition(_measure(compute))
    assert (told.paragraphs, told.explanation) == (paragraphs, explanation)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        (Parameter("n", "integer", "N.", 1, 5, default=5), 1),
        (Parameter("n", "integer", "N.", 7, 9), 7),
        (CUTOFF, 10),
        (Parameter("x", "number", "X.", 0.6, 0.7, default=0.6), 0.7),
        (Parameter("b", "boolean", "B.", default=True), False),
        (Parameter("c", "choice", "C.", choices=("a", "b"), default="a"), "b"),
        (Parameter("g", "gains", "G.", 0, 3), ((1, 1.0), (2, 3))),
    ],
)
def test_a_sample_of_a_parameter_is_allowed_and_not_its_default(parameter: Parameter, value: object) -> None:
    """The examples of how to write a measure stay inside the ranges."""
    assert sample(parameter) == value


def test_a_name_of_trec_evals_family_with_its_own_numbers() -> None:
    """A name with fixed values is asked for as its family with them; the family of another measure is not."""
    forms = {form.name: form for measure in MEASURES for form in trec_forms(measure)}
    assert (forms["P_k"].option, forms["P_k"].only) == ("P.5,10", 0)
    assert forms["unj_k"].only == 10
    assert forms["11pt_avg"].option == ""
    assert forms["11pt_avg_0.25,0.5,0.75"].option == "11pt_avg.0.25,0.5,0.75"
    unknown = _measure(np.zeros, trec_names=(TrecName("yaap"),))
    assert trec_forms(unknown)[0].option == ""

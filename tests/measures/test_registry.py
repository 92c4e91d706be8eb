"""The table of measures: complete records, distinct names, worked examples."""

import inspect

import numpy as np
import pytest

from leaderboard.errors import MissingInput
from leaderboard.measures.binding import bind
from leaderboard.measures.record import JUDGED_ONLY, Measure, Parameter, Value
from leaderboard.measures.registry import MEASURES, NAMES
from leaderboard.measures.richer_examples import judged
from leaderboard.measures.trec_families import FAMILIES, family_of
from leaderboard.measures.trec_names import from_trec_name, trec_name
from tests.make.loops import for_every


def some_value(parameter: Parameter) -> Value:
    """A value the parameter may have, not its default."""
    if parameter.kind == "number":
        return 0.75
    return min(5, int(parameter.high))


def test_no_name_stands_for_two_measures() -> None:
    """Names, aliases and trec_eval's names are distinct, and lead to their own measure."""
    names = [name for measure in MEASURES for name in (measure.name, *measure.aliases)]
    assert len(names) == len(set(names))
    for measure in MEASURES:
        for name in measure.trec_names:
            assert NAMES.get(name.text) in (None, measure)


@for_every("measure", MEASURES, lambda measure: measure.name)
class TestRecord:
    """What holds for the record of every measure."""

    def test_is_complete(self, measure: Measure) -> None:
        """Title, formula and citation are given, and every parameter says what it does."""
        assert measure.title
        assert measure.formula
        assert len(measure.citation) >= 8
        assert all(parameter.text.endswith(".") for parameter in measure.parameters)

    def test_parameters_are_those_of_its_function(self, measure: Measure) -> None:
        """compute takes exactly the declared parameters, with the declared defaults."""
        taken = list(inspect.signature(measure.compute).parameters.values())[1:]
        assert {argument.name for argument in taken} == {
            parameter.name for parameter in measure.parameters if parameter != JUDGED_ONLY
        }
        for argument in taken:
            parameter = measure.parameter(argument.name)
            assert parameter is not None
            assert parameter.required == (argument.default is inspect.Parameter.empty)
            assert parameter.required or parameter.default == argument.default

    def test_has_a_worked_example(self, measure: Measure) -> None:
        """The function's docstring carries a doctest that calls it."""
        assert f">>> {measure.compute.__name__}(" in (measure.compute.__doc__ or "")

    def test_an_empty_ranking_scores_the_undefined_value(self, measure: Measure) -> None:
        """A topic without relevant documents and without a ranking scores the undefined value."""
        bound = bind(
            measure,
            {parameter.name: some_value(parameter) for parameter in measure.parameters if parameter.required},
        )
        if measure.needs - {"graded", "collection size"}:
            with pytest.raises(MissingInput):
                bound.compute(judged({}, missed=[0]))
            return
        scores = bound.compute(judged({}, missed=[0], collection_size=20))
        assert measure.text or scores.dtype == np.float64
        assert scores.tolist() == ["" if measure.text else measure.undefined]

    def test_trec_evals_names_read_back(self, measure: Measure) -> None:
        """trec_eval's name of the measure leads to it and back, and has a place in its order."""
        for name in measure.trec_names:
            parameter = measure.parameter(name.parameter)
            number = "" if parameter is None else str(some_value(parameter))
            text = f"{name.text}_{number}" if number else name.text
            bound = from_trec_name(text)
            assert bound is not None
            assert bound.measure is measure
            assert trec_name(bound) == text
            assert family_of(text) in FAMILIES

"""Specs of methods, as they are stored and written."""

import json

import pytest

from leaderboard.pooling.methods import DEFAULT, METHODS, method

SPECS: list[dict[str, object]] = [
    {"name": "depth", "depth": 10},
    {"name": "priority", "depth": 10, "priorities": [1, 1, 0]},
    {"name": "hedge", "beta": 0.5, "depth": 50, "budget": 100},
    {"name": "stratified", "strata": [[10, 1], [50, 0.25]], "fusion": "borda"},
    {"name": "staged", "depth": 10, "budget": 200, "then": {"name": "maxmean", "credit": "own"}},
]


@pytest.mark.parametrize("spec", [*SPECS, DEFAULT], ids=lambda spec: str(spec["name"]))
def test_a_stored_spec_reads_back(spec: dict[str, object]) -> None:
    """Also by way of JSON, which has no tuples; what was given is kept and the rest filled in."""
    stored = method(spec).spec
    assert method(json.loads(json.dumps(stored))).spec == stored
    written = json.loads(json.dumps(stored))
    given = {name: value for name, value in spec.items() if name != "then"}
    assert {name: written[name] for name in given} == given


def test_text_of_a_form_reads_as_numbers() -> None:
    """Fields that were left empty are at their defaults."""
    bound = method({"name": "rrf", "k": "30", "depth": "", "budget": " 50 "})
    assert bound.spec == {"name": "rrf", "k": 30.0, "depth": 100, "budget": 50}
    assert method({"name": "priority", "depth": "5", "priorities": "1, 2,0"}).values["priorities"] == (
        1,
        2,
        0,
    )


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"name": "deep"}, "unknown pooling method 'deep': choose from staged, depth"),
        ({}, "unknown pooling method None"),
        ({"name": "depth"}, "depth is required: a whole number from 1"),
        ({"name": "depth", "depth": 0}, "a whole number from 1 to 1e\\+06, not 0"),
        ({"name": "depth", "depth": 2.5}, "not 2.5"),
        ({"name": "depth", "depth": True}, "not True"),
        ({"name": "depth", "depth": 10, "k": 60}, "no parameter 'k'; it takes depth"),
        ({"name": "hedge", "beta": 1}, "beta must be a number from 0.01 to 0.999, not 1"),
        ({"name": "hedge", "beta": "nan"}, "not 'nan'"),
        ({"name": "maxmean", "credit": "all"}, "one of holders, own, not 'all'"),
        ({"name": "priority", "depth": 5, "priorities": "1,x"}, "one per run, not '1,x'"),
        ({"name": "priority", "depth": 5, "priorities": [-1]}, "of at least 0"),
        ({"name": "stratified", "strata": "20:1,10:0.5"}, "pairs of an increasing last rank"),
        ({"name": "stratified", "strata": "20:0"}, "a rate above 0"),
        ({"name": "stratified", "strata": "20"}, "such as 20:1,100:0.2"),
        ({"name": "staged", "depth": 5}, "needs `then`"),
        ({"name": "staged", "then": {"name": "staged", "then": {"name": "rrf"}}}, "cannot be a second stage"),
        ({"name": "staged", "then": {"name": "rrf", "budget": 5}}, "covers both stages"),
        ({"name": "rrf", "then": {"name": "hedge"}}, "only one stage"),
    ],
)
def test_a_wrong_spec_is_answered_with_a_sentence(spec: dict[str, object], says: str) -> None:
    """Which says what may be written instead."""
    with pytest.raises(ValueError, match=says):
        method(spec)


def test_what_a_staged_method_is_follows_its_last_stage() -> None:
    """Adaptive, sampling, random and in need of scores as that one is; its budget is its own."""
    assert method({"name": "staged", "then": {"name": "hedge"}}).adaptive
    assert method({"name": "staged", "then": {"name": "stratified"}}).samples
    assert method({"name": "staged", "then": {"name": "combmnz"}}).needs_scores
    assert method({"name": "staged", "then": {"name": "thompson"}}).random
    default = method(DEFAULT)
    assert (default.adaptive, default.samples, default.budget, default.reach) == (False, False, 200, 100)
    assert default.without_budget.budget is None
    assert default.title == "Depth 10, then Take@N by reciprocal rank fusion"


def test_the_registry_tells_every_method_apart() -> None:
    """Names, titles and questions are all different, and all read well."""
    for field in ("name", "title", "question"):
        assert len({getattr(known, field) for known in METHODS.values()}) == len(METHODS)
    for known in METHODS.values():
        assert known.question.endswith(".")
        assert all(parameter.text and parameter.rule for parameter in known.parameters)

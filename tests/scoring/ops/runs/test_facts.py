"""Facts about a run from its header and its form, whatever somebody wrote into them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.scoring.ops import run_facts as facts
from leaderboard.scoring.ops.run_facts import COSTS, Choice
from leaderboard.trec.read.metadata import parse

HEADER = """# ir_metadata.start
# schema version: 0.2
# actor:
#   team: Owls
# platform:
#   hardware:
#     cpu:
#       model: Some CPU
#       number of cores: 16
#     gpu:
#       model: Some GPU
#       memory: 40 GB
#     ram: 64 GB
# method:
#   automatic: true
#   retrieval:
#     - name: bm25
#       b: 0.4
#     - name: monoT5
#       reranks: bm25
# data:
#   training data:
#     - name: MS MARCO
#     - name: ENTER_VALUE_HERE
# implementation:
#   source:
#     repository: https://someone:secret@example.org/code.git
# research goal:
#   publication:
#     doi: 10.1145/3477495.3531738
# resources:
#   runtime:
#     wallclock: 90000 ms
#   cpu:
#     energy used system: 3600 J
#   gpu:
#     energy used system: 7200 J
#   latency: 12 ms
# ir_metadata.end
"""


def _texts(details: dict[str, Any]) -> dict[str, str]:
    return {each.key: each.text for each in facts.facts(details)}


def test_a_header_says_what_the_form_asks_for() -> None:
    """Type, stages, training data, links, costs and hardware are found where ir_metadata puts them."""
    found = _texts(parse(HEADER.splitlines()))
    expected = {
        "type": "automatic",
        "training": "MS MARCO",
        "first_stage": "bm25",
        "reranker": "monoT5",
        "code": "https://example.org/code.git",
        "paper": "https://doi.org/10.1145/3477495.3531738",
        "latency_ms": "12 ms per topic",
        "energy_wh": "3 Wh",
        "hardware": "Some CPU 16 cores, Some GPU 40 GB, 64 GB RAM",
        "runtime_ms": "90 s",
        "actor.team": "Owls",
        "method.retrieval": "bm25 (b: 0.4), monoT5 (reranks: bm25)",
    }
    assert expected.items() <= found.items()
    assert not {"method.automatic", "resources.latency", "data.training data"} & set(found)


def test_a_form_wins_over_the_header() -> None:
    """Where both say something the form counts; the rest of the header stays."""
    header = {"method": {"automatic": "true"}, "resources": {"latency": "12 ms", "index size": "2 MB"}}
    details = facts.stored(header, {"type": "manual", "latency_ms": 7.0})
    found = {each.key: each for each in facts.facts(details)}
    assert (found["type"].text, found["type"].origin) == ("manual", "form")
    assert (found["index_bytes"].value, found["index_bytes"].origin) == (2e6, "header")
    assert facts.cost(details, "latency_ms") == 7.0
    assert facts.cost(details, "index_bytes") == 2e6
    assert facts.cost(details, "energy_wh") is None
    assert facts.header_of(details) == header


def test_a_header_cannot_pose_as_a_form() -> None:
    """A header's own key `form` is dropped before anything is stored."""
    assert facts.stored({"form": {"type": "manual"}, "tag": "x"}, {}) == {"tag": "x"}


@pytest.mark.parametrize(
    "resources",
    [
        {"cpu": {"energy used system": "0 J"}},
        {"energy": "plenty"},
        {"energy": "-3 Wh"},
        {"cpu": ["energy used system"]},
        "energy",
        None,
    ],
)
def test_what_is_no_energy_is_no_fact(resources: object) -> None:
    """A tracker without sensors reports 0; words, negative numbers and other shapes say nothing."""
    assert facts.cost({"resources": resources}, "energy_wh") is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("false", "manual"),
        ("yes", "automatic"),
        ("maybe", None),
        ("ENTER_VALUE_HERE", None),
        (["true"], "automatic"),
    ],
)
def test_what_is_automatic_is_understood_or_left_as_it_is(text: object, shown: str | None) -> None:
    """Words other than true and false stay among the rest of the header; a template's are nothing."""
    found = _texts({"method": {"automatic": text}})
    assert found.get("type") == shown
    assert ("method.automatic" in found) == (text == "maybe")


def test_addresses_are_links_only_where_they_are_safe() -> None:
    """A fact has an href for plain http and https; anything else is text."""
    details = {"a": "https://example.org/x", "b": "javascript:alert(1)", "form": {"code": "data:text/html,x"}}
    found = {each.key: each.href for each in facts.facts(details)}
    assert found == {"code": None, "a": "https://example.org/x", "b": None}


HOSTILE: tuple[dict[str, Any], ...] = (
    {},
    {"form": "text"},
    {"form": {"latency_ms": "12", "priority": True, "type": ["manual"], "llm": 3, "energy_wh": float("nan")}},
    {"form": {"index_bytes": float("inf"), "latency_ms": -1, "code": {"a": "b"}, "unknown": "x"}},
    {"method": [[[["deep"]]]], "platform": {"hardware": "all"}, "resources": [1, 2], "data": 7},
    {"method": {"retrieval": {"name": {"name": {"name": {}}}}}, "implementation": {"source": None}},
    {"text": "x" * 10**6, "list": ["y" * 1000] * 1000, "many": {str(key): "v" for key in range(5000)}},
)


@pytest.mark.parametrize("details", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_metadata_gives_few_short_facts(details: dict[str, Any]) -> None:
    """Wrong types, no numbers, and endless texts end in at most 200 facts of at most 500 characters."""
    found = facts.facts(details)
    assert len(found) < 230
    assert all(0 < len(each.text) <= 500 and len(each.title) < 10_000 for each in found)
    assert not {"latency_ms", "index_bytes", "energy_wh", "priority", "type"} & {each.key for each in found}
    json.dumps([each.value for each in found], allow_nan=False)
    assert [facts.cost(details, each.key) for each in COSTS] == [None] * len(COSTS)


def test_a_nest_without_end_ends() -> None:
    """A mapping nested a thousand deep is cut, not followed."""
    details: dict[str, Any] = {"leaf": "x"}
    for _ in range(1000):
        details = {"k": details, "list": [details], "tag": "y"}
    found = facts.facts(details)
    assert {each.key.rpartition(".")[2] for each in found} == {"tag", "list", "k"}
    assert len(found) < 30


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.sampled_from(["form", "method", "name", "cpu"]), inner)
    ),
    max_leaves=20,
)


@given(
    st.dictionaries(st.sampled_from(["form", "method", "platform", "resources", "data", "x"]), json_values)
)
def test_any_details_give_facts(details: dict[str, Any]) -> None:
    """Nothing that JSON can hold makes reading fail, and every fact can be found again by key and text."""
    for each in facts.facts(details):
        assert each.text
        assert facts.fact(details, each.key) is not None
    facts.choices([details])


def test_choices_are_words_that_runs_share() -> None:
    """Values with how many runs have them, the most frequent first; no numbers, links or long texts."""
    details = [
        {"form": {"type": "manual", "latency_ms": 3.0, "code": "https://example.org"}, "tag": "x" * 100},
        {"form": {"type": "automatic", "priority": 1}},
        {"method": {"automatic": "true"}, "actor": {"team": "Owls"}},
    ]
    assert facts.choices(details) == (
        Choice("type", "Run type", (("automatic", 2), ("manual", 1))),
        Choice("actor.team", "actor › team", (("Owls", 1),)),
    )
    assert [facts.has(each, "type", "automatic") for each in details] == [False, True, True]
    assert [facts.has(each, "actor.team", "Owls") for each in details] == [False, False, True]


def test_choices_of_too_many_values_are_none() -> None:
    """A fact that is different for every run is nothing to choose by."""
    assert facts.choices([{"tag": f"run-{number}"} for number in range(31)]) == ()


def test_facts_without_a_name_tell_of_nobody() -> None:
    """For a pseudonymous team links and the header's own lines are left out."""
    found = facts.nameless(facts.facts(parse(HEADER.splitlines())))
    assert {each.key for each in found} == {
        *("type", "training", "first_stage", "reranker", "latency_ms", "energy_wh", "hardware", "runtime_ms")
    }


def test_what_a_method_says_of_itself_is_read_too() -> None:
    """Fields of the topic, and a latency whose unit is in its name; a resource goes before it."""
    method = {"topic-fields": "title, description", "query-latency-ms": "1.93"}
    said = {fact.key: fact.value for fact in facts.facts({"method": method})}
    assert (said["topic_fields"], said["latency_ms"]) == ("title, description", 1.93)
    assert facts.cost({"method": method, "resources": {"latency": "2 s"}}, "latency_ms") == 2000.0

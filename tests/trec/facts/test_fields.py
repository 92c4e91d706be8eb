"""What a form may say about a run, and what it is told where it may not."""

import pytest

from leaderboard.errors import Invalid
from leaderboard.trec import facts
from leaderboard.trec.facts import FIELD_OF, FIELDS


def test_every_field_is_read_into_what_is_kept() -> None:
    """Quantities in one unit, priority whole, texts with single blanks; unknown keys are dropped."""
    given = {
        "type": "Manual",
        "priority": "3",
        "topic_fields": "title,\n  description",
        "llm": "  ",
        "code": "https://example.org/code",
        "latency_ms": "0.5 s",
        "index_bytes": "1.2 GB",
        "energy_wh": "7200 J",
        "hardware": "a laptop",
        "evil": "x",
    }
    assert facts.read_fact_fields(given) == {
        "type": "manual",
        "priority": 3,
        "topic_fields": "title, description",
        "code": "https://example.org/code",
        "latency_ms": 500.0,
        "index_bytes": 1.2e9,
        "energy_wh": 2.0,
        "hardware": "a laptop",
    }


def test_all_problems_are_said_at_once_each_with_a_remedy() -> None:
    """Each field that cannot be read is named with its value, the rule and what to do."""
    given = {
        "type": "mixed",
        "priority": "0",
        "paper": "example.org",
        "latency_ms": "fast",
        "llm": "x" * 501,
        "training": "a\u202eb",
    }
    with pytest.raises(Invalid) as caught:
        facts.read_fact_fields(given)
    problems = {problem.field: problem for problem in caught.value.problems}
    assert set(problems) == {FIELD_OF[key].title for key in given}
    assert all(problem.rule and problem.remedy and problem.value for problem in problems.values())
    assert problems["Run type"].rule == "must be one of automatic, manual, feedback."
    assert "12.5 ms" in problems["Latency"].remedy
    assert len(problems["Language models"].value) == 80


@pytest.mark.parametrize(
    "text",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "//example.org",
        "ftp://example.org",
        "example.org",
        "https://",
        "https:///path",
        "http://user@example.org",
        "https://example.org:99999/",
        "https://example.org/<script>",
        'https://example.org/"onclick=',
        "https://example.org/a b",
        "https://[::1",
        "https://example.org/\x00",
        "https://example.org/" + "a" * 500,
    ],
)
def test_only_plain_addresses_of_the_web_are_linked(text: str) -> None:
    """Other schemes, hidden hosts, markup, blanks and endless addresses are not addresses."""
    assert facts.address(text) is None


@pytest.mark.parametrize("value", [1.2e9, 0.0, 1.0, 1 / 3, 12345.678, 1e12])
@pytest.mark.parametrize("key", ["latency_ms", "index_bytes", "energy_wh"])
def test_what_is_typed_again_is_the_same_number(key: str, value: float) -> None:
    """A kept value put into the form and sent back unchanged is the same to the last bit."""
    typed = facts.as_written(value, FIELD_OF[key])
    assert facts.read_fact_fields({key: typed}) == {key: value}


def test_options_and_keys_are_unique() -> None:
    """No two fields share a key, a title or an option of the command line."""
    for names in zip(
        *((fact_field.key, fact_field.title, fact_field.option) for fact_field in FIELDS), strict=True
    ):
        assert len(set(names)) == len(FIELDS)

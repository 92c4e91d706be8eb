"""What participants are asked about a run: each field's title, how it is written, and what is refused."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from leaderboard.errors import Invalid, Problem
from leaderboard.trec.facts.quantities import DURATION, ENERGY, SIZE, Dimension

FactValue = str | float
"""A text, or a number in the unit its field is kept in."""

MOST_CHARACTERS = 500
MOST_PRIORITY = 1000
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What breaks a line or turns the direction of writing has no place in a one-line field."""


@dataclass(frozen=True, slots=True)
class FactField:
    """One fact: its key in forms, JSON and stored details, and how it is asked for.

    group: method, links or cost. choices: the words allowed, else any. dimension: of a quantity.
    """

    key: str
    title: str
    hint: str
    group: str
    choices: tuple[str, ...] = ()
    dimension: Dimension | None = None
    is_url: bool = False
    is_whole: bool = False
    per: str = ""
    """What a quantity is counted by, such as "a topic"."""

    @property
    def option(self) -> str:
        """The field's option on the command line."""
        return "--" + self.key.removesuffix("_ms").removesuffix("_bytes").removesuffix("_wh").replace(
            "_", "-"
        )

    @property
    def is_cost(self) -> bool:
        """Whether it is something that less is better of."""
        return self.dimension is not None


FIELDS = (
    FactField(
        "type",
        "Run type",
        "Automatic: no one looked at topics or results while the run was made.",
        "method",
        choices=("automatic", "manual", "feedback"),
    ),
    FactField("priority", "Judging priority", "1 is judged first.", "method", is_whole=True),
    FactField("topic_fields", "Topic fields used", "Such as title, or title and description.", "method"),
    FactField(
        "training", "Training data and other resources", "Anything beyond the collection itself.", "method"
    ),
    FactField("llm", "Language models", "Their names and what they were used for; none if none.", "method"),
    FactField("first_stage", "First stage", "Such as BM25.", "method"),
    FactField("reranker", "Reranker", "Such as monoT5 on the top 100; none if none.", "method"),
    FactField("code", "Code", "Its address, https://…", "links", is_url=True),
    FactField("paper", "Paper", "Its address, https://…", "links", is_url=True),
    FactField(
        "latency_ms",
        "Latency",
        "Mean time a topic, such as 12.5 ms or 1.5 s.",
        "cost",
        dimension=DURATION,
        per="a topic",
    ),
    FactField("index_bytes", "Index size", "All that is searched, such as 1.2 GB.", "cost", dimension=SIZE),
    FactField("energy_wh", "Energy", "Of the whole run, such as 3.5 Wh or 12 kJ.", "cost", dimension=ENERGY),
    FactField("hardware", "Hardware", "What the costs were measured on.", "cost"),
)
"""The fields of the form, in order."""
FIELD_OF = {fact_field.key: fact_field for fact_field in FIELDS}


def read(given: Mapping[str, str]) -> dict[str, FactValue]:
    """The facts of a form, by key, in the units they are kept in; empty fields are left out.

    Raises Invalid with a problem for each field that cannot be read.

    >>> read({"latency_ms": "0.5 s", "type": "manual", "code": " "})
    {'type': 'manual', 'latency_ms': 500.0}
    """
    values: dict[str, FactValue] = {}
    problems = []
    for fact_field in FIELDS:
        text = " ".join(given.get(fact_field.key, "").split())
        if not text:
            continue
        value = _value(fact_field, text)
        if isinstance(value, Problem):
            problems.append(value)
        else:
            values[fact_field.key] = value
    if problems:
        raise Invalid("These facts about the run cannot be kept as they are.", problems)
    return values


def as_written(value: FactValue, of: FactField) -> str:
    """A kept value as it would be typed into the form, without loss.

    >>> as_written(1.2e9, FIELD_OF["index_bytes"]), as_written(1234.5678, FIELD_OF["latency_ms"])
    ('1.2 GB', '1234.5678 ms')
    """
    if isinstance(value, str):
        return value
    if of.dimension is None:
        return f"{value:g}"
    words = of.dimension.words(value)
    return words if of.dimension.read(words) == value else f"{value!r} {of.dimension.kept}"


def address(text: str) -> str | None:
    """The text where it is an address on the web that may be linked to, else None.

    Only http and https with a host, no name or password before the host, no blanks: an address is shown to
    everyone and must lead where it seems to.

    >>> address("https://example.org/a"), address("javascript:alert(1)"), address("https://x@example.org")
    ('https://example.org/a', None, None)
    """
    if not text.startswith(("http://", "https://")) or len(text) > MOST_CHARACTERS:
        return None
    if re.search(r"[\s\\<>\"]", text) or _CONTROL.search(text):
        return None
    try:
        parts = urlsplit(text)
        plain = bool(parts.hostname) and "@" not in parts.netloc and (parts.port is None or parts.port > 0)
    except ValueError:
        return None
    return text if plain else None


def _value(of: FactField, text: str) -> FactValue | Problem:
    if len(text) > MOST_CHARACTERS:
        return _problem(of, text, f"may have at most {MOST_CHARACTERS} characters.", "Use fewer words.")
    if _CONTROL.search(text):
        return _problem(of, text, "has characters that cannot be shown.", "Type it again.")
    if of.choices:
        choice = text.lower()
        rule = f"is one of {', '.join(of.choices)}."
        return choice if choice in of.choices else _problem(of, text, rule, "Choose one of them.")
    if of.is_url:
        rule = "must be an address on the web."
        remedy = "Write it in full, such as https://example.org/code, without a user's name in it."
        return address(text) or _problem(of, text, rule, remedy)
    if of.is_whole:
        return _whole(of, text)
    return _quantity(of, text) if of.dimension else text


def _whole(of: FactField, text: str) -> FactValue | Problem:
    if text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= MOST_PRIORITY:
        return int(text)
    return _problem(of, text, f"must be a whole number from 1 to {MOST_PRIORITY:,}.", "Write digits only.")


def _quantity(of: FactField, text: str) -> FactValue | Problem:
    assert of.dimension is not None
    value = of.dimension.read(text)
    if value is not None:
        return value
    units = ", ".join(unit.name for unit in of.dimension.shown)
    rule = "must be a number with a unit, not below 0."
    remedy = f"Write it like {of.dimension.example}, with a point and one of {units}."
    return _problem(of, text, rule, remedy)


def _problem(of: FactField, text: str, rule: str, remedy: str) -> Problem:
    return Problem(rule, remedy, field=of.title, value=text[:80])

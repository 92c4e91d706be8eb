"""Facts that participants report about a run, from text to values."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from leaderboard.errors import Invalid, Problem

LONGEST = 60
_QUANTITY = re.compile(r"(\d{1,30}(?:\.\d{0,30})?(?:[eE][+-]?\d{1,3})?)\s*([A-Za-zµμ]*)")
_EACH = re.compile(r"\s*(?:/|per|a)\s*(?:topic|query)$")


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as shown, and its factor to the stored unit."""

    name: str
    factor: float


@dataclass(frozen=True, slots=True)
class Dimension:
    """A physical quantity: its stored unit, accepted units and displayed units."""

    kept: str
    written: Mapping[str, float]
    shown: tuple[Unit, ...]
    """From the smallest to the largest."""
    most: float
    exact_case: bool = False
    example: str = field(default="")

    def read(self, text: str) -> float | None:
        """The value in the kept unit; None for what is not a quantity, or cannot be true.

        A number alone is in the kept unit; "a topic" and "per query" may follow.

        >>> SIZE.read("1.2 GB"), SIZE.read("2 KiB"), DURATION.read("0.5 s per topic"), ENERGY.read("1,5")
        (1200000000.0, 2048.0, 500.0, None)
        """
        if len(text) > LONGEST:
            return None
        match = _QUANTITY.fullmatch(_EACH.sub("", text.strip()))
        if match is None:
            return None
        unit = match[2].replace("μ", "µ")
        factor = self.written.get(unit if self.exact_case else unit.lower()) if unit else 1.0
        return None if factor is None else self.checked(float(match[1]) * factor)

    def checked(self, value: float) -> float | None:
        """The value where it can be true: finite, not negative, and not absurdly large."""
        return value if math.isfinite(value) and 0.0 <= value <= self.most else None

    def words(self, value: float) -> str:
        """A value with the unit that suits it, to three digits or more.

        >>> SIZE.words(1.2e9), DURATION.words(0.5), DURATION.words(90000.0), ENERGY.words(0.0)
        ('1.2 GB', '500 µs', '90 s', '0 Wh')
        """
        unit = self.unit([value])
        return f"{digits(value / unit.factor)} {unit.name}"

    def unit(self, values: Sequence[float]) -> Unit:
        """The unit to show values in: the largest in which the middle one is at least 1.

        >>> DURATION.unit([5.0, 1500.0, 2000.0]).name, ENERGY.unit([]).name
        ('s', 'Wh')
        """
        positive = sorted(value for value in values if value > 0)
        plain = next(unit for unit in self.shown if unit.factor == 1.0)
        if not positive:
            return plain
        middle = positive[len(positive) // 2]
        fitting = [unit for unit in self.shown if middle >= unit.factor]
        return fitting[-1] if fitting else self.shown[0]


def digits(value: float) -> str:
    """A number with three significant digits, more where it is large.

    >>> digits(1.23456), digits(0.004), digits(12345.6), digits(100.0)
    ('1.23', '0.004', '12,346', '100')
    """
    if value == 0:
        return "0"
    places = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(places, 12)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


DURATION = Dimension(
    kept="ms",
    written={
        "us": 1e-3,
        "µs": 1e-3,
        "ms": 1.0,
        "s": 1e3,
        "sec": 1e3,
        "seconds": 1e3,
        "min": 6e4,
        "minutes": 6e4,
        "h": 3.6e6,
        "hours": 3.6e6,
    },
    shown=(Unit("µs", 1e-3), Unit("ms", 1.0), Unit("s", 1e3)),
    most=1e12,
    example="12.5 ms",
)
SIZE = Dimension(
    kept="bytes",
    written={
        "b": 1.0,
        "byte": 1.0,
        "bytes": 1.0,
        "kb": 1e3,
        "mb": 1e6,
        "gb": 1e9,
        "tb": 1e12,
        "pb": 1e15,
        "kib": 2.0**10,
        "mib": 2.0**20,
        "gib": 2.0**30,
        "tib": 2.0**40,
    },
    shown=(Unit("bytes", 1.0), Unit("kB", 1e3), Unit("MB", 1e6), Unit("GB", 1e9), Unit("TB", 1e12)),
    most=1e18,
    example="1.2 GB",
)
ENERGY = Dimension(
    kept="Wh",
    written={
        "mWh": 1e-3,
        "Wh": 1.0,
        "kWh": 1e3,
        "MWh": 1e6,
        "mJ": 1e-3 / 3600,
        "J": 1 / 3600,
        "kJ": 1e3 / 3600,
        "MJ": 1e6 / 3600,
    },
    shown=(Unit("mWh", 1e-3), Unit("Wh", 1.0), Unit("kWh", 1e3), Unit("MWh", 1e6)),
    most=1e12,
    exact_case=True,
    example="3.5 Wh",
)


FactValue = str | float
"""A text, or a number in the unit its field is kept in."""

MOST_CHARACTERS = 500
MOST_PRIORITY = 1000
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that break a line or turn the direction of writing; not allowed in a one-line field."""


@dataclass(frozen=True, slots=True)
class FactField:
    """One fact: its key in forms, JSON and stored details, and its form field.

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
    """Unit that a quantity is counted by, such as "per topic"."""

    @property
    def option(self) -> str:
        """The field's option on the command line."""
        return "--" + self.key.removesuffix("_ms").removesuffix("_bytes").removesuffix("_wh").replace(
            "_", "-"
        )

    @property
    def is_cost(self) -> bool:
        """Whether it is a cost, where less is better."""
        return self.dimension is not None


FIELDS = (
    FactField(
        "type",
        "Run type",
        "Automatic: no one saw topics or results while the run was made.",
        "method",
        choices=("automatic", "manual", "feedback"),
    ),
    FactField("priority", "Judging priority", "1 is judged first.", "method", is_whole=True),
    FactField("topic_fields", "Topic fields used", "Such as title, or title and description.", "method"),
    FactField(
        "training", "Training data and other resources", "Anything beyond the collection itself.", "method"
    ),
    FactField("llm", "Language models", "Their names and what they were used for, or none.", "method"),
    FactField("first_stage", "First stage", "Such as BM25.", "method"),
    FactField("reranker", "Reranker", "Such as monoT5 on the top 100, or none.", "method"),
    FactField("code", "Code", "Web address, https://…", "links", is_url=True),
    FactField("paper", "Paper", "Web address, https://…", "links", is_url=True),
    FactField(
        "latency_ms",
        "Latency",
        "Mean time per topic, such as 12.5 ms or 1.5 s.",
        "cost",
        dimension=DURATION,
        per="per topic",
    ),
    FactField(
        "index_bytes",
        "Index size",
        "Size of everything that is searched, such as 1.2 GB.",
        "cost",
        dimension=SIZE,
    ),
    FactField("energy_wh", "Energy", "For the whole run, such as 3.5 Wh or 12 kJ.", "cost", dimension=ENERGY),
    FactField("hardware", "Hardware", "Hardware on which the costs were measured.", "cost"),
)
"""The fields of the form, in order."""
FIELD_OF = {fact_field.key: fact_field for fact_field in FIELDS}


def read_fact_fields(given: Mapping[str, str]) -> dict[str, FactValue]:
    """The facts of a form, by key, in the units they are kept in; empty fields are left out.

    Raises Invalid with a problem for each field that cannot be read.

    >>> read_fact_fields({"latency_ms": "0.5 s", "type": "manual", "code": " "})
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
        raise Invalid("These run attributes are not valid.", problems)
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
        return _problem(of, text, "contains characters that cannot be displayed.", "Type it again.")
    if of.choices:
        choice = text.lower()
        rule = f"must be one of {', '.join(of.choices)}."
        return choice if choice in of.choices else _problem(of, text, rule, "Choose one of them.")
    if of.is_url:
        rule = "must be a web address."
        remedy = "Write it in full, such as https://example.org/code, without a user name in it."
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


Path = tuple[str, ...]

MOST_TEXT = 500
MOST_ITEMS = 20
MOST_LEAVES = 200
MOST_DEPTH = 12
NOTHING = frozenset({"", "null", "~", "ENTER_VALUE_HERE"})
"""Values that mean "none", in YAML and in a template that was not filled in."""
AUTOMATIC = {"true": "automatic", "yes": "automatic", "false": "manual", "no": "manual"}
ENERGY_PARTS = ("cpu", "gpu", "ram")


@dataclass(frozen=True, slots=True)
class HeaderSource:
    """Reader of a fact in a header, and the parts of the header that it covers."""

    read: Callable[[Mapping[str, Any]], str | float | None]
    paths: tuple[Path, ...] = ()


def at(details: object, *path: str) -> Any:
    """The value at a path of keys; None if absent or if a step on the path has no keys."""
    for key in path:
        if not isinstance(details, Mapping):
            return None
        details = details.get(key)
    return details


def text_of(value: object, depth: int = 0) -> str:
    """A value in one line: scalars as written, lists with commas, mappings by their name and the rest.

    >>> text_of([{"name": "bm25", "b": "0.4"}, "x"]), text_of("ENTER_VALUE_HERE"), text_of(None)
    ('bm25 (b: 0.4), x', '', '')
    """
    if isinstance(value, str):
        text = " ".join(value[: 2 * MOST_TEXT].split())
        return "" if text in NOTHING else shortened(text)
    if isinstance(value, bool | int | float):
        return str(value).lower()
    if depth > 3:
        return ""
    if isinstance(value, Mapping):
        return shortened(_mapping_text(value, depth))
    if isinstance(value, Sequence):
        return shortened(", ".join(filter(None, (text_of(item, depth + 1) for item in value[:MOST_ITEMS]))))
    return ""


def shortened(text: str) -> str:
    """The text, cut where it is too long for a line of facts."""
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"


def leaves(header: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Path and text of every value that is not itself a mapping, in order; at most 200.

    >>> list(leaves({"actor": {"team": "one", "mail": ""}, "tags": ["a", "b"]}))
    [(('actor', 'team'), 'one'), (('tags',), 'a, b')]
    """
    waiting: list[tuple[Path, object]] = [((), header)]
    count = 0
    while waiting and count < MOST_LEAVES:
        path, value = waiting.pop()
        if isinstance(value, Mapping) and len(path) < MOST_DEPTH:
            items = [((*path, shortened(str(key))), inner) for key, inner in value.items()]
            waiting += reversed(items[:MOST_LEAVES])
        elif text := text_of(value):
            count += 1
            yield path, text


def _mapping_text(value: Mapping[str, Any], depth: int) -> str:
    parts = {str(key): text_of(inner, depth + 1) for key, inner in list(value.items())[:MOST_ITEMS]}
    name = parts.pop("name", "")
    rest = ", ".join(f"{key}: {text}" for key, text in parts.items() if text)
    return f"{name} ({rest})" if name and rest else name or rest


def _automatic(details: Mapping[str, Any]) -> str | None:
    return AUTOMATIC.get(text_of(at(details, "method", "automatic")).lower())


def _stages(details: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Names of first-stage rankers, and of rerankers."""
    retrieval = at(details, "method", "retrieval")
    stages = retrieval[:MOST_ITEMS] if isinstance(retrieval, list) else [retrieval]
    first: list[str] = []
    then: list[str] = []
    for stage in stages:
        name = text_of(at(stage, "name")) or text_of(at(stage, "method"))
        if name:
            (then if text_of(at(stage, "reranks")) else first).append(name)
    return first, then


def _first_stage(details: Mapping[str, Any]) -> str | None:
    return ", ".join(_stages(details)[0]) or None


def _reranker(details: Mapping[str, Any]) -> str | None:
    return ", ".join(_stages(details)[1]) or None


def _training(details: Mapping[str, Any]) -> str | None:
    return text_of(at(details, "data", "training data")) or None


def _code(details: Mapping[str, Any]) -> str | None:
    return text_of(at(details, "implementation", "source", "repository")) or None


PAPERS: tuple[Path, ...] = tuple(("research goal", "publication", name) for name in ("url", "doi", "arxiv"))


def _paper(details: Mapping[str, Any]) -> str | None:
    """The first of the publication's addresses; a bare DOI becomes one."""
    for path in PAPERS:
        text = text_of(at(details, *path))
        if path[-1] == "doi" and text.lower().removeprefix("doi:").startswith("10."):
            text = f"https://doi.org/{text[4:] if text.lower().startswith('doi:') else text}"
        if address(text):
            return text
    return None


def _hardware(details: Mapping[str, Any]) -> str | None:
    """Processor, graphics card and memory in a line."""
    machine = at(details, "platform", "hardware")
    cpu = [text_of(at(machine, "cpu", "model"))]
    cores = text_of(at(machine, "cpu", "number of cores"))
    cpu += [f"{cores} cores"] if cpu[0] and cores else []
    gpu = [text_of(at(machine, "gpu", "model")) or text_of(at(machine, "gpu", "architecture"))]
    memory = text_of(at(machine, "gpu", "memory"))
    gpu += [memory] if gpu[0] and memory else []
    ram = text_of(at(machine, "ram"))
    parts = [" ".join(filter(None, words)) for words in (cpu, gpu)]
    return shortened(", ".join(filter(None, [*parts, f"{ram} RAM" if ram else ""]))) or None


def _energy(details: Mapping[str, Any]) -> str | float | None:
    """The sum over processor, graphics card and memory; or what the header calls energy.

    A sum of 0 is what a machine without sensors reports, not what a run used.
    """
    read = (text_of(at(details, "resources", part, "energy used system")) for part in ENERGY_PARTS)
    parts = [value for text in read if text and (value := ENERGY.read(text)) is not None]
    return sum(parts) or text_of(at(details, "resources", "energy")) or None


def _latency(details: Mapping[str, Any]) -> str | None:
    written = text_of(at(details, *_METHOD_LATENCY))
    return text_of(at(details, "resources", "latency")) or (f"{written} ms" if written else None)


def _topic_fields(details: Mapping[str, Any]) -> str | None:
    return text_of(at(details, *_METHOD_FIELDS)) or None


_METHOD_LATENCY = ("method", "query-latency-ms")
_METHOD_FIELDS = ("method", "topic-fields")


def _resource(*path: str) -> Callable[[Mapping[str, Any]], str | None]:
    return lambda details: text_of(at(details, "resources", *path)) or None


HEADER: dict[str, HeaderSource] = {
    "type": HeaderSource(_automatic, (("method", "automatic"),)),
    "topic_fields": HeaderSource(_topic_fields, (_METHOD_FIELDS,)),
    "training": HeaderSource(_training, (("data", "training data"),)),
    "first_stage": HeaderSource(_first_stage),
    "reranker": HeaderSource(_reranker),
    "code": HeaderSource(_code, (("implementation", "source", "repository"),)),
    "paper": HeaderSource(_paper),
    "latency_ms": HeaderSource(_latency, (("resources", "latency"), _METHOD_LATENCY)),
    "index_bytes": HeaderSource(_resource("index size"), (("resources", "index size"),)),
    "energy_wh": HeaderSource(_energy, (("resources", "energy"),)),
    "runtime_ms": HeaderSource(_resource("runtime", "wallclock"), (("resources", "runtime", "wallclock"),)),
    "hardware": HeaderSource(_hardware),
}
"""By field, its place in a header; headers do not have the other fields."""


_NO_NAMES = frozenset(
    re.findall(
        r"\w+",
        "a an assistant chat from language large llm llms machine model models no none not open our own "
        "small the unknown using with",
    )
)
"""Words that name no family of models."""


# The same few declarations are compared by every pair of a run and a judge.
@lru_cache(maxsize=1024)
def families(declared: str) -> frozenset[str]:
    """The families of the models that are named: the letters of the first word of each name.

    >>> sorted(families("GPT-4o for expansion; Llama 3.1 and gpt-5"))
    ['gpt', 'llama']
    >>> families("none"), families("a language-model assistant")
    (frozenset(), frozenset())
    """
    named = set()
    for name in re.split(r"[,;+/&()]|\band\b", declared.casefold()):
        words = (word for word in re.findall(r"[^\W\d_]+", name) if word not in _NO_NAMES)
        named.add(next(words, ""))
    return frozenset(named - {""})

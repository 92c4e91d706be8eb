"""Where an ir_metadata header says what participants are asked for, and the rest of it as lines of text."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leaderboard.trec.facts.fields import address
from leaderboard.trec.facts.quantities import ENERGY

Path = tuple[str, ...]

MOST_TEXT = 500
MOST_ITEMS = 20
MOST_LEAVES = 200
MOST_DEPTH = 12
NOTHING = frozenset({"", "null", "~", "ENTER_VALUE_HERE"})
"""What stands for no value, in YAML and in a template that was not filled in."""
AUTOMATIC = {"true": "automatic", "yes": "automatic", "false": "manual", "no": "manual"}
ENERGY_PARTS = ("cpu", "gpu", "ram")


@dataclass(frozen=True, slots=True)
class HeaderSource:
    """How a fact is read from a header, and the parts of the header that it says all of."""

    read: Callable[[Mapping[str, Any]], str | float | None]
    paths: tuple[Path, ...] = ()


def at(details: object, *path: str) -> Any:
    """The value at a path of keys; None where there is none or something on the way has no keys."""
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
    """Names of what ranks by itself, and of what reranks others."""
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
"""By field, where a header says it; a header says nothing of the other fields."""

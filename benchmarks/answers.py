"""Answers of a site as a crawl keeps them, and how two crawls differ."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

FILE = "crawl.jsonl"
KINDS = {
    "text/html": "HTML",
    "application/json": "JSON",
    "text/csv": "CSV",
    "application/x-tex": "TeX",
    "image/svg+xml": "SVG",
}
"""Content type -> what the summary calls it."""
OTHER = "other"
SHOWN = 20
"""Lines of a list that was not asked for whole."""
WORDS = 8
"""Of a text that differs, and on either side of it."""


class Answer(NamedTuple):
    """What an address answered; body is the text of a file, or of a page the words that can be read on it."""

    address: str
    status: int
    type: str
    title: str
    body: str

    @property
    def kind(self) -> str:
        """The content type as the summary calls it."""
        return KINDS.get(self.type, OTHER)


class Fault(NamedTuple):
    """How a new answer differs from the old one: sort is `missing`, `value`, `text` or `extra`."""

    sort: str
    place: str
    said: str = ""

    @property
    def fails(self) -> bool:
        """Whether something in the old answer is missing from the new one."""
        return self.sort in ("missing", "value")


def write(folder: Path, answers: Iterable[Answer]) -> int:
    """Keep answers as JSON lines, by address; how many there were."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(answer._asdict(), ensure_ascii=False) for answer in sorted(answers)]
    (folder / FILE).write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return len(lines)


def read(folder: Path) -> dict[str, Answer]:
    """The answers of a crawl by address."""
    with (folder / FILE).open(encoding="utf-8") as lines:
        answers = [Answer(**json.loads(line)) for line in lines]
    return {answer.address: answer for answer in answers}


def compare(old: Answer, new: Answer, ignored: frozenset[str] = frozenset()) -> Iterator[Fault]:
    """Differences from the answer before: data by value, tables by column and row, else as text."""
    if (old.status, old.type) != (new.status, new.type):
        yield Fault("value", "answer", f"{old.status} {old.type} -> {new.status} {new.type}")
    elif (old.title, old.body) == (new.title, new.body):
        return
    elif old.kind == "JSON":
        yield from _of_data(json.loads(old.body), json.loads(new.body), ignored)
    elif old.kind == "CSV":
        yield from _of_tables(old.body, new.body, ignored)
    else:
        said = words(f"{old.title} {old.body}", f"{new.title} {new.body}")
        yield Fault("text" if old.kind == "HTML" else "value", "", said)


def _of_data(old: Any, new: Any, ignored: frozenset[str], place: str = "") -> Iterator[Fault]:
    """Every value of the old data must be in the new; a key that only the new has is extra.

    Texts of several words are sentences, whose words may differ.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new} - ignored):
            if key in old and key in new:
                yield from _of_data(old[key], new[key], ignored, f"{place}.{key}")
            else:
                yield Fault("missing" if key in old else "extra", f"{place}.{key}")
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield Fault("value", f"{place}[]", f"{len(old)} entries -> {len(new)}")
        for one, other in zip(old, new, strict=False):
            yield from _of_data(one, other, ignored, f"{place}[]")
    elif isinstance(old, str) and isinstance(new, str) and old != new and (" " in old or " " in new):
        yield Fault("text", place, words(old, new))
    elif repr(old) != repr(new):
        # By what is printed: 1 is not 1.0 or true here, and nan is nan.
        yield Fault("value", place, f"{old!r} -> {new!r}")


def _of_tables(old: str, new: str, ignored: frozenset[str]) -> Iterator[Fault]:
    """Every column of the old table must be in the new, in the same order, with the same values."""
    one, other = (csv.DictReader(io.StringIO(body)) for body in (old, new))
    columns, now = list(one.fieldnames or ()), list(other.fieldnames or ())
    yield from _of_data(dict.fromkeys(columns), dict.fromkeys(now), ignored)
    kept = [column for column in columns if column in now]
    if kept != [column for column in now if column in columns]:
        yield Fault("value", "order of columns", f"{columns} -> {now}")
    yield from _of_data(list(one), list(other), ignored | {*columns, *now} - {*kept})


def words(old: str, new: str) -> str:
    """The words from the first difference to the last, cut short, with a few on either side.

    >>> words("a board of ten runs", "a board of nine runs")
    'a board of [ten -> nine] runs'
    """
    before, after = old.split(), new.split()
    start = _alike(before, after)
    end = _alike(before[start:][::-1], after[start:][::-1])
    changed = [" ".join(text[start : len(text) - end][:WORDS]) for text in (before, after)]
    rest = before[len(before) - end :][:WORDS]
    return " ".join((*before[max(0, start - WORDS) : start], f"[{' -> '.join(changed)}]", *rest))


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (word, its) in pairs if word != its), min(len(one), len(other)))


class Comparison:
    """Two crawls: which addresses only one has, and how the answers of the others differ."""

    def __init__(
        self, old: Mapping[str, Answer], new: Mapping[str, Answer], ignored: frozenset[str] = frozenset()
    ) -> None:
        """`ignored`: keys of JSON, columns of CSV, and addresses, which begin with a slash."""
        self.old, self.new = (
            {address: answer for address, answer in crawl.items() if address not in ignored}
            for crawl in (old, new)
        )
        shared = sorted(self.old.keys() & self.new.keys())
        self.faults = {
            address: list(compare(self.old[address], self.new[address], ignored)) for address in shared
        }
        self.missing = sorted(self.old.keys() - self.new.keys())
        self.added = sorted(self.new.keys() - self.old.keys())

    @property
    def fails(self) -> bool:
        """Whether an address, a key or a value of the old crawl is not in the new one."""
        return bool(self.missing) or any(fault.fails for some in self.faults.values() for fault in some)

    def summary(self) -> str:
        """A table of how many addresses of each kind there are."""
        heads = ("kind", "old", "new", "only old", "only new", "same", "differ")
        lines = ["| " + " | ".join(heads) + " |", "| --- |" + " ---: |" * (len(heads) - 1)]
        for kind in (*KINDS.values(), OTHER):
            counts = self._counts(kind)
            lines += [f"| {kind} | " + " | ".join(f"{count:,}" for count in counts) + " |"]
        return "\n".join(lines)

    def _counts(self, kind: str) -> tuple[int, ...]:
        old, new = (
            {address for address, answer in crawl.items() if answer.kind == kind}
            for crawl in (self.old, self.new)
        )
        shared = [self.faults[address] for address in old & self.faults.keys()]
        same = sum(all(fault.sort == "extra" for fault in some) for some in shared)
        return len(old), len(new), len(old - {*self.new}), len(new - {*self.old}), same, len(shared) - same

    def lists(self, most: int = SHOWN, *, text: bool = False) -> str:
        """The differences by address; for pages also the words if `text` is set."""
        lists = {"only in the old crawl": self.missing, "only in the new crawl": self.added}
        extra = Counter(
            fault.place for some in self.faults.values() for fault in some if fault.sort == "extra"
        )
        lists["keys that only the new crawl has"] = [f"{place}: {n:,}" for place, n in extra.items()]
        for kind in (*KINDS.values(), OTHER):
            lists[f"{kind} that differs"] = [
                f"{address} {_told(faults, text=text)}".strip()
                for address, some in self.faults.items()
                if self.old[address].kind == kind
                and (faults := [fault for fault in some if fault.sort != "extra"])
            ]
        return "\n".join(
            line for title, lines in lists.items() if lines for line in _listed(title, lines, most)
        )


def _told(faults: list[Fault], *, text: bool) -> str:
    first = faults[0]
    if first.sort == "text" and not text:
        return ""
    more = f" (and {len(faults) - 1:,} more)" if len(faults) > 1 else ""
    return f"{first.place} {first.said or first.sort}".strip() + more


def _listed(title: str, lines: list[str], most: int) -> Iterator[str]:
    yield f"\n{title}: {len(lines):,}"
    yield from (f"  {line}" for line in lines[:most])
    if len(lines) > most:
        yield f"  and {len(lines) - most:,} more: see --all"

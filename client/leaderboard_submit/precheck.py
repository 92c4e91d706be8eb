"""A first look at a run file before it is sent: what the site would reject at once."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, cast

MOST = 10
"""Problems after which it stops."""
FIELDS = 6
"""Of a line of a TREC run; a file whose first line has another number is left to the site."""


@dataclass(frozen=True)
class Limits:
    """What a task is known to refuse; None where nothing is known."""

    depth: int | None = None
    """Most documents per topic."""
    topics: frozenset[str] | None = None
    largest_bytes: int | None = None
    """Of the file as it is sent."""


def problems(path: Path, limits: Limits = Limits()) -> list[dict[str, Any]]:
    """The first things that are wrong with the file's lines; none for a file that only the site can read."""
    size = path.stat().st_size
    if limits.largest_bytes is not None and size > limits.largest_bytes:
        rule = f"The file has {size:,} bytes; the task accepts at most {limits.largest_bytes:,}."
        return [_problem(None, "", rule, "Compress it, or list fewer documents per topic.")]
    with path.open("rb") as file:
        magic = file.read(2)
    if magic in (b"\x28\xb5", b"PK"):
        return []
    found: list[dict[str, Any]] = []
    try:
        with _opened(path, magic) as file:
            if file.read(262)[257:] == b"ustar":
                # A tar, as judges send their parts in.
                return []
        with _opened(path, magic) as lines:
            for problem in _of_lines(lines, limits):
                found.append(problem)
                if len(found) == MOST:
                    break
    except (OSError, EOFError, lzma.LZMAError) as error:
        found.append(_problem(None, "", f"cannot be unpacked: {error}", "Compress the file again."))
    return found


def tag(path: Path) -> str:
    """The tag of a run's first entry; empty for a file of another form."""
    with path.open("rb") as file:
        magic = file.read(2)
    if magic in (b"\x28\xb5", b"PK"):
        return ""
    try:
        with _opened(path, magic) as lines:
            fields = next((line.split() for line in lines if line.strip() and line[:1] != b"#"), [])
    except (OSError, EOFError, lzma.LZMAError):
        return ""
    return fields[5].decode("utf-8", "replace") if len(fields) == 6 else ""


def _opened(path: Path, magic: bytes) -> BinaryIO:
    """The file unpacked, whatever its name says."""
    if magic == b"\x1f\x8b":
        return cast(BinaryIO, gzip.open(path, "rb"))
    if magic == b"BZ":
        return cast(BinaryIO, bz2.open(path, "rb"))
    return cast(BinaryIO, lzma.open(path, "rb") if magic == b"\xfd7" else path.open("rb"))


def _of_lines(lines: Iterable[bytes], limits: Limits) -> Iterator[dict[str, Any]]:
    """Of a run of rankings or, where its first line is an object, of answers."""
    numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
    first = next(numbered, None)
    if first is not None and first[1].lstrip(b"\xef\xbb\xbf \t").startswith(b"{"):
        yield from _of_answers(chain([first], numbered))
    else:
        yield from _of_rankings(chain([first] if first else [], numbered), limits)


def _of_answers(numbered: Iterable[tuple[int, bytes]]) -> Iterator[dict[str, Any]]:
    is_first = True
    for number, line in numbered:
        try:
            is_object = isinstance(json.loads(line.decode("utf-8-sig")), dict)
        except (ValueError, RecursionError):
            is_object = False
        if is_first and not is_object:
            # A dictionary over several lines is a run that the site reads.
            return
        is_first = False
        if not is_object:
            shown = line[:60].decode("utf-8", "replace").rstrip()
            yield _problem(
                number, shown, "Every line of answers must be one JSON object.", "Write one object per topic."
            )


def _of_rankings(numbered: Iterable[tuple[int, bytes]], limits: Limits) -> Iterator[dict[str, Any]]:
    is_empty = is_first = True
    documents: dict[bytes, int] = {}
    for number, line in numbered:
        fields = line.split()
        if line.startswith(b"#"):
            # Ids may begin with it where the task follows trec_eval 9.
            is_empty = is_empty and len(fields) < FIELDS
            continue
        if is_first and len(fields) != FIELDS:
            return
        is_empty = is_first = False
        shown = line[:60].decode("utf-8", "replace").rstrip()
        if len(fields) != FIELDS:
            rule = f"A line of a run must have six fields; this line has {len(fields)}."
            yield _problem(number, shown, rule, "Write: topic Q0 docno rank score tag")
        elif not _is_number(fields[4]):
            yield _problem(
                number, shown, "A score must be a finite decimal number.", "Correct the fifth field."
            )
        else:
            documents[fields[0]] = count = documents.get(fields[0], 0) + 1
            topic = fields[0].decode("utf-8", "replace")
            if count == 1 and limits.topics is not None and topic not in limits.topics:
                remedy = f"Valid topic ids include {', '.join(sorted(limits.topics)[:3])}."
                yield _problem(number, topic, "The task has no such topic.", remedy)
            elif limits.depth is not None and count == limits.depth + 1:
                rule = f"The topic has more than {limits.depth:,} documents, the maximum in this task."
                yield _problem(number, topic, rule, f"Keep the top {limits.depth:,}.")
    if is_empty:
        yield _problem(None, "", "The file has no run lines.", "Choose another file.")


def _is_number(text: bytes) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _problem(line: int | None, value: str, rule: str, remedy: str) -> dict[str, Any]:
    return {"line": line, "value": value, "rule": rule, "remedy": remedy}

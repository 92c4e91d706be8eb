"""Labels of the demo's answers as they were given: of distinct segments, and of segments with a document.

`judgments/segments.tsv` says which nuggets of its topic a segment holds (`2` the second whole, `3p` the
third in part, `-` none); `judgments/support.tsv` how far a document bears a segment out. A segment is known
by the beginning of the SHA-256 of its text.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from demo.answer_files import read_all
from demo.texts import documents

JUDGMENTS = Path(__file__).parent / "judgments"
NOT_HELD, IN_PART, HELD = 0, 1, 2
Held = dict[tuple[str, str], dict[int, int]]
"""(topic, segment) -> number of a nugget, from 1 -> IN_PART or HELD."""
Support = dict[tuple[str, str, str], int]
"""(topic, segment, docno) -> 0 none, 1 some, 2 all of it."""
Answers = Mapping[str, Mapping[str, list[tuple[str, tuple[str, ...]]]]]
"""Run -> topic -> segments with the documents they cite."""


def key_of(text: str) -> str:
    """What a segment is called in the files of labels.

    >>> key_of("Rivers carry salt.")
    '1ed939be8a'
    """
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def nuggets() -> dict[str, list[dict[str, str]]]:
    """The nuggets of each topic with text and importance, in the order of their numbers."""
    lines = (JUDGMENTS / "nuggets.jsonl").read_text("utf-8").splitlines()
    records: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return {record["qid"]: record["nuggets"] for record in records}


def read_held(path: Path = JUDGMENTS / "segments.tsv") -> Held:
    """What each segment holds; raises SystemExit for a row that makes no sense, with its line."""
    held: Held = {}
    for number, line in enumerate(path.read_text("ascii").splitlines(), start=1):
        topic, segment, labels = line.split("\t")
        given = [] if labels == "-" else labels.split(",")
        values = {label.rstrip("p"): IN_PART if label.endswith("p") else HELD for label in given}
        if not all(name.isdecimal() and 1 <= int(name) <= len(nuggets()[topic]) for name in values):
            raise SystemExit(f"{path.name}, line {number}: {labels!r} names no nugget of {topic}.")
        held[topic, segment] = {int(name): value for name, value in values.items()}
    return held


def read_support(path: Path = JUDGMENTS / "support.tsv") -> Support:
    """The labels of pairs; raises SystemExit for one that is not 0, 1 or 2, with its line."""
    support: Support = {}
    for number, line in enumerate(path.read_text("ascii").splitlines(), start=1):
        topic, segment, docno, label = line.split("\t")
        if label not in ("0", "1", "2"):
            raise SystemExit(f"{path.name}, line {number}: the label {label!r} is not 0, 1 or 2.")
        support[topic, segment, docno] = int(label)
    return support


def copied(answers: Answers) -> Support:
    """Pairs that need no judge: the segment stands word for word in the document, which bears it out."""
    texts = {document.docno: document.text for document in documents()}
    return {(topic, key_of(text), docno): 2 for topic, text, docno in cited(answers) if text in texts[docno]}


def cited(answers: Answers) -> Iterator[tuple[str, str, str]]:
    """Every distinct topic, segment's text and document it cites, in byte order."""
    pairs = {
        (topic, text, docno)
        for by_topic in answers.values()
        for topic, segments in by_topic.items()
        for text, docnos in segments
        for docno in docnos
    }
    yield from sorted(pairs)


def segments(answers: Answers) -> Iterator[tuple[str, str]]:
    """Every distinct topic and segment's text, in byte order."""
    given = {
        (topic, text)
        for by_topic in answers.values()
        for topic, answer in by_topic.items()
        for text, _ in answer
    }
    yield from sorted(given)


def complete(answers: Answers) -> tuple[Held, Support]:
    """All labels of these answers; raises SystemExit, naming them, where some are missing or of no answer."""
    held, support = read_held(), read_support() | copied(answers)
    wanted = {(topic, key_of(text)) for topic, text in segments(answers)}
    pairs = {(topic, key_of(text), docno) for topic, text, docno in cited(answers)}
    faults = [f"{' '.join(key)} has no label" for key in sorted(wanted - held.keys())]
    faults += [f"{' '.join(key)} has no label" for key in sorted(pairs - support.keys())]
    faults += [f"{' '.join(key)} is of no answer" for key in sorted(held.keys() - wanted)]
    faults += [f"{' '.join(key)} is of no answer" for key in sorted(support.keys() - pairs)]
    if faults:
        raise SystemExit(f"{len(faults)} problems in the labels:\n" + "\n".join(faults[:20]))
    return held, support


def main() -> None:
    """Check that every segment and every pair of the shipped answers has its label."""
    held, support = complete(read_all())
    print(f"{len(held)} segments and {len(support)} pairs of a segment and a document are labelled")


if __name__ == "__main__":
    main()

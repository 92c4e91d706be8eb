"""Sentences of the documents, which extractive answers are made of."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from demo.texts import Document, words

LEAST_WORDS, MOST_WORDS = 6, 60
SKIPPED = ("Changed in version", "New in version", "Deprecated since", "Availability:", ">>>", "...", "$ ")
"""Beginnings of lines that are code, or say since when something is so."""
END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")
ABBREVIATED = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf)\.$")


@dataclass(frozen=True)
class Sentence:
    """A sentence of a document; place counts the document's sentences from 0."""

    docno: str
    place: int
    text: str
    terms: frozenset[str]


def sentences(document: Document) -> list[Sentence]:
    """The sentences of a document's prose in their order, without code and remarks on versions."""
    texts = [text for line in document.text.split("\n") for text in _of_line(line)]
    return [Sentence(document.docno, place, text, frozenset(words(text))) for place, text in enumerate(texts)]


def _of_line(line: str) -> Iterator[str]:
    line = line.strip()
    if line.startswith(SKIPPED) or not line[:1].isupper():
        return
    begun = ""
    for piece in END.split(line):
        begun = f"{begun} {piece}".strip()
        if ABBREVIATED.search(begun):
            continue
        if begun[-1] in ".!?" and LEAST_WORDS <= len(begun.split()) <= MOST_WORDS:
            yield begun
        begun = ""

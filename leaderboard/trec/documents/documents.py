"""Documents files to documents, one at a time: BEIR's corpus.jsonl, TREC SGML, or two columns."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from leaderboard.errors import Problem
from leaderboard.trec.documents.blocks import (
    Document,
    DocumentBlock,
    SpooledBlocks,
    find_documents,
    pack_documents,
)
from leaderboard.trec.documents.docno_filter import DocnoFilter, DocnoFilterBuilder
from leaderboard.trec.read.archives import Limits
from leaderboard.trec.read.entries import ID_BYTES
from leaderboard.trec.read.json_objects import Fault, object_of
from leaderboard.trec.read.lines import Problems, numbered_lines, shown
from leaderboard.trec.topics.markup import unescaped

__all__ = [
    "DOCUMENT_LIMITS",
    "DocnoFilter",
    "DocnoFilterBuilder",
    "Document",
    "DocumentBlock",
    "SpooledBlocks",
    "find_documents",
    "pack_documents",
    "read_documents",
]

DOCUMENT_LIMITS = Limits(plain_bytes=64 * 2**30, line_bytes=16 * 2**20)
"""A whole document may be on one line, and collections are larger than runs."""
ID_KEYS = ("_id", "docno", "docid", "id")
TEXT_KEYS = ("text", "contents", "body", "abstract")

_EDGE = re.compile(r"(</?doc\s*>)", re.IGNORECASE)
_DOCNO = re.compile(r"<docno>(.*?)</docno>", re.IGNORECASE | re.DOTALL)
_TITLE = re.compile(r"<(title|headline|head|hl|ti)>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_TEXT = re.compile(r"<text>(.*?)</text>", re.IGNORECASE | re.DOTALL)
_HEADER = re.compile(r"<dochdr>.*?</dochdr>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")

Line = tuple[int, str]


def read_documents(path: Path, limits: Limits = DOCUMENT_LIMITS) -> Iterator[Document]:
    """The documents of a file as they come; the first line that says something decides the format.

    Docnos are one word of at most 255 bytes, as a run's columns need. After the first problem no more
    documents follow; the rest is only checked, and Invalid raised with up to 25 problems.
    """
    lines = numbered_lines(path, limits)
    first = next((line for line in lines if line[1].strip()), None)
    problems = Problems("documents file")
    count = 0
    for number, document in _drafts(first, lines, problems, limits) if first else ():
        count += 1
        if fault := _fault(document):
            problems.add(Problem(*fault, number, "docno", shown(document.docno)))
        if not problems.found:
            yield document
    if not count and not problems.found:
        remedy = "Write JSON lines, TREC SGML, or a docno, a tab and the text on each line."
        problems.add(Problem("The file has no documents.", remedy))
    problems.stop()


def _drafts(
    first: Line, rest: Iterator[Line], problems: Problems, limits: Limits
) -> Iterator[tuple[int, Document]]:
    start, lines = first[1].lstrip(), chain([first], rest)
    if start.startswith("{"):
        return _json_documents(lines, problems)
    if start.startswith("<"):
        return _sgml_documents(lines, problems, limits)
    return _tsv_documents(lines, problems)


def _json_documents(lines: Iterable[Line], problems: Problems) -> Iterator[tuple[int, Document]]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            record = object_of(line)
        except Fault as fault:
            problems.add(fault.problem(number))
            continue
        docno = next((record[key] for key in ID_KEYS if key in record), None)
        if isinstance(docno, bool) or not isinstance(docno, str | int):
            rule = f"A document needs an id, as text, under one of {', '.join(ID_KEYS)}."
            remedy = 'Write for example {"_id": "d1", "title": "...", "text": "..."}.'
            problems.add(Problem(rule, remedy, number, "", shown(line)))
            continue
        text = next((_string(record[key]) for key in TEXT_KEYS if record.get(key)), "")
        yield number, Document(str(docno).strip(), _string(record.get("title")), text)


def _string(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _tsv_documents(lines: Iterable[Line], problems: Problems) -> Iterator[tuple[int, Document]]:
    for number, line in lines:
        if not line.strip():
            continue
        docno, tab, text = line.partition("\t")
        if tab:
            yield number, Document(docno.strip(), "", text.strip())
        else:
            rule = "A document has 2 columns, docno and text, separated by a tab; this line has no tab."
            problems.add(Problem(rule, "Put a tab after the docno.", number, "", shown(line)))


def _sgml_documents(
    lines: Iterable[Line], problems: Problems, limits: Limits
) -> Iterator[tuple[int, Document]]:
    start, size = 0, 0
    parts: list[str] = []
    for number, line in lines:
        for part in _EDGE.split(line + "\n"):
            if _EDGE.fullmatch(part):
                if start:
                    yield start, _sgml_document("".join(parts))
                start, size, parts = (0 if part[1] == "/" else number), 0, []
            elif start:
                parts.append(part)
                size += len(part)
        if size > limits.line_bytes:
            rule = (
                f"The document that starts on line {start} is longer than {limits.line_bytes:,} characters."
            )
            problems.add(Problem(rule, "Check that each <DOC> has its </DOC>.", number))
            start, size, parts = 0, 0, []
    if start:
        problems.add(Problem("The last document has no </DOC>.", "Check that the file is complete.", start))


def _sgml_document(body: str) -> Document:
    docno, title = _DOCNO.search(body), _TITLE.search(body)
    texts = _TEXT.findall(body) or [_HEADER.sub("", _TITLE.sub("", _DOCNO.sub("", body), count=1))]
    lines = (line.strip() for line in _bare("\n".join(texts)).strip().split("\n"))
    return Document(
        _bare(docno[1]).strip() if docno else "",
        " ".join(_bare(title[2]).split()) if title else "",
        re.sub(r"\n{3,}", "\n\n", "\n".join(lines)),
    )


def _bare(text: str) -> str:
    return unescaped(_TAG.sub("", text))


def _fault(document: Document) -> tuple[str, str] | None:
    """Rule and remedy where a document could not be stored or named in a run."""
    if not document.docno:
        return "The document has no docno.", "Give each document its own."
    if len(document.docno.split()) > 1 or _CONTROL.search(document.docno):
        return ("A docno may not contain blanks or control characters.", "Runs separate columns by blanks.")
    if len(document.docno.encode()) > ID_BYTES:
        return f"A docno has at most {ID_BYTES} bytes.", "Shorten it, in the runs and qrels too."
    if _UNSTORABLE.search(document.title) or _UNSTORABLE.search(document.text):
        return "The document's text contains NUL or half a surrogate pair.", "Remove it."
    return None

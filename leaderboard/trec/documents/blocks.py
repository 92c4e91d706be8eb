"""Documents in compressed blocks sorted by docno, so that millions of them are not millions of rows."""

import heapq
import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import IO
from weakref import finalize

from leaderboard.checksums import compressed, plain_bytes
from leaderboard.errors import Invalid, Problem

BLOCK_BYTES = 64 * 1024
SORTED_AT_ONCE = 64 * 2**20
"""Bytes of text sorted in memory; more is sorted in temporary files."""
SPOOL_BYTES = 16 * 2**20
"""Maximum compressed bytes of a collection kept in memory."""

_MAGIC = b"LBD1"
_LEVEL = 9
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a collection, as shown."""

    docno: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class DocumentBlock:
    """Neighbouring documents in docno order (as bytes), compressed; first and last are docnos."""

    first: str
    last: str
    count: int
    body: bytes


class SpooledBlocks:
    """Blocks on their way to the database: what they hold is in memory while it is little, else on disk."""

    def __init__(self, blocks: Iterable[DocumentBlock]) -> None:
        """Add them all; each is let go before the next one comes."""
        self._found_by: list[tuple[str, str, int, int]] = []
        self._file = SpooledTemporaryFile(max_size=SPOOL_BYTES)  # noqa: SIM115 (closed with this)
        finalize(self, self._file.close)
        for block in blocks:
            self._file.write(block.body)
            self._found_by.append((block.first, block.last, block.count, len(block.body)))

    def __len__(self) -> int:
        """Number of documents."""
        return len(self._found_by)

    def __iter__(self) -> Iterator[DocumentBlock]:
        """The blocks in order, read one at a time."""
        self._file.seek(0)
        for first, last, count, size in self._found_by:
            yield DocumentBlock(first, last, count, self._file.read(size))


def pack_documents(documents: Iterable[Document]) -> Iterator[DocumentBlock]:
    """The documents as blocks of about 64 KB plain, sorted by docno as bytes.

    Raises Invalid where two documents have one docno.
    """
    waiting: list[Document] = []
    size = 0
    before = None
    with ExitStack() as files:
        for document in _sorted(documents, files):
            if document.docno == before:
                rule = f"Two documents have the docno {before}."
                remedy = "Give each document its own."
                raise Invalid(f"{rule} {remedy}", [Problem(rule, remedy, None, "docno", document.docno)])
            before = document.docno
            waiting.append(document)
            size += _size(document)
            if size >= BLOCK_BYTES:
                yield _block(waiting)
                waiting, size = [], 0
    if waiting:
        yield _block(waiting)


def find_documents(body: bytes, docnos: Iterable[str]) -> list[Document]:
    """Those of the docnos that a block holds, in the order asked; the others are not even parsed.

    >>> (block,) = pack_documents(Document(docno, "", f'about ["{docno}", ') for docno in "abc")
    >>> find_documents(block.body, ["c", "x", "b"])[0]
    Document(docno='c', title='', text='about ["c", ')
    """
    plain = plain_bytes(_MAGIC, body, "documents").decode()
    documents = []
    for docno in docnos:
        # Within a text the quotation mark after the bracket would be escaped: only a document begins so.
        start = plain.find(f"[{json.dumps(docno, ensure_ascii=False)}, ")
        if start >= 0:
            documents.append(Document(*_DECODER.raw_decode(plain, start)[0]))
    return documents


def unpack_documents(body: bytes) -> list[Document]:
    """All documents of a block, in docno order; raises Damaged.

    >>> (block,) = pack_documents([Document("a", "", "text")])
    >>> unpack_documents(block.body)
    [Document(docno='a', title='', text='text')]
    """
    return [Document(*fields) for fields in json.loads(plain_bytes(_MAGIC, body, "documents"))]


def _block(documents: list[Document]) -> DocumentBlock:
    fields = [(document.docno, document.title, document.text) for document in documents]
    plain = json.dumps(fields, ensure_ascii=False).encode()
    body = compressed(_MAGIC, plain, _LEVEL)
    return DocumentBlock(documents[0].docno, documents[-1].docno, len(documents), body)


def _sorted(documents: Iterable[Document], files: ExitStack) -> Iterator[Document]:
    """The documents by docno; beyond what fits in memory merged from temporary files."""
    spilled: list[IO[str]] = []
    in_memory: list[Document] = []
    size = 0
    for document in documents:
        in_memory.append(document)
        size += _size(document)
        if size >= SORTED_AT_ONCE:
            spilled.append(_spilled(in_memory, files))
            in_memory, size = [], 0
    in_memory.sort(key=_order)
    return heapq.merge(*map(_read_back, spilled), in_memory, key=_order)


def _spilled(documents: list[Document], files: ExitStack) -> IO[str]:
    file = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 (closed by the stack)
    files.callback(file.close)
    for document in sorted(documents, key=_order):
        file.write(json.dumps((document.docno, document.title, document.text)) + "\n")
    file.seek(0)
    return file


def _read_back(file: IO[str]) -> Iterator[Document]:
    return (Document(*json.loads(line)) for line in file)


def _order(document: Document) -> bytes:
    return document.docno.encode()


def _size(document: Document) -> int:
    return len(document.docno) + len(document.title) + len(document.text) + 10

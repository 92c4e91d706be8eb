"""Collections, their stored documents and known docnos."""

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import numpy as np
from sqlalchemy import (
    ColumnElement,
    FunctionElement,
    Select,
    Text,
    bindparam,
    cast,
    column,
    func,
    insert,
    select,
)
from sqlalchemy.dialects.postgresql import JSON
from sqlalchemy.orm import Session, aliased, undefer

from leaderboard.core import audit, policy
from leaderboard.core.actions import Action, File, Given
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import Bytewise, lock_key, now
from leaderboard.db.tables import Collection, DocumentBlock, Task
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.trec.documents.blocks import unpack_documents
from leaderboard.trec.documents.docno_filter import DocnoFilter
from leaderboard.trec.documents.documents import (
    DocnoFilterBuilder,
    Document,
    SpooledBlocks,
    find_documents,
    pack_documents,
    read_documents,
)
from leaderboard.trec.documents.documents import DocumentBlock as PackedBlock
from leaderboard.trec.read.kernel import SLACK

ADDED_AT_ONCE = 64
"""Number of blocks of about 25 KB added per statement."""
ASKED_AT_ONCE = 5000
"""Number of docnos looked up per statement."""


@dataclass(frozen=True, slots=True)
class PreparedDocuments:
    """A documents file, packed for storage."""

    blocks: SpooledBlocks
    known_docnos: bytes
    count: int


def prepare(path: Path) -> PreparedDocuments:
    """Pack the documents of a file, without a session. Raises Invalid with the offending lines.

    Memory is bounded: other documents are kept in temporary files.
    """
    docno_filter, count = DocnoFilterBuilder(), 0

    def noted() -> Iterator[Document]:
        nonlocal count
        for document in read_documents(path):
            count += 1
            docno_filter.add([document.docno.encode()])
            yield document

    blocks = SpooledBlocks(pack_documents(noted()))
    if not count:
        raise Invalid(f"{path.name} contains no documents.")
    return PreparedDocuments(blocks, docno_filter.build(), count)


def add(
    session: Session,
    viewer: Viewer,
    name: str,
    *,
    documents: PreparedDocuments | None = None,
    size: int | None = None,
    link_template: str = "",
) -> Collection:
    """Create a collection, optionally with documents.

    Raises Invalid for a bad name, size or template, Conflict if the name is taken. A name used only by other
    organisers' drafts is free.
    """
    policy.require_creator(viewer)
    name = name.strip()
    _check(name, size, link_template, documents)
    lock_key(session, f"collection {name}")
    if name in {row.name for row in choices(session, viewer)}:
        raise Conflict(f"A collection named {name!r} already exists; choose another name.")
    collection = Collection(
        name=name,
        size=size if size is not None else (documents.count if documents else None),
        stored=documents.count if documents else 0,
        link_template=link_template,
        known_docnos=documents.known_docnos if documents else None,
        created_at=now(session),
    )
    session.add(collection)
    session.flush()
    _add_blocks(session, collection.id, documents.blocks if documents else ())
    audit.record(session, viewer, "collection.add", f"collection:{collection.id}", name=name)
    return collection


def _add_blocks(session: Session, collection_id: int, blocks: Iterable[PackedBlock]) -> None:
    """Add blocks in batches, so that a large collection is never in memory at once."""
    rows = (
        {
            "collection_id": collection_id,
            "first_docno": block.first,
            "last_docno": block.last,
            "count": block.count,
            "body": block.body,
        }
        for block in blocks
    )
    while some := list(islice(rows, ADDED_AT_ONCE)):
        session.execute(insert(DocumentBlock), some)


def _check(name: str, size: int | None, template: str, documents: PreparedDocuments | None) -> None:
    if not name or len(name) > 100:
        raise Invalid("A collection needs a name of 1 to 100 characters.")
    if size is not None and size < (documents.count if documents else 1):
        raise Invalid(
            f"A size of {size} is less than the number of documents; enter the true number or leave it empty."
        )
    if template and ("{docno}" not in template or not template.startswith(("http://", "https://"))):
        problem = Problem(
            "must start with http:// or https:// and contain {docno}.",
            "For example https://example.org/documents/{docno}.",
            field="link template",
            value=template,
        )
        raise Invalid("The link template is not valid.", [problem])


def listing(session: Session) -> tuple[Collection, ...]:
    """All collections by name."""
    return tuple(session.scalars(select(Collection).order_by(Collection.name)))


def choices(session: Session, viewer: Viewer) -> tuple[Collection, ...]:
    """Collections available to the viewer's tasks, by name, without those of others' drafts only."""
    tasks = session.execute(select(Task.collection_id, Task.id, Task.published_at)).all()
    visible = {
        row.collection_id for row in tasks if row.published_at is not None or policy.organises(viewer, row.id)
    }
    unknown = {row.collection_id for row in tasks} - visible
    return tuple(row for row in listing(session) if row.id not in unknown)


def seen(session: Session, viewer: Viewer) -> tuple[Collection, ...]:
    """Collections listed for the viewer; without the right to create tasks, those of visible tasks."""
    rows = choices(session, viewer)
    if viewer.is_organiser or viewer.is_operator:
        return rows
    tasks = session.execute(select(Task.collection_id, Task.id, Task.published_at))
    used = {
        row.collection_id for row in tasks if row.published_at is not None or policy.organises(viewer, row.id)
    }
    return tuple(row for row in rows if row.id in used)


def named(session: Session, viewer: Viewer, name: str) -> Collection:
    """The collection of that name among the viewer's choices; raises NotFound."""
    collection = next((row for row in choices(session, viewer) if row.name == name), None)
    if collection is None:
        raise NotFound(f"No collection {name!r} exists.", collection=name, field="collection")
    return collection


def by_id(session: Session, collection_id: int) -> Collection:
    """The collection with that id."""
    return session.get_one(Collection, collection_id)


def known_docnos(session: Session, collection_id: int) -> bytes | None:
    """The bit filter of the collection's docnos, None if unknown."""
    collection = session.get_one(Collection, collection_id, options=[undefer(Collection.known_docnos)])
    return collection.known_docnos


def readable(session: Session, collection_id: int, docnos: Sequence[bytes]) -> int:
    """Number of documents that an assessor can read, by stored text or link."""
    collection = session.get_one(Collection, collection_id)
    if collection.link_template:
        return len(docnos)
    return len(docnos) - len(lacking(session, collection_id, docnos)) if collection.stored else 0


def lacking(session: Session, collection_id: int | None, docnos: Sequence[bytes]) -> list[bytes]:
    """Docnos missing from the collection; empty if its docnos are unknown."""
    filter_ = None if collection_id is None else known_docnos(session, collection_id)
    if filter_ is None or not docnos:
        return []
    length = np.array(list(map(len, docnos)), np.int32)
    body = b"".join((*docnos, bytes(SLACK)))
    unknown = DocnoFilter.unknown(filter_, body, np.cumsum(length, dtype=np.int32) - length, length)
    return [docnos[place] for place in unknown.tolist()]


def texts(session: Session, collection_id: int, docnos: Sequence[str]) -> dict[str, Document]:
    """The stored documents among docnos; only the needed parts of blocks are read."""
    chosen = sorted(set(docnos))
    by_docno = {}
    blocks_of = _BLOCKS_OF[session.get_bind().dialect.name]
    for start in range(0, len(chosen), ASKED_AT_ONCE):
        asked = chosen[start : start + ASKED_AT_ONCE]
        given = {"collection": collection_id, "docnos": json.dumps(asked)}
        end = len(asked)
        for first_docno, body in session.execute(blocks_of, given):
            # Blocks come in descending order, so a block has the remaining docnos from its first one on.
            begin = bisect_left(asked, first_docno)
            documents = find_documents(body, asked[begin:end])
            by_docno.update({document.docno: document for document in documents})
            end = begin
    return by_docno


def titles_of(session: Session, collection_ids: Iterable[int], docno: str) -> dict[int, str]:
    """Collection id -> title of the document with this id, for each of the collections that stores it.

    One statement with an index lookup for each collection.
    """
    other = aliased(DocumentBlock)
    block = (
        select(other.id)
        .where(other.collection_id == Collection.id, other.first_docno <= docno)
        .order_by(other.first_docno.desc())
        .limit(1)
        .scalar_subquery()
    )
    blocks = (
        select(Collection.id, DocumentBlock.body)
        .join(DocumentBlock, DocumentBlock.id == block)
        .where(
            Collection.id.in_(tuple(collection_ids)), Collection.stored > 0, DocumentBlock.last_docno >= docno
        )
    )
    return {
        collection_id: document.title
        for collection_id, body in session.execute(blocks)
        for document in find_documents(body, [docno])
    }


def _blocks_of(listed: Callable[[ColumnElement[Any]], FunctionElement[Any]]) -> Select[str, bytes]:
    """The statement of `texts`: one index lookup per docno, regardless of the number of blocks.

    listed: converts a JSON list to rows in the database, because a list of values would be compiled for every
    page, which takes longer than the lookup.
    """
    docnos = listed(bindparam("docnos", type_=Text)).table_valued(column("value", Bytewise), name="wanted")
    other = aliased(DocumentBlock)
    block = (
        select(other.id)
        .where(other.collection_id == bindparam("collection"))
        .where(other.first_docno <= docnos.c.value)
        .order_by(other.first_docno.desc())
        .limit(1)
        .scalar_subquery()
    )
    is_needed = DocumentBlock.id.in_(select(block).select_from(docnos))
    blocks = select(DocumentBlock.first_docno, DocumentBlock.body).where(is_needed)
    return blocks.order_by(DocumentBlock.first_docno.desc())


_BLOCKS_OF = {
    "sqlite": _blocks_of(func.json_each),
    "postgresql": _blocks_of(lambda docnos: func.json_array_elements_text(cast(docnos, JSON))),
}


def some_docnos(session: Session, collection_id: int, most: int) -> list[str]:
    """A few docnos of the stored documents, the first in byte order; empty if none is stored."""
    of = DocumentBlock.collection_id == collection_id
    body = session.scalar(select(DocumentBlock.body).where(of).order_by(DocumentBlock.first_docno).limit(1))
    return [] if body is None else [document.docno for document in unpack_documents(body)[:most]]


def link(template: str, docno: str) -> str:
    """The external URL of a document, empty if the collection has no template."""
    return template.replace("{docno}", quote(docno, safe="")) if template else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewCollection:
    """What is known of a collection besides its documents."""

    size: Annotated[
        int | None,
        Field(
            title="Size", help="Number of documents in the collection, if no file is given.", is_of_form=True
        ),
    ] = None
    link_template: Annotated[
        str, Field(title="Link", help="Address of a document, with {docno} as placeholder.", option="link")
    ] = ""


def _prepare(given: Given, _: NewCollection) -> PreparedDocuments | None:
    file = given.files.get("documents")
    return prepare(file.path) if file else None


ADD = Action(
    name="add_collection",
    summary="Add a collection with its documents",
    more="The body is the file of documents, which pages of rankings and assessors then show.",
    method="PUT",
    path="/collections/<name>",
    may=lambda _, viewer: policy.require_creator(viewer),
    record=NewCollection,
    file=File(field="documents", body="FILES", prepare=_prepare),
    act=lambda session, viewer, name, documents, new: add(
        session, viewer, name, documents=documents, size=new.size, link_template=new.link_template
    ),
    done=lambda _, row: (
        f"Collection {row.name!r}: {row.stored} documents stored, size {row.size or 'unknown'}"
    ),
    status=201,
)

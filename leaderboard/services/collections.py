"""Collections and the documents stored for reading; which docnos a collection knows."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
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
from sqlalchemy.orm import Session, undefer

from leaderboard.db.base import Bytewise
from leaderboard.db.engine import lock_key, now
from leaderboard.db.tables import Collection, DocumentBlock, Task
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.services import audit, policy
from leaderboard.services.policy import Viewer
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
"""Blocks of about 25 KB that are added with one statement."""
ASKED_AT_ONCE = 5000
"""Docnos that one statement looks for."""


@dataclass(frozen=True, slots=True)
class PreparedDocuments:
    """A documents file, packed and ready to be stored."""

    blocks: SpooledBlocks
    known_docnos: bytes
    count: int


def prepare(path: Path) -> PreparedDocuments:
    """The documents of a file, packed; needs no session. Raises Invalid with the lines at fault.

    However many there are, a part of them is in memory; the others wait in temporary files.
    """
    known, count = DocnoFilterBuilder(), 0

    def noted() -> Iterator[Document]:
        nonlocal count
        for document in read_documents(path):
            count += 1
            known.add([document.docno.encode()])
            yield document

    blocks = SpooledBlocks(pack_documents(noted()))
    if not count:
        raise Invalid(f"{path.name} holds no document.")
    return PreparedDocuments(blocks, known.build(), count)


def add(
    session: Session,
    viewer: Viewer,
    name: str,
    *,
    documents: PreparedDocuments | None = None,
    size: int | None = None,
    link_template: str = "",
) -> Collection:
    """A new collection, with its documents where they are given.

    Raises Invalid for a bad name, size or template, Conflict where the name is taken; one that only others'
    drafts have is free.
    """
    policy.require_creator(viewer)
    name = name.strip()
    _check(name, size, link_template, documents)
    lock_key(session, f"collection {name}")
    if name in {row.name for row in choices(session, viewer)}:
        raise Conflict(f"There is a collection named {name!r} already; choose another name.")
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
    """Add blocks a few at a time: a large collection's must not all be in memory."""
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
        raise Invalid(f"A size of {size} is less than the documents there are; give the true number or none.")
    if template and ("{docno}" not in template or not template.startswith(("http://", "https://"))):
        problem = Problem(
            "must start with http:// or https:// and contain {docno}.",
            "For instance https://example.org/documents/{docno}.",
            field="link template",
            value=template,
        )
        raise Invalid("The link template cannot be used.", [problem])


def listing(session: Session) -> tuple[Collection, ...]:
    """All collections by name."""
    return tuple(session.scalars(select(Collection).order_by(Collection.name)))


def choices(session: Session, viewer: Viewer) -> tuple[Collection, ...]:
    """The collections a task of the viewer's may be on, by name: all but those only others' drafts use."""
    tasks = session.execute(select(Task.collection_id, Task.id, Task.published_at)).all()
    known = {
        row.collection_id for row in tasks if row.published_at is not None or policy.organises(viewer, row.id)
    }
    unknown = {row.collection_id for row in tasks} - known
    return tuple(row for row in listing(session) if row.id not in unknown)


def seen(session: Session, viewer: Viewer) -> tuple[Collection, ...]:
    """The viewer's choices; for whoever may not make tasks, only those that tasks it can see are on."""
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
    found = next((row for row in choices(session, viewer) if row.name == name), None)
    if found is None:
        raise NotFound(f"There is no collection {name!r}.", collection=name)
    return found


def by_id(session: Session, collection_id: int) -> Collection:
    """The collection with that id."""
    return session.get_one(Collection, collection_id)


def known_docnos(session: Session, collection_id: int) -> bytes | None:
    """The bit filter of the collection's docnos, None where they are not known."""
    collection = session.get_one(Collection, collection_id, options=[undefer(Collection.known_docnos)])
    return collection.known_docnos


def readable(session: Session, collection_id: int, docnos: Sequence[bytes]) -> int:
    """How many of the documents an assessor could read: their text is stored, or a link leads to them."""
    collection = session.get_one(Collection, collection_id)
    if collection.link_template:
        return len(docnos)
    return len(docnos) - len(lacking(session, collection_id, docnos)) if collection.stored else 0


def lacking(session: Session, collection_id: int | None, docnos: Sequence[bytes]) -> list[bytes]:
    """Those docnos that the collection does not have; none where its docnos are not known."""
    filter_ = None if collection_id is None else known_docnos(session, collection_id)
    if filter_ is None or not docnos:
        return []
    length = np.array(list(map(len, docnos)), np.int32)
    body = b"".join((*docnos, bytes(SLACK)))
    unknown = DocnoFilter.unknown(filter_, body, np.cumsum(length, dtype=np.int32) - length, length)
    return [docnos[place] for place in unknown.tolist()]


def texts(session: Session, collection_id: int, docnos: Sequence[str]) -> dict[str, Document]:
    """The stored documents among docnos; of each block that holds some no more than these is read."""
    chosen = sorted(set(docnos))
    found = {}
    for start in range(0, len(chosen), ASKED_AT_ONCE):
        asked = _blocks(session, collection_id, chosen[start : start + ASKED_AT_ONCE])
        rows = session.execute(
            select(DocumentBlock.id, DocumentBlock.body).where(DocumentBlock.id.in_(asked))
        )
        documents = (document for row in rows for document in find_documents(row.body, asked[row.id]))
        found.update({document.docno: document for document in documents})
    return found


def _blocks(session: Session, collection_id: int, docnos: Sequence[str]) -> dict[int, list[str]]:
    """Id of a block -> the docnos it would hold: a look into the index for each, however many blocks."""
    if not docnos:
        return {}
    looked_up = _LOOKED_UP[session.get_bind().dialect.name]
    found: dict[int, list[str]] = {}
    for docno, block_id in session.execute(
        looked_up, {"collection": collection_id, "docnos": json.dumps(docnos)}
    ):
        if block_id is not None:
            found.setdefault(block_id, []).append(docno)
    return found


def _look_up(listed: Callable[[ColumnElement[Any]], FunctionElement[Any]]) -> Select[Any]:
    """The statement of `_blocks`; listed makes rows of a list in JSON, as a database does.

    A list of values would be compiled anew for every page, for longer than the looking up takes.
    """
    wanted = listed(bindparam("docnos", type_=Text)).table_valued(column("value", Bytewise), name="wanted")
    block = (
        select(DocumentBlock.id)
        .where(DocumentBlock.collection_id == bindparam("collection"))
        .where(DocumentBlock.first_docno <= wanted.c.value)
        .order_by(DocumentBlock.first_docno.desc())
        .limit(1)
        .scalar_subquery()
    )
    return select(wanted.c.value, block).select_from(wanted)


_LOOKED_UP = {
    "sqlite": _look_up(func.json_each),
    "postgresql": _look_up(lambda docnos: func.json_array_elements_text(cast(docnos, JSON))),
}


def link(template: str, docno: str) -> str:
    """The outside address of a document, empty where the collection has no template."""
    return template.replace("{docno}", quote(docno, safe="")) if template else ""

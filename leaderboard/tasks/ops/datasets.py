"""Datasets of ir_datasets (extra `irdatasets`) as files for a new task; ids do not change.

https://ir-datasets.com/python.html
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.core import policy
from leaderboard.core.policy import Viewer
from leaderboard.errors import Invalid, Problem
from leaderboard.scoring.ops import collections
from leaderboard.scoring.ops.collections import PreparedDocuments
from leaderboard.tasks.ops import drafts
from leaderboard.tasks.ops.drafts import PreparedTask, TaskDraft

PREFIX = "ir_datasets:"
"""Prefix that distinguishes a dataset id from a path."""
TOPICS, QRELS, DOCUMENTS = "topics.jsonl", "qrels.txt", "documents.jsonl"

Progress = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetRequest:
    """A dataset and the task to be made from it.

    collection: the name of the one that its documents are in; '' is that of the dataset that has them all.
    """

    dataset: str
    slug: str
    name: str
    collection: str = ""
    has_documents: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class DatasetTask:
    """A dataset that was read, ready to be stored; documents: None if not wanted or not available."""

    task: PreparedTask
    collection: str
    documents: PreparedDocuments | None
    size: int | None


def prepare(request: DatasetRequest, folder: Path, progress: Progress = lambda _: None) -> DatasetTask:
    """Read a dataset by way of files in a folder; needs no session, and the network where it is not here yet.

    Raises Invalid where the library or the dataset is missing, and for ids that a task cannot have.
    """
    library = _library()
    dataset = _dataset(library, request.dataset)
    progress(TOPICS)
    _write(folder / TOPICS, map(_topic, dataset.queries_iter()))
    progress(QRELS)
    qrels = _judgments(dataset, folder)
    has_parts = qrels is not None and "subtopic_id" in dataset.qrels_cls()._fields
    documents = None
    if request.has_documents and dataset.has_docs():
        progress(DOCUMENTS)
        _write(folder / DOCUMENTS, map(_document, dataset.docs_iter()))
        documents = collections.prepare(folder / DOCUMENTS)
    task = drafts.prepare(
        TaskDraft(
            slug=request.slug,
            name=request.name,
            topics=folder / TOPICS,
            qrels=qrels,
            qrels_name=f"{request.dataset.replace('/', '-')}.qrels.txt" if qrels else "",
            second="subtopics" if has_parts else "rounds",
        )
    )
    name = request.collection or (
        library.docs_parent_id(request.dataset) if dataset.has_docs() else request.slug
    )
    size = dataset.docs_count() if documents is None and dataset.has_docs() else None
    return DatasetTask(task, name, documents, size)


def make(session: Session, viewer: Viewer, prepared: DatasetTask) -> str:
    """Store and publish the task, on the site's collection of that name or a new one; return the collection's
    name.

    Raises Conflict where the slug is taken.
    """
    policy.require_creator(viewer)
    names = {row.name for row in collections.choices(session, viewer)}
    if prepared.collection not in names:
        collections.add(
            session, viewer, prepared.collection, documents=prepared.documents, size=prepared.size
        )
    draft = prepared.task.draft
    placed = replace(draft, collection=prepared.collection)
    drafts.create(session, viewer, replace(prepared.task, draft=placed))
    drafts.publish(session, viewer, draft.slug)
    return prepared.collection


def _library() -> Any:
    try:
        import ir_datasets
    except ImportError as error:
        raise Invalid("ir_datasets is not installed: pip install 'ir-leaderboard[irdatasets]'.") from error
    return ir_datasets


def _dataset(library: Any, name: str) -> Any:
    try:
        dataset = library.load(name)
    except KeyError:
        problem = Problem(
            "is not an ir_datasets dataset.", "List the datasets with `ir_datasets list`.", value=name[:100]
        )
        raise Invalid(f"There is no dataset {name!r} in ir_datasets.", [problem]) from None
    if not dataset.has_queries():
        raise Invalid(f"{name} has no queries, so a task cannot be created from it. Name one of its subsets.")
    return dataset


def _write(path: Path, records: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)


def _judgments(dataset: Any, folder: Path) -> Path | None:
    """The file of the judgments; None if absent."""
    if not dataset.has_qrels():
        return None
    with (folder / QRELS).open("w", encoding="utf-8") as file:
        file.writelines(_judgment(row) for row in dataset.qrels_iter())
    return folder / QRELS


def _topic(query: Any) -> dict[str, Any]:
    """A query as a topic: its title, or the text usually used as the query."""
    parts = [{"number": part.number, "text": part.text, "type": part.type} for part in _parts(query)]
    return {
        "id": query.query_id,
        "title": getattr(query, "title", "") or query.default_text(),
        "description": getattr(query, "description", ""),
        "narrative": getattr(query, "narrative", ""),
        **({"subtopics": parts} if parts else {}),
    }


def _parts(query: Any) -> Iterator[Any]:
    """Subtopics as TREC's web tracks have them."""
    return (part for part in getattr(query, "subtopics", ()) if hasattr(part, "number"))


def _judgment(row: Any) -> str:
    second = getattr(row, "subtopic_id", None) or getattr(row, "iteration", None) or 0
    return f"{row.query_id} {second} {row.doc_id} {row.relevance}\n"


def _document(document: Any) -> dict[str, Any]:
    """A document with its title apart, where its text is too."""
    title, text = getattr(document, "title", ""), getattr(document, "text", None)
    is_apart = bool(title) and isinstance(text, str)
    return {
        "_id": document.doc_id,
        "title": title if is_apart else "",
        "text": text if is_apart else document.default_text(),
    }

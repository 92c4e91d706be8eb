"""The files of a bundle, each as pieces: records, topics, judgments, runs, pools and pictures."""

import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.bundles.ops import checking, release
from leaderboard.bundles.ops import judgments as of_answers
from leaderboard.bundles.ops.describing import BundleWriter
from leaderboard.bundles.ops.records import TABLES, Numbers, Record, RecordTable, records
from leaderboard.bundles.ops.release import PUBLIC_TABLES, PseudonymMap, PublicView, rankings_only
from leaderboard.core import kinds
from leaderboard.core.policy import ANONYMOUS, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import (
    Collection,
    Edition,
    Evaluation,
    Judgment,
    Pool,
    PoolTopic,
    Qrels,
    QrelsRevision,
    Run,
    Task,
    Topic,
    Upload,
)
from leaderboard.judging.ops.pools import previews as pool_documents
from leaderboard.runs.ops.fixing import StoredFile
from leaderboard.runs.ops.prepare import CHUNK_BYTES, suggested_name
from leaderboard.scoring.ops.qrels import left_out
from leaderboard.scoring.ops.rankings import whole_blocks
from leaderboard.trec.boards.texts import text_of
from leaderboard.trec.qrels.packed import left_out_lines, unpack_distractors
from leaderboard.trec.qrels.revision_inputs import unpack_preferences
from leaderboard.trec.read.archives import Limits
from leaderboard.trec.read.plain import plain_blocks

PACKED_ENDINGS = (".gz", ".bz2", ".xz", ".zst")
LINES_AT_ONCE = 5_000
ANY_SIZE = Limits(plain_bytes=2**50, ratio=2**30, memory=2**30)
"""A stored run kept the limits when it came."""
NO_TITLE = "untitled"

Pieces = Iterator[bytes]


@dataclass(slots=True, eq=False)
class BundleSource:
    """A task on its way into a bundle: numbers fills as records are written; by None keeps all names.

    view: what visitors know of it, where that is all the bundle has. viewer: gets the rest.
    """

    database: Database
    session: Session
    task: Task
    by: PseudonymMap | None = None
    view: PublicView | None = None
    viewer: Viewer = ANONYMOUS
    numbers: Numbers = field(default_factory=dict)
    paths: dict[tuple[str, int], str] = field(default_factory=dict)
    """Table and id -> the file that belongs to the row."""


def write(source: BundleSource, target: BundleWriter) -> None:
    """Write all that is the task's own; scores and what describes the bundle come after it."""
    target.add("topics.tsv", _topics(source))
    for table in _tables(source):
        rows = (record for _, record in _records(source, table))
        if (first := next(rows, None)) is not None:
            target.add(table.path, _lines(chain((first,), rows)))
        after = _AFTER.get(table.name)
        if after is not None:
            after(source, target)


def _tables(source: BundleSource) -> Iterator[RecordTable]:
    left_out = release.TABLES_LEFT_OUT if source.by is not None else frozenset[str]()
    tables = TABLES if source.view is None else PUBLIC_TABLES
    return (table for table in tables if table.name not in left_out)


def _records(source: BundleSource, table: RecordTable) -> Iterator[tuple[int, Record]]:
    more = _MORE.get(table.name)
    for row_id, record in records(source.session, source.task.id, table, source.numbers):
        whole = {**record, **more(source, row_id, record)} if more is not None else record
        if source.by is not None:
            whole = release.hidden(table, whole, row_id, source.by)
        if source.view is not None:
            whole = source.view.shown(table, whole, row_id)
        is_anew = source.by is not None or (source.view is not None and row_id in source.view.masked_uploads)
        if table.name == "uploads" and is_anew:
            whole["file_name"] = kinds.of(source.task.kind).hidden_name
        yield row_id, whole


def _lines(rows: Iterator[Record]) -> Pieces:
    for row in rows:
        yield json.dumps(row, ensure_ascii=False).encode() + b"\n"


def _topics(source: BundleSource) -> Pieces:
    query = select(Topic.topic_id, Topic.title).where(Topic.task_id == source.task.id)
    for topic_id, title in source.session.execute(query.order_by(Topic.position)):
        yield f"{topic_id}\t{' '.join(title.split()) or NO_TITLE}\n".encode()


def _of_task(source: BundleSource, *_: object) -> Record:
    collection = source.session.get_one(Collection, source.task.collection_id)
    return {
        "collection": {
            "name": collection.name,
            "size": collection.size,
            "link_template": collection.link_template,
        }
    }


def _of_revision(source: BundleSource, revision_id: int, record: Record) -> Record:
    row = source.session.execute(
        select(
            Qrels.name,
            Qrels.kind,
            QrelsRevision.distractors.is_not(None).label("has_distractors"),
            QrelsRevision.left_out.is_not(None).label("leaves_out"),
        )
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .where(QrelsRevision.id == revision_id)
    ).one()
    name = suggested_name(row.name) if source.by is None else "line"
    start = f"qrels/{record['qrels_id']}-{name}-{record['number']}"
    endings = {"preference": ".preferences.jsonl", "answers": ".answers.json", "board": ".board.json"}
    path = start + endings.get(row.kind, ".qrels.txt")
    source.paths["revision", revision_id] = path
    source.paths["distractors", revision_id] = others = f"{start}.distractors.txt" * row.has_distractors
    source.paths["left out", revision_id] = gone = f"{start}.left-out.txt" * row.leaves_out
    named = {"file": path, "distractors": others or None, **({"left_out": gone} if gone else {})}
    if source.by is None or row.kind not in ("answers", "board"):
        return named
    # Names that are removed from it are part of its hashed contents.
    if row.kind == "board":
        return {**named, "sha256": _reference(source, revision_id).sha256}
    return {**named, "sha256": of_answers.digest(source.session, revision_id, source.by.hides)}


def _reference(source: BundleSource, revision_id: int) -> Any:
    from leaderboard.judges.ops import store as of_judges

    viewer = ANONYMOUS if source.view is not None else source.viewer
    names = source.by.references if source.by is not None else None
    return of_judges.reference(source.session, viewer, revision_id, names)


def _of_run(source: BundleSource, run_id: int, record: Record) -> Record:
    row = source.session.execute(
        select(Run.name, Upload.file_name, Upload.report)
        .join(Upload, Upload.id == Run.upload_id)
        .where(Run.id == run_id)
    ).one()
    ending = next((each for each in PACKED_ENDINGS if row.file_name.lower().endswith(each)), "")
    instead = pseudonym(source, run_id)
    name, ending = (row.name, ending) if instead is None else (instead, ".gz")
    kind = ".txt"
    if source.task.kind == "answers":
        kind = of_answers.run_ending(_facts(row.report)) if instead is None else ".jsonl"
    start = f"{record['id']:04}-{suggested_name(name)}"
    if source.task.kind == "judges":
        from leaderboard.judges.ops import store as of_judges

        own = of_judges.run_ending(row.file_name.lower().removesuffix(ending))
        kind, ending = (own, ending) if instead is None else (".json", "")
    source.paths["run", run_id] = path = f"runs/{start}{kind}{ending}"
    if source.task.kind == "judges":
        return {"file": path, **_judge(source, run_id).record()}
    # A digest of what it retrieved would reveal whose it is, through other tasks that have the same.
    return {"file": path} if instead is None else {"file": path, "ranking_sha256": ""}


def _judge(source: BundleSource, run_id: int) -> Any:
    """A judge on its way into the bundle; its files are called as that of its run."""
    from leaderboard.judges.ops import store as of_judges

    instead, numbers = pseudonym(source, run_id), source.numbers["qrels_revision"]
    return of_judges.ExportedJudge(
        session=source.session,
        run_id=run_id,
        name=Path(source.paths["run", run_id]).name.split(".")[0],
        revisions=numbers,
        tag=None if instead is None else instead.replace(" ", "-"),
        names=source.by.references if source.by is not None else {},
    )


def _of_upload(source: BundleSource, upload_id: int, _: Record) -> Record:
    """For answers: the public part of the rules for reading the file."""
    if source.task.kind != "answers" or source.view is None or upload_id in source.view.masked_uploads:
        return {}
    report = source.session.scalars(select(Upload.report).where(Upload.id == upload_id)).one()
    return {"report": of_answers.public_report(_facts(report))}


def _facts(report: dict[str, Any] | None) -> dict[str, Any]:
    facts: dict[str, Any] = (report or {}).get("facts") or {}
    return facts


def pseudonym(source: BundleSource, run_id: int) -> str | None:
    """Pseudonym of a run whose own name is not in the bundle."""
    if source.by is not None:
        return source.by.runs[run_id]
    return source.view.runs.get(run_id) if source.view is not None else None


def _of_edition(source: BundleSource, edition_id: int, _: Record) -> Record:
    edition = source.session.get_one(Edition, edition_id)
    scored = source.session.scalars(
        select(Evaluation.run_id)
        .where(Evaluation.revision_id == edition.revision_id, Evaluation.dialect == edition.dialect)
        .distinct()
    )
    numbers = source.numbers["run"]
    return {"scored": sorted(numbers[run_id] for run_id in scored if run_id in numbers)}


def _of_pool(source: BundleSource, pool_id: int, record: Record) -> Record:
    path = f"pools/{record['number']}.jsonl"
    source.paths["pool", pool_id] = path
    return {"file": path}


def _of_assessor(_: BundleSource, __: int, record: Record) -> Record:
    is_person = record["origin"] == "human"
    return {"name": f"Assessor {record['id']}"} if is_person else {}


def _of_picture(source: BundleSource, picture_id: int, record: Record) -> Record:
    source.paths["picture", picture_id] = path = checking.picture_path(record)
    return {"file": path}


def _of_snapshot(source: BundleSource, snapshot_id: int, record: Record) -> Record:
    source.paths["snapshot", snapshot_id] = path = f"snapshots/{record['id']:04}.json"
    return {"file": path}


_MORE: dict[str, Callable[[BundleSource, int, Record], Record]] = {
    "task": _of_task,
    "revisions": _of_revision,
    "uploads": _of_upload,
    "runs": _of_run,
    "editions": _of_edition,
    "pools": _of_pool,
    "assessors": _of_assessor,
    "pictures": _of_picture,
    "snapshots": _of_snapshot,
}
"""Fields of a record that are not columns."""


def _write_judgments(source: BundleSource, target: BundleWriter) -> None:
    for revision_id in source.numbers.get("qrels_revision", {}):
        path = source.paths["revision", revision_id]
        if path.endswith(".answers.json"):
            hides: Callable[[str], str] | None
            hides = str if source.view is not None else source.by.hides if source.by is not None else None
            target.add(path, [of_answers.judgments(source.session, revision_id, hides)])
            continue
        if path.endswith(".board.json"):
            target.add(path, [text_of(_reference(source, revision_id))])
            continue
        is_preference = path.endswith(".jsonl")
        pieces_of = _preferences if is_preference else _judgments
        target.add(path, pieces_of(source.session, revision_id))
        if others := source.paths["distractors", revision_id]:
            packed = source.session.scalar(
                select(QrelsRevision.distractors).where(QrelsRevision.id == revision_id)
            )
            target.add(others, (docno + b"\n" for docno in unpack_distractors(packed)))
        if gone := source.paths["left out", revision_id]:
            target.add(gone, left_out_lines(left_out.by_id(source.session, revision_id)))


def _judgments(session: Session, revision_id: int) -> Pieces:
    """TREC's four columns; the second one is the subtopic, 0 if absent."""
    rows = session.execute(
        select(Judgment.topic_id, Judgment.subtopic, Judgment.docno, Judgment.grade)
        .where(Judgment.revision_id == revision_id)
        .order_by(Judgment.topic_id, Judgment.subtopic, Judgment.docno)
        .execution_options(yield_per=LINES_AT_ONCE)
    )
    for some in rows.partitions():
        yield "".join(f"{row[0]} {row[1] or 0} {row[2]} {row[3]}\n" for row in some).encode()


def _preferences(session: Session, revision_id: int) -> Pieces:
    packed = session.scalars(select(QrelsRevision.packed).where(QrelsRevision.id == revision_id)).one()
    for topic, judges in unpack_preferences(packed).pairs.items():
        for number, pairs in enumerate(judges.values(), start=1):
            rows = [
                {"topic": topic, "judge": number, "better": pair[0].decode(), "worse": pair[1].decode(),
                 "weight": weight}
                for pair, weight in pairs.items()
            ] or [{"topic": topic, "judge": number}]  # fmt: skip
            yield from _lines(iter(rows))


def _write_runs(source: BundleSource, target: BundleWriter) -> None:
    """Write the run files; raises Damaged, naming the upload, where one is not what was sent."""
    rows = source.session.execute(
        select(Run.id, Run.ranking_sha256, Upload.id, Upload.sha256)
        .join(Upload, Upload.id == Run.upload_id)
        .where(Run.task_id == source.task.id)
        .order_by(Run.id)
    ).all()
    for run_id, ranking_sha256, upload_id, sha256 in rows:
        if run_id not in source.numbers["run"]:
            continue
        path, instead = source.paths["run", run_id], pseudonym(source, run_id)
        if source.task.kind == "judges":
            judge = _judge(source, run_id)
            for name, body in judge.files():
                target.add(name, [body])
            if instead is not None:
                target.add(path, [judge.anew()])
                continue
        if source.task.kind == "answers" and instead is not None:
            target.add(path, _gzipped(of_answers.anew(source.session, run_id, instead.replace(" ", "-"))))
            continue
        if source.view is not None and instead is not None:
            target.add(path, rankings_only(whole_blocks(source.database, run_id, ranking_sha256), instead))
            continue
        sent = StoredFile(source.database, upload_id)
        sent.require_whole(sha256)
        if instead is None:
            target.add(path, _as_sent(sent))
        else:
            tag = instead.replace(" ", "-")
            target.add(path, _gzipped(release.renamed_lines(plain_blocks(sent, ANY_SIZE), tag)))


def _as_sent(sent: StoredFile) -> Pieces:
    with sent.open() as file:
        while piece := file.read(CHUNK_BYTES):
            yield piece


def _gzipped(pieces: Pieces) -> Pieces:
    """The bytes as a gzip file without time or name."""
    packer = zlib.compressobj(wbits=31)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()


def _write_pools(source: BundleSource, target: BundleWriter) -> None:
    for pool_id in source.session.scalars(
        select(Pool.id).where(Pool.task_id == source.task.id).order_by(Pool.id)
    ).all():
        target.add(source.paths["pool", pool_id], _pool(source.session, pool_id))


def _pool(session: Session, pool_id: int) -> Pieces:
    rows = session.execute(
        select(PoolTopic.topic_id, PoolTopic.documents, PoolTopic.body)
        .where(PoolTopic.pool_id == pool_id)
        .order_by(PoolTopic.topic_id)
        .execution_options(yield_per=16)
    )
    for topic, to_judge, body in rows:
        drawn = ({"topic": topic, **each._asdict()} for each in pool_documents.unpack(body))
        yield from _lines(iter([{"topic": topic, "to_judge": to_judge}]))
        yield b"".join(_lines(drawn))


def _write_shown(source: BundleSource, target: BundleWriter) -> None:
    """Write the files of pictures and snapshots that were not written yet."""
    for (kind, row_id), path in source.paths.items():
        if kind == "picture" and path not in target.sums:
            target.add(path, checking.picture(source.session, row_id))
        if kind == "snapshot" and path not in target.sums:
            target.add(path, checking.snapshot(source.session, row_id, source.numbers))


_AFTER: dict[str, Callable[[BundleSource, BundleWriter], None]] = {
    "revisions": _write_judgments,
    "runs": _write_runs,
    "pools": _write_pools,
    "pictures": _write_shown,
    "snapshots": _write_shown,
}
"""Files written after a table, by the paths in its records."""

"""Pictures and snapshots of a task in a bundle: written as files, and read back with care.

A picture that comes in is decoded in a process of its own, as one that is sent is. Rows of a snapshot name
runs by ids, which are numbers of the bundle here: on another site a snapshot has another digest, and address.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.checksums import belonging_to
from leaderboard.db.tables import Snapshot, TaskPicture
from leaderboard.services import snapshots
from leaderboard.services.bundles.checking import broken
from leaderboard.services.bundles.importing import TaskImport, values_of
from leaderboard.services.bundles.records import Numbers, Record, RecordTable
from leaderboard.services.pictures import pictures, prepare
from leaderboard.services.pictures.kinds import KINDS

ENDINGS = {"PNG": "png", "JPEG": "jpg"}
MAGIC = {"PNG": b"\x89PNG", "JPEG": b"\xff\xd8\xff"}
"""How a file of a format begins."""
LARGEST_BYTES = 2**26
"""Of a snapshot: a board of 10,000 runs and 20 measures has about ten million."""


def picture_path(record: Record) -> str:
    """The file of a picture."""
    return f"pictures/{record['kind']}.{ENDINGS[KINDS[record['kind']].format]}"


def picture(session: Session, picture_id: int) -> Iterator[bytes]:
    """A picture's bytes; raises Damaged, naming the task."""
    wanted = select(TaskPicture.task_id, TaskPicture.sha256, TaskPicture.body)
    row = session.execute(wanted.where(TaskPicture.id == picture_id)).one()
    with belonging_to(f"task {row.task_id}"):
        yield pictures.whole_body(row.sha256, row.body)


def snapshot(session: Session, snapshot_id: int, numbers: Numbers) -> Iterator[bytes]:
    """What a snapshot shows, with the numbers of runs in the bundle; raises Damaged."""
    row = session.execute(select(Snapshot.sha256, Snapshot.body).where(Snapshot.id == snapshot_id)).one()
    facts = json.loads(snapshots.whole_body(row.sha256, row.body))
    yield snapshots.canonical(_renumbered(facts, numbers["run"]))


def add_pictures(making: TaskImport, table: RecordTable) -> None:
    """Store the pictures: of the operator's bundle the bytes themselves, else encoded anew.

    Raises Invalid where one is no picture of its kind.
    """
    for line, record in making.read(table):
        values = values_of(making, table, line, record)
        path, kind = making.files.file(record.get("file")), KINDS[values["kind"]]
        made = prepare.prepare(path, kind)
        body = path.read_bytes()
        if hashlib.sha256(body).hexdigest() != values["sha256"] or not body.startswith(MAGIC[kind.format]):
            raise broken(table.path, line, "is not the digest of the picture in its file.", "sha256")
        if (made.width, made.height) != (values["width"], values["height"]):
            raise broken(table.path, line, "The picture has another size than its record.", "width")
        if not making.is_trusted:
            body = made.body
        digest = hashlib.sha256(body).hexdigest()
        making.session.add(TaskPicture(**{**values, "body": body, "sha256": digest}))


def add_snapshots(making: TaskImport, table: RecordTable) -> None:
    """Store the snapshots under the addresses that they have here; raises Invalid with the line at fault."""
    for line, record in making.read(table):
        values = values_of(making, table, line, record)
        path = making.files.file(record.get("file"))
        if path.stat().st_size > LARGEST_BYTES:
            raise broken(table.path, line, f"A snapshot has at most {LARGEST_BYTES:,} bytes.")
        try:
            facts = _renumbered(json.loads(path.read_bytes()), making.ids["run"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise broken(table.path, line, "Its file is not a board that was frozen.") from None
        snapshots.restore(making.session, making.owner, {**facts, "task": making.owner.slug}, values)


def _renumbered(facts: dict[str, Any], runs: dict[int, int]) -> dict[str, Any]:
    return {**facts, "rows": [{**row, "run_id": runs[row["run_id"]]} for row in facts["rows"]]}

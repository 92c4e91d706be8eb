"""Tasks of answers with runs, and revisions of their nuggets and labels."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from sqlalchemy import select

from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Phase, Run, Task, Upload
from leaderboard.services.answers import store
from leaderboard.services.evaluations import editions
from leaderboard.services.nuggets import uploads
from leaderboard.services.nuggets.reading import PartFile
from leaderboard.services.policy import OPERATOR
from leaderboard.services.revisions import publish
from leaderboard.services.revisions.publish import NewRevision, Revision
from leaderboard.services.tasks import board_measures, drafts
from leaderboard.trec.answers.files import read_answers
from leaderboard.trec.nuggets.packing import MadeBy, Part
from tests.make import answers, build
from tests.make.build import built_once

WORKED = {
    "1": {
        "v1": ("vital", "support"),
        "v2": ("vital", "support"),
        "v3": ("vital", "partial_support"),
        "v4": ("vital", "not_support"),
        "o1": ("okay", "support"),
        "o2": ("okay", "partial_support"),
        "o3": ("okay", "not_support"),
    },
    "2": {"o1": ("okay", "support"), "o2": ("okay", "not_support")},
}
"""Topic -> nugget -> importance and label: the worked example of the measures of nuggets."""


@built_once
def task(database: Database, folder: Path, slug: str = "t", topics: Iterable[str] = ("1", "2")) -> str:
    """A published task of answers without judgments; its slug."""
    build.task(database, folder, slug, judgments=None, topics=topics)
    with database.write() as session:
        made = session.scalars(select(Task).where(Task.slug == slug)).one()
        made.kind = "answers"
        assert board_measures.put(session, made, drafts.OF_ANSWERS, "")
    return slug


@built_once
def run(
    database: Database,
    folder: Path,
    name: str = "one",
    lines: Iterable[answers.Line] = (),
    *,
    slug: str = "t",
    team_name: str = "Team",
    llm: str = "",
) -> int:
    """The id of a run with these answers, stored as an upload stores it once it is checked."""
    team_id = build.team(database, team_name)
    path = answers.jsonl(folder / f"{name}.jsonl", lines)
    _, given = read_answers(path)
    with database.write() as session:
        task_id = session.scalars(select(Task.id).where(Task.slug == slug)).one()
        phase_id = session.scalars(select(Phase.id).where(Phase.task_id == task_id)).first()
        at = now(session)
        upload = Upload(
            task_id=task_id,
            team_id=team_id,
            file_name=path.name,
            sha256="",
            bytes=path.stat().st_size,
            state="accepted",
            wishes={},
            phase_id=phase_id,
            report=None,
            created_at=at,
        )
        session.add(upload)
        session.flush()
        made = Run(
            upload_id=upload.id,
            task_id=task_id,
            phase_id=phase_id,
            team_id=team_id,
            name=name,
            tag=name,
            details={"form": {"llm": llm}} if llm else {},
            topics=len(given),
            entries=sum(len(one.segments) for one in given.values()),
            deepest=0,
            ranking_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
            sketch=b"",
            created_at=at,
        )
        session.add(made)
        session.flush()
        store.add(session, made.id, given.values())
        editions.queue_run(session, made)
        return made.id


def files(folder: Path, **parts: Iterable[object]) -> dict[Part, PartFile]:
    """The lines of each part in a file."""
    return {
        part: PartFile(answers.jsonl(folder / f"{part}.jsonl", lines), f"{part}.jsonl")  # type: ignore[misc]
        for part, lines in parts.items()
    }


@built_once
def revise(
    database: Database,
    given: Mapping[Part, PartFile],
    made_by: Mapping[Part, MadeBy] | None = None,
    *,
    slug: str = "t",
    leaves_out: bool | None = None,
) -> Revision:
    """A new revision of the task's judgments of answers."""
    with database.read() as session:
        prepared = uploads.prepare(session, OPERATOR, slug, given, made_by or {}, leaves_out=leaves_out)
    with database.write() as session:
        return publish.revise(session, OPERATOR, slug, NewRevision(prepared=prepared, note="a note"))


def worked_lines(run: str = "one") -> list[answers.Line]:
    """Answers to the topics of the worked example."""
    return [answers.answer(topic, (f"Said by {run}.", ["d1"]), run=run) for topic in WORKED]


def worked_labels(run: str = "one", topics: Iterable[str] = WORKED) -> list[answers.Line]:
    """Assignments of the worked example."""
    return [answers.assigned(topic, WORKED[topic], run=run) for topic in topics]

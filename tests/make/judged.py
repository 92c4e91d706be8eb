"""A pool that two people judged, with known numbers for their agreement."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import func, select, update

from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Assessment, Assessor, Pool, Task
from leaderboard.judging.ops.pools.previews import PoolDocument
from tests.make import build, pools
from tests.make.copies import built_once

ANNE = (2, 1, 0, 0, 2, 1, 0, 1, 0, 0)
BERT = (2, 0, 0, 0, 1, 1, 0, 2, 0, 1)
"""Grades of the same ten documents: kappa .354839, linear .512195, quadratic .672131, overlap 2/3."""
DOCNOS = tuple(f"d{number}" for number in range(10))
DISAGREED = ("d1", "d4", "d7", "d9")


def assessor(
    database: Database, name: str, slug: str = "t", *, machine: str = "", role: str = "assessor"
) -> int:
    """The id of an assessor, a machine where one is named."""
    with database.write() as session:
        made = Assessor(
            task_id=session.scalars(select(Task.id).where(Task.slug == slug)).one(),
            name=name,
            origin="machine" if machine else "human",
            origin_name=machine,
            role=role,
            created_at=now(session),
        )
        session.add(made)
        session.flush()
        return made.id


def judge(
    database: Database,
    assessor_id: int,
    topic_id: str,
    grades: Mapping[str, int | None],
    *,
    at: datetime | None = None,
    **facts: Any,
) -> None:
    """Events of an assessor in the newest pool of the task, in the order given, a second apart."""
    with database.write() as session:
        task_id = session.scalars(select(Assessor.task_id).where(Assessor.id == assessor_id)).one()
        pool_id = session.scalars(select(func.max(Pool.id)).where(Pool.task_id == task_id)).one()
        wanted = select(func.count()).where(Assessment.assessor_id == assessor_id)
        events, moment = session.scalar(wanted) or 0, at or now(session)
        session.add_all(
            Assessment(
                pool_id=pool_id,
                topic_id=topic_id,
                docno=docno,
                assessor_id=assessor_id,
                grade=grade,
                saved_at=moment + timedelta(seconds=events + place),
                sent_at=moment,
                key=f"{events + place}",
                **facts,
            )
            for place, (docno, grade) in enumerate(grades.items())
        )


@built_once
def judged_by_two(database: Database, folder: Path, **options: Any) -> tuple[int, int]:
    """A task with a pool of ten documents of topic 1, and x of topic 2; Anne and Bert judged the ten."""
    build.task(database, folder, **options)
    names = {"0": "not relevant", "1": "partly", "2": "relevant"}
    with database.write() as session:
        session.execute(update(Task).where(Task.slug == "t").values(grade_names=names))
    documents = {"1": [PoolDocument(docno) for docno in DOCNOS], "2": [PoolDocument("x")]}
    pools.pool(database, documents)
    anne, bert = assessor(database, "Anne"), assessor(database, "Bert")
    judge(database, anne, "1", dict(zip(DOCNOS, ANNE, strict=True)), seconds=20.0)
    judge(database, bert, "1", dict(zip(DOCNOS, BERT, strict=True)), seconds=10.0)
    return anne, bert

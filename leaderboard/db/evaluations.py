"""Scores: what a run got under a qrels revision, the editions a board shows, comparisons that took long."""

from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import CheckConstraint, Connection, ForeignKey, Index, UniqueConstraint, event, text
from sqlalchemy.orm import Mapped, Mapper, QueryContext, mapped_column

from leaderboard.checksums import damaged
from leaderboard.db.engine import Base, FloatArray, of_row


class Snapshot(Base):
    """A board as the public saw it; never changed."""

    __tablename__ = "snapshot"

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"), index=True)
    edition_id: Mapped[int] = mapped_column(ForeignKey("edition.id", ondelete="CASCADE"))
    sha256: Mapped[str] = mapped_column(unique=True)
    """Digest of the body before it was compressed, and its address."""
    body: Mapped[bytes] = mapped_column(deferred=True)
    """Content of the leaderboard, as compressed JSON with a checksum."""
    created_at: Mapped[datetime]
    created_by: Mapped[int | None] = mapped_column(ForeignKey("account.id"))


class Summed:
    """A row with a checksum over its plain values, so that a damaged number is detected."""

    checksum: Mapped[int | None]
    """Of `summed`; written whenever the row is."""

    @property
    def summed(self) -> tuple[object, ...]:
        """The values covered by the checksum."""
        raise NotImplementedError

    @property
    def is_whole(self) -> bool:
        """Whether the values are those that were stored."""
        return self.checksum == of_row(self.summed)


@event.listens_for(Summed, "before_insert", propagate=True)
@event.listens_for(Summed, "before_update", propagate=True)
def _sum(_: Mapper[Any], __: Connection, row: Summed) -> None:
    row.checksum = of_row(row.summed)


class Evaluation(Summed, Base):
    """One run under one revision by one measure; unique and immutable."""

    __tablename__ = "evaluation"
    __table_args__ = (UniqueConstraint("revision_id", "run_id", "measure", "measure_version", "dialect"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), index=True)
    revision_id: Mapped[int] = mapped_column(ForeignKey("qrels_revision.id", ondelete="CASCADE"))
    measure: Mapped[str]
    """Canonical key, such as nDCG@10."""
    measure_version: Mapped[int]
    dialect: Mapped[int]
    evaluator: Mapped[str]
    """Version of this program that computed it."""
    scores: Mapped[npt.NDArray[np.float64]] = mapped_column(FloatArray, deferred=True)
    """Per-topic scores in the revision's topic order."""
    parts: Mapped[npt.NDArray[np.float64] | None] = mapped_column(FloatArray, deferred=True)
    """Vectors that the aggregate is made from where scores do not suffice: k vectors of all topics, one after
    the other."""
    created_at: Mapped[datetime]

    @property
    def summed(self) -> tuple[object, ...]:
        """Key of the evaluation and its measure."""
        return self.run_id, self.revision_id, self.measure, self.measure_version, self.dialect


class EvaluationMean(Summed, Base):
    """An evaluation's aggregate over a topic set: mean, or sum where the measure sums."""

    __tablename__ = "evaluation_mean"

    evaluation_id: Mapped[int] = mapped_column(
        ForeignKey("evaluation.id", ondelete="CASCADE"), primary_key=True
    )
    topic_set_id: Mapped[int] = mapped_column(
        ForeignKey("topic_set.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    mean: Mapped[float]
    topics: Mapped[int]

    @property
    def summed(self) -> tuple[object, ...]:
        """All values."""
        return self.evaluation_id, self.topic_set_id, float(self.mean), self.topics


class Alignment(Base):
    """One run's judged hits under one revision: all that its scores, curves and bounds are made from."""

    __tablename__ = "alignment"

    run_id: Mapped[int] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), primary_key=True)
    revision_id: Mapped[int] = mapped_column(
        ForeignKey("qrels_revision.id", ondelete="CASCADE"), primary_key=True
    )
    dialect: Mapped[int] = mapped_column(primary_key=True)
    body: Mapped[bytes]
    """As trec.packed_hits writes them; of a judge's labels the board that they make, as trec.boards does."""


class Edition(Summed, Base):
    """Content of a board, all of it under one revision and one list of measures.

    Reading one raises Damaged where its checksum does not match, on every road; `whole_editions` of the
    services leaves damaged ones out of lists, so that one of them does not hide all tasks.
    """

    __tablename__ = "edition"
    __table_args__ = (
        UniqueConstraint("task_id", "number"),
        CheckConstraint("state IN ('building', 'current', 'past', 'failed')", name="state"),
        Index(
            "uq_edition_one_current",
            "task_id",
            unique=True,
            sqlite_where=text("state = 'current'"),
            postgresql_where=text("state = 'current'"),
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    number: Mapped[int]
    revision_id: Mapped[int] = mapped_column(ForeignKey("qrels_revision.id"))
    companions: Mapped[dict[str, Any] | None]
    """Kind of qrels (subtopic, preference) -> id of the revision that measures of that kind rest on."""
    dialect: Mapped[int]
    measures: Mapped[list[dict[str, Any]]]
    """[{"key": ..., "version": ...}] in board order."""
    primary_measure: Mapped[str]
    topic_sets: Mapped[dict[str, Any]]
    """Name -> {"id": ..., "topics": [...]}: the sets as they were when this edition was built."""
    state: Mapped[str]
    created_at: Mapped[datetime]
    shown_from: Mapped[datetime | None]
    shown_to: Mapped[datetime | None]

    @property
    def summed(self) -> tuple[object, ...]:
        """Its unchanging parts: all but its state and the time since when it is shown."""
        return (
            self.task_id,
            self.number,
            self.revision_id,
            self.companions,
            self.dialect,
            self.measures,
            self.primary_measure,
            self.topic_sets,
        )

    def require_whole(self) -> None:
        """Raise Damaged where it is not as it was stored."""
        if not self.is_whole:
            raise damaged(f"measures and topics of edition {self.id}", "their checksum does not match")


DAMAGED_TOO = {"damaged_too": True}
"""The execution options of a reader that looks at `is_whole` itself; those of a statement are not enough."""


@event.listens_for(Edition, "load")
def _require_whole(edition: Edition, context: QueryContext) -> None:
    if not DAMAGED_TOO.items() <= context.execution_options.items():
        edition.require_whole()


class Statistic(Summed, Base):
    """One comparison of runs; immutable once computed, since nothing it depends on ever changes."""

    __tablename__ = "statistic"

    id: Mapped[int] = mapped_column(primary_key=True)
    edition_id: Mapped[int] = mapped_column(ForeignKey("edition.id", ondelete="CASCADE"), index=True)
    digest: Mapped[str] = mapped_column(unique=True)
    """Of everything the result depends on: rankings, revision, measure, topics, method and its version."""
    asked_by: Mapped[int | None] = mapped_column(ForeignKey("account.id", ondelete="SET NULL"), index=True)
    """The account that requested it; None: a board needs it."""
    request: Mapped[dict[str, Any]]
    """Request: the statistic and its runs, as the scoring operations read it."""
    progress: Mapped[float] = mapped_column(default=0.0)
    """From 0 to 1."""
    result: Mapped[bytes | None] = mapped_column(deferred=True)
    """Packed arrays, once computed."""
    created_at: Mapped[datetime]
    computed_at: Mapped[datetime | None]

    @property
    def summed(self) -> tuple[object, ...]:
        """The request, its sender and its progress; the result has a checksum of its own."""
        return self.edition_id, self.digest, self.asked_by, self.request, float(self.progress or 0.0)

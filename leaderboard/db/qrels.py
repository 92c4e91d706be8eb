"""Judgments: a task's qrels, their numbered revisions, and each judgment as a row."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from leaderboard.db.base import Base, Bytewise


class Qrels(Base):
    """One judgment series of a task; a task may have several, the first one is the board's."""

    __tablename__ = "qrels"
    __table_args__ = (
        UniqueConstraint("task_id", "name"),
        CheckConstraint(
            "kind IN ('graded', 'subtopic', 'preference', 'sampled', 'answers', 'board')", name="kind"
        ),
        CheckConstraint("origin IN ('human', 'machine', 'click')", name="origin"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    name: Mapped[str]
    kind: Mapped[str] = mapped_column(default="graded")
    origin: Mapped[str] = mapped_column(default="human")
    origin_name: Mapped[str] = mapped_column(default="")
    """Name of the machine, if a machine judged."""


class QrelsRevision(Base):
    """A numbered, immutable set of judgments."""

    __tablename__ = "qrels_revision"
    __table_args__ = (UniqueConstraint("qrels_id", "number"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    qrels_id: Mapped[int] = mapped_column(ForeignKey("qrels.id", ondelete="CASCADE"))
    number: Mapped[int]
    parent_id: Mapped[int | None] = mapped_column(ForeignKey("qrels_revision.id"))
    sha256: Mapped[str]
    file_name: Mapped[str] = mapped_column(default="")
    note: Mapped[str] = mapped_column(default="")
    topics: Mapped[list[str]]
    """Judged topics in byte order: the order of every per-topic score array."""
    judgments: Mapped[int]
    rounds: Mapped[str] = mapped_column(default="", server_default=text("''"))
    """Use of the second column in earlier versions; replaced by `read_as`."""
    read_as: Mapped[list[str]] = mapped_column(default=list)
    """Sentences on how the file was read: its form, lines skipped and guesses made."""
    packed: Mapped[bytes] = mapped_column(deferred=True)
    """All judgments as trec.packing writes them, for the evaluator.

    Of answers: nuggets and labels; of judges: the reference.
    """
    distractors: Mapped[bytes | None] = mapped_column(deferred=True)
    """Docnos known not to be relevant to any topic, packed; None if absent."""
    left_out: Mapped[bytes | None] = mapped_column(deferred=True)
    """Documents taken out of every ranking of their topics, packed; None if absent."""
    left_out_facts: Mapped[dict[str, Any] | None]
    """Of these: how many documents, topics and repeated lines, and which earlier revisions judged them."""
    created_at: Mapped[datetime]
    created_by: Mapped[int | None] = mapped_column(ForeignKey("account.id"))


class Judgment(Base):
    """The grade of one document for one topic (and subtopic, '' if absent)."""

    __tablename__ = "judgment"

    revision_id: Mapped[int] = mapped_column(
        ForeignKey("qrels_revision.id", ondelete="CASCADE"), primary_key=True
    )
    topic_id: Mapped[str] = mapped_column(Bytewise, primary_key=True)
    subtopic: Mapped[str] = mapped_column(Bytewise, primary_key=True, default="")
    docno: Mapped[str] = mapped_column(Bytewise, primary_key=True)
    grade: Mapped[int]
    stratum: Mapped[str | None]
    inclusion_probability: Mapped[float | None]
    """Reserved for judgments of sampled pools; nothing reads or writes it yet."""

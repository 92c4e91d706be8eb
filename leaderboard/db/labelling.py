"""Rounds of labelling: which nuggets and labels of answers people make, who does, and what they made."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from leaderboard.db.base import Base, Bytewise


class LabellingRound(Base):
    """One thing that assessors make for a task of answers: nuggets, assignments or support labels."""

    __tablename__ = "labelling_round"
    __table_args__ = (
        UniqueConstraint("task_id", "number"),
        CheckConstraint("kind IN ('nuggets', 'assignments', 'support')", name="kind"),
        CheckConstraint("state IN ('open', 'closed')", name="state"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    number: Mapped[int]
    kind: Mapped[str]
    state: Mapped[str] = mapped_column(default="open")
    revision: Mapped[int | None]
    """The number of the revision whose nuggets are assigned; None where it has another kind."""
    every_citation: Mapped[bool] = mapped_column(default=False)
    """Of support labels: whether all citations of a segment are labelled, not the first one alone."""
    twice: Mapped[float] = mapped_column(default=0.0)
    """Share that two assessors have: of the answers of a topic, or of the topics where nuggets are made."""
    secret: Mapped[bytes]
    """Seed of the order and names of items, so that they reveal nothing of runs."""
    guidelines: Mapped[str] = mapped_column(default="")
    """Text for assessors; Markdown."""
    created_at: Mapped[datetime]


class LabellingTopic(Base):
    """Items to be labelled for one topic of a round, as of its opening."""

    __tablename__ = "labelling_topic"

    round_id: Mapped[int] = mapped_column(
        ForeignKey("labelling_round.id", ondelete="CASCADE"), primary_key=True
    )
    topic_id: Mapped[str] = mapped_column(Bytewise, primary_key=True)
    nuggets: Mapped[list[dict[str, Any]]]
    """Text and importance of the nuggets that are assigned; empty in rounds of another kind."""
    answers: Mapped[list[dict[str, Any]]]
    """Run, and how many labels each place of its answer gets: nuggets have one, segments one a citation."""


class LabellingShare(Base):
    """A topic of a round that an assessor has: all of it, or as the second one a part."""

    __tablename__ = "labelling_share"

    round_id: Mapped[int] = mapped_column(
        ForeignKey("labelling_round.id", ondelete="CASCADE"), primary_key=True
    )
    topic_id: Mapped[str] = mapped_column(Bytewise, primary_key=True)
    assessor_id: Mapped[int] = mapped_column(
        ForeignKey("assessor.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    is_second: Mapped[bool] = mapped_column(default=False)
    done_at: Mapped[datetime | None]
    """When the assessor said that the nuggets of the topic are complete."""


class AnswerLabel(Base):
    """One label by one assessor; a log: the last one of a place that is not undone is in force."""

    __tablename__ = "answer_label"
    __table_args__ = (
        UniqueConstraint("assessor_id", "key"),
        Index("ix_answer_label_place", "round_id", "topic_id"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    round_id: Mapped[int] = mapped_column(ForeignKey("labelling_round.id", ondelete="CASCADE"))
    topic_id: Mapped[str] = mapped_column(Bytewise)
    run_id: Mapped[int] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"))
    place: Mapped[int]
    """Of the nugget among the topic's, or of the segment in the answer; from 0."""
    citation: Mapped[int]
    """Of a segment, from 0; 0 for a nugget."""
    assessor_id: Mapped[int] = mapped_column(ForeignKey("assessor.id"))
    label: Mapped[int]
    """2 full, 1 partial, 0 none; -1 where the assessor could not say."""
    saved_at: Mapped[datetime]
    key: Mapped[str]
    """Made for each form, so that what is sent twice is stored once."""
    undone: Mapped[bool] = mapped_column(default=False)


class WrittenNugget(Base):
    """A nugget that an assessor wrote; one that was merged into another, or taken out, stays here."""

    __tablename__ = "written_nugget"
    __table_args__ = (
        UniqueConstraint("assessor_id", "key"),
        Index("ix_written_nugget_place", "round_id", "topic_id"),
        CheckConstraint("importance IN ('vital', 'okay')", name="importance"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    round_id: Mapped[int] = mapped_column(ForeignKey("labelling_round.id", ondelete="CASCADE"))
    topic_id: Mapped[str] = mapped_column(Bytewise)
    assessor_id: Mapped[int] = mapped_column(ForeignKey("assessor.id"))
    text: Mapped[str]
    importance: Mapped[str]
    into_id: Mapped[int | None] = mapped_column(ForeignKey("written_nugget.id", ondelete="CASCADE"))
    """The nugget that this one was merged into."""
    is_out: Mapped[bool] = mapped_column(default=False)
    saved_at: Mapped[datetime]
    key: Mapped[str]

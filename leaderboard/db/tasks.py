"""Collections with their documents; tasks with phases, topics and topic sets."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from leaderboard.db.base import Base, Bytewise


class Collection(Base):
    """A set of documents; known_docnos is a bit filter over all docnos, None where they are unknown."""

    __tablename__ = "collection"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(index=True)
    """Unique among those that one organiser may know of; others' drafts have collections of their own."""
    size: Mapped[int | None]
    """Documents in the collection, whether their text is stored here or not."""
    stored: Mapped[int] = mapped_column(default=0)
    """Documents whose text is stored here."""
    link_template: Mapped[str] = mapped_column(default="")
    """An address with {docno} in it, or empty."""
    known_docnos: Mapped[bytes | None] = mapped_column(deferred=True)
    created_at: Mapped[datetime]


class DocumentBlock(Base):
    """About 64 KB of documents in docno order, compressed."""

    __tablename__ = "document_block"
    __table_args__ = (UniqueConstraint("collection_id", "first_docno"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    collection_id: Mapped[int] = mapped_column(ForeignKey("collection.id", ondelete="CASCADE"))
    first_docno: Mapped[str] = mapped_column(Bytewise)
    last_docno: Mapped[str] = mapped_column(Bytewise)
    count: Mapped[int]
    body: Mapped[bytes]


class Task(Base):
    """A shared task on a collection."""

    __tablename__ = "task"
    __table_args__ = (
        CheckConstraint("visibility IN ('open', 'blind', 'sealed')", name="visibility"),
        CheckConstraint("dialect IN (9, 10)", name="dialect"),
        Index("ix_task_slug", "slug"),
        Index(
            "uq_task_slug_published",
            "slug",
            unique=True,
            sqlite_where=text("published_at IS NOT NULL"),
            postgresql_where=text("published_at IS NOT NULL"),
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str]
    """Unique among published tasks; drafts of several organisers may share one."""
    name: Mapped[str]
    description: Mapped[str] = mapped_column(default="")
    """Markdown."""
    collection_id: Mapped[int] = mapped_column(ForeignKey("collection.id"), index=True)
    visibility: Mapped[str] = mapped_column(default="open")
    published_at: Mapped[datetime | None]
    """None: a draft only its organisers see."""
    depth: Mapped[int] = mapped_column(default=1000)
    level: Mapped[int] = mapped_column(default=1)
    """Least grade that counts as relevant for binary measures."""
    dialect: Mapped[int] = mapped_column(default=10)
    measures: Mapped[list[str]]
    """Canonical measure keys, in board order."""
    primary_measure: Mapped[str]
    comparison: Mapped[str] = mapped_column(default="t+holm", server_default="t+holm")
    """The test and correction that its board compares runs by."""
    grade_names: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Grade as text -> name."""
    tag_pattern: Mapped[str] = mapped_column(default="")
    click_key: Mapped[bytes | None] = mapped_column(deferred=True)
    """Secret that the users of click logs are hashed with; made at the first import."""
    created_at: Mapped[datetime]


class Phase(Base):
    """A span of time in which a task takes runs."""

    __tablename__ = "phase"
    __table_args__ = (UniqueConstraint("task_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    name: Mapped[str]
    opens_at: Mapped[datetime | None]
    closes_at: Mapped[datetime | None]
    runs_per_day: Mapped[int | None]
    """Runs that a team, and an account with all its teams, may send in a UTC day; None is no limit."""
    runs_in_all: Mapped[int | None]
    ranked: Mapped[bool] = mapped_column(default=True)


class Topic(Base):
    """One information need of a task; topic_id is a string whose zeros count."""

    __tablename__ = "topic"
    __table_args__ = (UniqueConstraint("task_id", "topic_id"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    topic_id: Mapped[str] = mapped_column(Bytewise)
    position: Mapped[int]
    title: Mapped[str] = mapped_column(default="")
    description: Mapped[str] = mapped_column(default="")
    narrative: Mapped[str] = mapped_column(default="")
    subtopics: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    excluded: Mapped[str] = mapped_column(default="")
    """Why the organiser left this topic out of the means; empty where it counts."""


class TopicSet(Base):
    """A named subset of a task's topics (all, public, hidden, any of the organiser's)."""

    __tablename__ = "topic_set"
    __table_args__ = (UniqueConstraint("task_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    name: Mapped[str]
    topics: Mapped[list[str] | None]
    """Topic ids; None means every topic."""

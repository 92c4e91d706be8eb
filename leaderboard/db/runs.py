"""Uploads as received, runs that were accepted, and their packed rankings."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, false
from sqlalchemy.orm import Mapped, mapped_column

from leaderboard.db.engine import Base, Bytewise


class UploadBatch(Base):
    """Files that someone sent together."""

    __tablename__ = "upload_batch"

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"), index=True)
    account_id: Mapped[int | None] = mapped_column(ForeignKey("account.id"), index=True)
    wishes: Mapped[dict[str, Any]]
    """Rules for names, teams and kinds, and whether valid files wait for a review."""
    created_at: Mapped[datetime]


class Upload(Base):
    """One file someone sent; a rejected one keeps its report and makes no run.

    A held one was checked and found good, and waits: in a batch for its sender, else for the organisers.
    """

    __tablename__ = "upload"
    __table_args__ = (
        CheckConstraint("state IN ('received', 'held', 'accepted', 'rejected')", name="state"),
        Index("ix_upload_task_id_team_id", "task_id", "team_id"),
        Index("ix_upload_account_id", "account_id"),
        Index("ix_upload_fixed_from_id", "fixed_from_id"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    team_id: Mapped[int] = mapped_column(ForeignKey("team.id"))
    account_id: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    file_name: Mapped[str]
    sha256: Mapped[str]
    """Digest of the submitted bytes."""
    bytes: Mapped[int]
    idempotency_key: Mapped[str | None] = mapped_column(unique=True)
    state: Mapped[str]
    agent: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether an agent sent it, by its kind of token."""
    wishes: Mapped[dict[str, Any]]
    """The sender's entries: name of the run, kind, description, facts."""
    phase_id: Mapped[int | None] = mapped_column(ForeignKey("phase.id"))
    """The phase it was sent to."""
    batch_id: Mapped[int | None] = mapped_column(ForeignKey("upload_batch.id"), index=True)
    """The drop of many files that it came with."""
    fixed_from_id: Mapped[int | None] = mapped_column(ForeignKey("upload.id"))
    """The file as submitted before fixes were applied to it."""
    fixes: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    """Applied fixes, in order: [{"fix": ..., "lines": ...}]."""
    report: Mapped[dict[str, Any] | None]
    """trec.check's report as JSON, once the file was checked."""
    created_at: Mapped[datetime]
    checked_at: Mapped[datetime | None]


class UploadChunk(Base):
    """A piece of the submitted file, compressed where it was not."""

    __tablename__ = "upload_chunk"

    upload_id: Mapped[int] = mapped_column(ForeignKey("upload.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    body: Mapped[bytes]


class StoredObject(Base):
    """An object in the object store that has, or had, the file of an upload as submitted."""

    __tablename__ = "stored_object"

    key: Mapped[str] = mapped_column(primary_key=True)
    """The file's digest and what keeps two objects of one file apart."""
    upload_id: Mapped[int | None] = mapped_column(ForeignKey("upload.id", ondelete="SET NULL"), unique=True)
    """None where the upload was deleted, or has its file in pieces again."""
    bytes: Mapped[int]
    """Of the object: compressed."""
    loose_since: Mapped[datetime | None] = mapped_column(index=True)
    """Since when it is known that nothing refers to it."""
    created_at: Mapped[datetime]


class PartialUpload(Base):
    """A file that is being sent in pieces, to which its bytes in the data folder belong."""

    __tablename__ = "partial_upload"

    id: Mapped[str] = mapped_column(primary_key=True)
    """Random, because it is part of an address."""
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id", ondelete="CASCADE"), index=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    team_id: Mapped[int] = mapped_column(ForeignKey("team.id", ondelete="CASCADE"))
    file_name: Mapped[str]
    bytes: Mapped[int]
    """Of the whole file."""
    sha256: Mapped[str]
    """Digest of the whole file as announced by its sender; empty if not announced."""
    wishes: Mapped[dict[str, Any]]
    """As those of an upload."""
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    upload_id: Mapped[int | None] = mapped_column(ForeignKey("upload.id", ondelete="CASCADE"))
    """The upload it became after its last byte."""


class Run(Base):
    """One accepted run; withdrawn, never deleted."""

    __tablename__ = "run"
    __table_args__ = (
        # Not over the task: refusing a name would reveal a run that nobody may know of.
        UniqueConstraint("task_id", "team_id", "name"),
        CheckConstraint("kind IN ('official', 'baseline', 'late', 'unofficial')", name="kind"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    upload_id: Mapped[int] = mapped_column(ForeignKey("upload.id"), unique=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    phase_id: Mapped[int] = mapped_column(ForeignKey("phase.id"))
    team_id: Mapped[int] = mapped_column(ForeignKey("team.id"), index=True)
    name: Mapped[str]
    tag: Mapped[str]
    """The sixth column of the file."""
    kind: Mapped[str] = mapped_column(default="official")
    filed: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether organisers or an import put it here: nobody of its team sent it."""
    agreed_at: Mapped[datetime | None]
    """Of a filed run: when a member of its team agreed that it is shown on the team's page."""
    agreed_by: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    description: Mapped[str] = mapped_column(default="")
    details: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """ir_metadata from the file's header and, under "form", what its team entered in a form."""
    topics: Mapped[int]
    entries: Mapped[int]
    deepest: Mapped[int]
    """Documents of the longest ranking."""
    ranking_sha256: Mapped[str] = mapped_column(index=True)
    sketch: Mapped[bytes]
    """Bottom-k sketch of its top documents, to find near copies."""
    order_differs: Mapped[bool] = mapped_column(default=False)
    """Whether 32-bit and 64-bit scores order some topic differently."""
    withdrawn_at: Mapped[datetime | None]
    withdrawn_by: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    withdrawn_why: Mapped[str] = mapped_column(default="")
    final_at: Mapped[datetime | None]
    """When its team marked it: to count at the end or, where all runs of a task count, as its primary one."""
    final_by: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    created_at: Mapped[datetime]


class RankingIndex(Base):
    """Position of each topic of a run: block, offset, length; packed."""

    __tablename__ = "ranking_index"

    run_id: Mapped[int] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), primary_key=True)
    body: Mapped[bytes]


class RankingBlock(Base):
    """Whole topics of one run in order of arrival: docnos and scores, one compressed frame."""

    __tablename__ = "ranking_block"

    run_id: Mapped[int] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    body: Mapped[bytes]


class Answer(Base):
    """The answer of one run on one topic."""

    __tablename__ = "answer"

    run_id: Mapped[int] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), primary_key=True)
    topic_id: Mapped[str] = mapped_column(Bytewise, primary_key=True)
    body: Mapped[bytes]
    """Segments, citations, references and the original line, compressed, as services.answers.store packs."""


class JudgeBoard(Base):
    """The board of a run in a judge task."""

    __tablename__ = "judge_board"

    run_id: Mapped[int] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), primary_key=True)
    body: Mapped[bytes]
    """Values by measure, run and topic, compressed, as trec.boards.packing packs them."""


class Reproduction(Base):
    """A run that was made to reproduce another one: of its task, or on the collection of another task."""

    __tablename__ = "reproduction"

    run_id: Mapped[int] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), primary_key=True)
    original_id: Mapped[int] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), index=True)
    baseline_id: Mapped[int | None] = mapped_column(ForeignKey("run.id", ondelete="SET NULL"), index=True)
    """A run of its own task that it is to be better than; None where none is named."""
    original_baseline_id: Mapped[int | None] = mapped_column(
        ForeignKey("run.id", ondelete="SET NULL"), index=True
    )
    """The run that this baseline reproduces; None where baseline_id is."""
    created_at: Mapped[datetime]

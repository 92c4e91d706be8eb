"""Tables of judging: qrels and their revisions, pools, assessors, shares, labels and comparisons."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from leaderboard.db.engine import Base, Bytewise


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
    """Documents removed from every ranking of their topics, packed; None if absent."""
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


class LabellingRound(Base):
    """One thing that assessors make for an answer task: nuggets, assignments or support labels."""

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
    """Seed of the order and names of items, so that they reveal nothing about runs."""
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
    """When the assessor declared the nuggets of the topic complete."""


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
    """Made for each form, so that a repeated request is stored once."""
    undone: Mapped[bool] = mapped_column(default=False)


class WrittenNugget(Base):
    """A nugget that an assessor wrote; one that was merged into another, or removed, stays here."""

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


class Pool(Base):
    """Documents of a task's topics that are to be judged."""

    __tablename__ = "pool"
    __table_args__ = (
        UniqueConstraint("task_id", "number"),
        CheckConstraint("state IN ('draft', 'open', 'closed')", name="state"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    number: Mapped[int]
    state: Mapped[str] = mapped_column(default="draft")
    method: Mapped[dict[str, Any]]
    """Selection of the documents, as pooling.methods reads it; for an imported pool its file's name."""
    adaptive: Mapped[bool] = mapped_column(default=False)
    """Whether the next document depends on the judgments so far."""
    seed: Mapped[int]
    run_ids: Mapped[list[int]]
    """The runs it was made from, in the order that breaks ties."""
    revision_id: Mapped[int | None] = mapped_column(ForeignKey("qrels_revision.id"))
    """The revision whose judgments are used again, where any are."""
    documents: Mapped[int]
    seconds_per_document: Mapped[int] = mapped_column(default=30)
    note: Mapped[str] = mapped_column(default="")
    guidelines: Mapped[str] = mapped_column(default="")
    """Text that assessors read before the first topic; Markdown."""
    examples: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    """Solved examples: topic, docno or text, grade, why."""
    shown_at: Mapped[datetime | None]
    """Since when everybody may see the board that it makes together with a machine's judgments."""
    created_at: Mapped[datetime]
    created_by: Mapped[int | None] = mapped_column(ForeignKey("account.id"))


class PoolTopic(Base):
    """A topic's documents in a pool, one row per topic."""

    __tablename__ = "pool_topic"

    pool_id: Mapped[int] = mapped_column(ForeignKey("pool.id", ondelete="CASCADE"), primary_key=True)
    topic_id: Mapped[str] = mapped_column(Bytewise, primary_key=True)
    documents: Mapped[int]
    """To be judged, without those whose judgments are used again."""
    body: Mapped[bytes] = mapped_column(deferred=True)
    """Docnos with priority, stratum and inclusion probability in judging order; packed."""


class Assessor(Base):
    """A person who judges for a task, by a personal link; or a machine whose labels were imported."""

    __tablename__ = "assessor"
    __table_args__ = (
        UniqueConstraint("task_id", "name"),
        CheckConstraint("origin IN ('human', 'machine')", name="origin"),
        CheckConstraint("role IN ('assessor', 'adjudicator')", name="role"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    name: Mapped[str]
    origin: Mapped[str] = mapped_column(default="human")
    origin_name: Mapped[str] = mapped_column(default="")
    """Name of the machine, if a machine judged."""
    role: Mapped[str] = mapped_column(default="assessor")
    token_sha256: Mapped[str | None] = mapped_column(unique=True)
    """Of the personal link; None if absent."""
    expires_at: Mapped[datetime | None]
    """When the link expires; None where that is never."""
    created_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]


class Assignment(Base):
    """Documents of a pool's topic that an assessor judges, in order."""

    __tablename__ = "assignment"
    __table_args__ = (
        UniqueConstraint("pool_id", "assessor_id", "topic_id"),
        CheckConstraint("document_order IN ('docno', 'score', 'random')", name="document_order"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    pool_id: Mapped[int] = mapped_column(ForeignKey("pool.id", ondelete="CASCADE"))
    assessor_id: Mapped[int] = mapped_column(ForeignKey("assessor.id", ondelete="CASCADE"), index=True)
    topic_id: Mapped[str] = mapped_column(Bytewise)
    document_order: Mapped[str] = mapped_column(default="random")
    seed: Mapped[int]
    parts: Mapped[int] = mapped_column(default=1)
    """Into how many parts the topic's documents are divided; part counts from 0."""
    part: Mapped[int] = mapped_column(default=0)
    overlap: Mapped[float] = mapped_column(default=0.0)
    """Share of the other parts' documents that this assessor judges too."""


class Assessment(Base):
    """One label of one document by one assessor; a log: the last that is not undone is in force."""

    __tablename__ = "assessment"
    __table_args__ = (
        UniqueConstraint("assessor_id", "key"),
        Index("ix_assessment_place", "pool_id", "topic_id", "docno"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    pool_id: Mapped[int] = mapped_column(ForeignKey("pool.id", ondelete="CASCADE"))
    topic_id: Mapped[str] = mapped_column(Bytewise)
    docno: Mapped[str] = mapped_column(Bytewise)
    assessor_id: Mapped[int] = mapped_column(ForeignKey("assessor.id"))
    grade: Mapped[int | None]
    """None where the document was skipped."""
    note: Mapped[str] = mapped_column(default="")
    shown_at: Mapped[datetime | None]
    saved_at: Mapped[datetime]
    """When the assessor decided; sent_at is when the server got to know."""
    sent_at: Mapped[datetime]
    seconds: Mapped[float | None]
    key: Mapped[str]
    """Chosen by the assessor's browser, so that a repeated request is stored once."""
    undone: Mapped[bool] = mapped_column(default=False)


class SideBySide(Base):
    """One assessor's preference between two unlabelled rankings of one topic."""

    __tablename__ = "side_by_side"
    __table_args__ = (
        UniqueConstraint("assessor_id", "key"),
        CheckConstraint("verdict IN ('left', 'right', 'equal')", name="verdict"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"), index=True)
    topic_id: Mapped[str] = mapped_column(Bytewise)
    left_run_id: Mapped[int] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"))
    right_run_id: Mapped[int] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"))
    assessor_id: Mapped[int] = mapped_column(ForeignKey("assessor.id"))
    verdict: Mapped[str]
    left_satisfaction: Mapped[int | None]
    """From 0 to 4."""
    right_satisfaction: Mapped[int | None]
    note: Mapped[str] = mapped_column(default="")
    saved_at: Mapped[datetime]
    key: Mapped[str]
    undone: Mapped[bool] = mapped_column(default=False)


class SideBySidePair(Base):
    """Two runs that assessors compare on some topics."""

    __tablename__ = "side_by_side_pair"
    __table_args__ = (
        UniqueConstraint(
            *("task_id", "first_run_id", "second_run_id", "assessor_id"), name="uq_side_by_side_pair_runs"
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    first_run_id: Mapped[int] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"))
    second_run_id: Mapped[int] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"))
    assessor_id: Mapped[int] = mapped_column(ForeignKey("assessor.id", ondelete="CASCADE"))
    topics: Mapped[list[str]]
    created_at: Mapped[datetime]


class ClickLog(Base):
    """An imported query log, its users replaced by keyed hashes or left out."""

    __tablename__ = "click_log"
    __table_args__ = (UniqueConstraint("task_id", "number"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    number: Mapped[int]
    file_name: Mapped[str]
    sha256: Mapped[str]
    sessions: Mapped[int]
    unknown: Mapped[dict[str, Any]]
    """Topic or query that matched none -> its rows, the most frequent ones; '' -> rows of the others."""
    body: Mapped[bytes] = mapped_column(deferred=True)
    """Sessions by topic, packed."""
    created_at: Mapped[datetime]
    created_by: Mapped[int | None] = mapped_column(ForeignKey("account.id"))

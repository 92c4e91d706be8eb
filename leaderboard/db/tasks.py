"""Collections with their documents; tasks with phases, topics and topic sets."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, false, text, true
from sqlalchemy.orm import Mapped, mapped_column

from leaderboard.db.engine import Base, Bytewise


class Announcement(Base):
    """An announcement by organisers to some or all participants of a task."""

    __tablename__ = "announcement"

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"), index=True)
    account_id: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    title: Mapped[str]
    body: Mapped[str]
    """Markdown."""
    recipients: Mapped[dict[str, Any]]
    """Recipients as chosen: {"kind": "everybody"}, {"kind": "teams", "teams": [...]}, ..."""
    count: Mapped[int]
    """Accounts it was for, as they were counted before it was sent."""
    created_at: Mapped[datetime]


class TaskChange(Base):
    """One setting of a task that changed, as participants see it."""

    __tablename__ = "task_change"

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"), index=True)
    account_id: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    what: Mapped[str]
    """The setting as text, such as `closing of test`."""
    before: Mapped[str]
    after: Mapped[str]
    reason: Mapped[str] = mapped_column(default="")
    created_at: Mapped[datetime]


class Mail(Base):
    """One letter to one account, written in the transaction of its change and sent by a job."""

    __tablename__ = "mail"
    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'sent', 'failed', 'bounced')", name="state"),
        Index("ix_mail_state", "state"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int | None] = mapped_column(ForeignKey("account.id", ondelete="SET NULL"), index=True)
    announcement_id: Mapped[int | None] = mapped_column(ForeignKey("announcement.id", ondelete="CASCADE"))
    address: Mapped[str]
    subject: Mapped[str]
    body: Mapped[str]
    state: Mapped[str]
    attempts: Mapped[int] = mapped_column(default=0)
    error: Mapped[str] = mapped_column(default="")
    """Last response of the server."""
    created_at: Mapped[datetime]
    next_at: Mapped[datetime]
    """When it may be tried (again)."""
    sent_at: Mapped[datetime | None]


class Entry(Base):
    """A team in a task, under a pseudonym until reveal_at where one is set."""

    __tablename__ = "entry"
    __table_args__ = (
        UniqueConstraint("task_id", "team_id"),
        CheckConstraint("state IN ('waiting', 'entered', 'refused')", name="state"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    team_id: Mapped[int] = mapped_column(ForeignKey("team.id", ondelete="CASCADE"), index=True)
    pseudonym: Mapped[str | None]
    reveal_at: Mapped[datetime | None] = mapped_column(index=True)
    state: Mapped[str] = mapped_column(default="entered", server_default="entered")
    why: Mapped[str] = mapped_column(default="", server_default=text("''"))
    """Why it was refused, in the organisers' words."""
    agreement_version: Mapped[int | None]
    """Accepted version of the task's agreement; None: none was required."""
    agreed_at: Mapped[datetime | None]
    agreed_by: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    entered_by: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    """The member who entered the team, by the form or by sending its first run; None: organisers put it here,
    which gives them no right over its members."""
    created_at: Mapped[datetime]


class RunGroup(Base):
    """Runs with a board of their own, chosen by team (such as students) or one by one (a family of runs)."""

    __tablename__ = "run_group"
    __table_args__ = (
        UniqueConstraint("task_id", "name"),
        CheckConstraint("kind IN ('teams', 'runs')", name="kind"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    name: Mapped[str]
    kind: Mapped[str]
    declared_at: Mapped[datetime]
    """Before the first score of the task: tested within; later: after a look at the data, with a note."""


class GroupedTeam(Base):
    """A team in a group."""

    __tablename__ = "grouped_team"

    group_id: Mapped[int] = mapped_column(ForeignKey("run_group.id", ondelete="CASCADE"), primary_key=True)
    team_id: Mapped[int] = mapped_column(
        ForeignKey("team.id", ondelete="CASCADE"), primary_key=True, index=True
    )


class GroupedRun(Base):
    """A run in a family."""

    __tablename__ = "grouped_run"

    group_id: Mapped[int] = mapped_column(ForeignKey("run_group.id", ondelete="CASCADE"), primary_key=True)
    run_id: Mapped[int] = mapped_column(
        ForeignKey("run.id", ondelete="CASCADE"), primary_key=True, index=True
    )


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
        CheckConstraint("kind IN ('rankings', 'answers', 'judges')", name="kind"),
        CheckConstraint("entry_rule IN ('free', 'approval', 'code')", name="entry_rule"),
        CheckConstraint("unmarked IN ('best', 'newest')", name="unmarked"),
        CheckConstraint("naming IN ('names', 'date', 'close', 'team')", name="naming"),
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
    kind: Mapped[str] = mapped_column(default="rankings", server_default="rankings")
    """Type of its runs."""
    answer_rules: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """Of answers: dialects, limit, unit, over, docno_pattern; missing ones have the dialect's default."""
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
    organisers: Mapped[str] = mapped_column(default="", server_default=text("''"))
    """Organisers in their own words, shown to everyone in place of account names."""
    contact: Mapped[str] = mapped_column(default="", server_default=text("''"))
    licence: Mapped[str] = mapped_column(default="", server_default=text("''"))
    frames: Mapped[str] = mapped_column(default="", server_default=text("''"))
    """The origins whose pages may show its board in a frame, a line each; empty: none."""
    links: Mapped[list[dict[str, Any]]] = mapped_column(default=list)
    """[{"title": ..., "address": ...}]"""
    agreement: Mapped[str] = mapped_column(default="", server_default=text("''"))
    """Markdown that a team agrees to when it enters; empty: nothing."""
    agreement_version: Mapped[int] = mapped_column(default=0, server_default="0")
    """Counted up with each change of the agreement; 0: there was none yet."""
    entry_rule: Mapped[str] = mapped_column(default="free", server_default="free")
    entry_code: Mapped[str] = mapped_column(default="", server_default=text("''"))
    """Code that a team needs to enter where the rule is `code`; organisers hand it out."""
    final_runs: Mapped[int | None]
    """Number of runs of a team that count at the end; None means all."""
    unmarked: Mapped[str] = mapped_column(default="best", server_default="best")
    """Run that counts for a team that marked none: its best (by the public score) or its newest."""
    may_withdraw: Mapped[bool] = mapped_column(default=True, server_default=true())
    """Whether teams may withdraw runs of theirs."""
    reproduction_thresholds: Mapped[dict[str, Any] | None]
    """Thresholds of reproductions, number -> [same, close], alpha and margin; None: the defaults."""
    naming: Mapped[str] = mapped_column(default="names", server_default="names")
    """Of teams: names; or pseudonyms until names_at (`date`), the close, or a team's own choice (`team`)."""
    names_at: Mapped[datetime | None]
    pseudonym_list: Mapped[str] = mapped_column(default="", server_default=text("''"))
    """Kind of pseudonyms: animals, plants or numbers; empty without pseudonyms."""
    pseudonym_seed: Mapped[str] = mapped_column(default="", server_default=text("''"))
    """The secret that they are drawn by."""
    archived_at: Mapped[datetime | None]
    click_key: Mapped[bytes | None] = mapped_column(deferred=True)
    """Secret that the users of click logs are hashed with; made at the first import."""
    created_at: Mapped[datetime]


class TaskPicture(Base):
    """The logo or the picture of a task, as it was encoded here."""

    __tablename__ = "task_picture"
    __table_args__ = (
        UniqueConstraint("task_id", "kind"),
        CheckConstraint("kind IN ('logo', 'picture')", name="kind"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    kind: Mapped[str]
    alt: Mapped[str]
    """Alternative text."""
    width: Mapped[int]
    height: Mapped[int]
    sha256: Mapped[str]
    """Of the body: its checksum, and its name in addresses."""
    body: Mapped[bytes] = mapped_column(deferred=True)
    created_at: Mapped[datetime]


class FormerSlug(Base):
    """A slug that a published task had: its addresses lead to the task still."""

    __tablename__ = "former_slug"

    slug: Mapped[str] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"), index=True)
    created_at: Mapped[datetime]


class Phase(Base):
    """A period in which a task accepts runs, and the visibility of their scores."""

    __tablename__ = "phase"
    __table_args__ = (
        UniqueConstraint("task_id", "name"),
        CheckConstraint("visibility IN ('open', 'blind', 'sealed')", name="visibility"),
        CheckConstraint("at_close IN ('open', 'sealed')", name="at_close"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    name: Mapped[str]
    position: Mapped[int] = mapped_column(default=0, server_default="0")
    opens_at: Mapped[datetime | None]
    closes_at: Mapped[datetime | None]
    zone: Mapped[str] = mapped_column(default="UTC", server_default="UTC")
    """Time zone its dates were entered in: a name of the IANA database, or AoE."""
    topic_set_id: Mapped[int | None] = mapped_column(ForeignKey("topic_set.id"))
    """Topics its runs are scored on; None is every topic of the task."""
    visibility: Mapped[str | None]
    """None: the task's."""
    at_close: Mapped[str] = mapped_column(default="open", server_default="open")
    """At its close a blind or sealed phase becomes open, or stays sealed until reveal_at."""
    reveal_at: Mapped[datetime | None]
    """With at_close sealed: when it becomes open; None until an organiser presses the button."""
    kinds: Mapped[list[str]] = mapped_column(default=list)
    """Kinds of runs it accepts; empty is every kind."""
    runs_per_day: Mapped[int | None]
    """Runs that a team may send in a UTC day; None is no limit."""
    runs_in_all: Mapped[int | None]
    account_runs_per_day: Mapped[int | None]
    """The same for an account with all its teams; None: as many as a team."""
    account_runs_in_all: Mapped[int | None]
    agent_runs_per_day: Mapped[int | None]
    """Runs of these that agents may send, for a team and for an account with all its teams."""
    agent_review: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether runs that agents send wait until an organiser accepts them."""
    largest_bytes: Mapped[int | None]
    """Largest submitted file; None is the site's limit."""
    ranked: Mapped[bool] = mapped_column(default=True)
    """Whether its runs have ranks; those of a late phase that is ranked have a board of their own."""


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
    answer_limit: Mapped[int | None]
    """Maximum length of an answer to it, in the task's unit; None for the task's own limit."""


class TopicSet(Base):
    """A named subset of a task's topics (all, public, hidden, any of the organiser's)."""

    __tablename__ = "topic_set"
    __table_args__ = (UniqueConstraint("task_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id", ondelete="CASCADE"))
    name: Mapped[str]
    topics: Mapped[list[str] | None]
    """Topic ids; None means every topic."""
    seed: Mapped[str] = mapped_column(default="", server_default=text("''"))
    """Seed that it was drawn by; empty where it was chosen."""

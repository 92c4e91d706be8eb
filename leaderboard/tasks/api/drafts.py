"""Answers of the organisers' operations."""

from collections.abc import Mapping
from dataclasses import dataclass

from leaderboard.db.tables import Collection
from leaderboard.zones import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTask:
    """A task as its organisers see it; state is draft, published or archived.

    topics: how its topics file was read, in sentences, where one was sent.
    """

    task: str
    name: str
    state: str
    topics: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRun:
    """A run of files that become a task: its name, team and kind there, and its file."""

    run: str
    team: str
    kind: str
    topics: int
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportAnswer:
    """The interpretation of imported files; is_made: whether the task was created from them.

    facts: their content, as text. left_out: reason -> files or rows. doubts: points to check.
    """

    task: str
    name: str
    is_export: bool
    is_made: bool
    facts: Mapping[str, str]
    runs: tuple[ImportedRun, ...]
    left_out: Mapping[str, str]
    doubts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionAnswer:
    """A collection that tasks may be on."""

    collection: str
    """Its name."""
    documents: int
    """Number of its documents stored on the site."""
    size: int | None
    """Number of documents; null if unknown."""
    link_template: str
    """External address of a document, with `{docno}` as placeholder; empty for none."""


def collection_answer(collection: Collection) -> CollectionAnswer:
    """The API answer for a collection."""
    return CollectionAnswer(
        collection=collection.name,
        documents=collection.stored,
        size=collection.size,
        link_template=collection.link_template,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsAnswer:
    """Setting -> its value as its field shows it; changed: those that a request gave another value."""

    task: str
    settings: Mapping[str, str]
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessorLink:
    """An assessor with the personal link, which cannot be read again."""

    assessor: int
    name: str
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessorLinks:
    """The links of new assessors."""

    assessors: tuple[AssessorLink, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryAnswer:
    """A team in a task: whether it has entered, and which version of the agreement it agreed to."""

    team: int
    """The team's number, as `team_id`; from 2.0 on its name."""
    team_id: int
    name: str
    state: str
    why: str
    agreed: int | None
    agreed_at: Moment | None
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryAnswers:
    """The teams in a task; rule: free, approval or code."""

    task: str
    rule: str
    entries: tuple[EntryAnswer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonAnswer:
    """An account with a role in a task."""

    account: int
    name: str
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """The accounts with a role in a task."""

    people: tuple[PersonAnswer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncementAnswer:
    """An announcement, or what would become of it: how many people and teams it reaches."""

    announcement: int | None
    people: int
    teams: int

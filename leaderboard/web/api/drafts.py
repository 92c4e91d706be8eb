"""What operations of organisers answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
    """What files were understood as; is_made: whether the task was made of them.

    facts: what is in them, in words. left_out: why -> which files or rows. doubts: what to look at.
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
    """How many of its documents the site stores."""
    size: int | None
    """How many documents it has, null where nobody said."""
    link_template: str
    """The address of a document elsewhere, with `{docno}` in it; empty for none."""


def collection_answer(found: Collection) -> CollectionAnswer:
    """A collection as the API says it."""
    return CollectionAnswer(
        collection=found.name, documents=found.stored, size=found.size, link_template=found.link_template
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
    """Who has a role in a task."""

    people: tuple[PersonAnswer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncementAnswer:
    """An announcement, or what would become of it: how many people and teams it reaches."""

    announcement: int | None
    people: int
    teams: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftAnswer:
    """A draft of a revision, kept for a day: what it would change, and why it cannot be published, if so.

    answers: what it holds of nuggets and labels, who made them, what was noticed; null of other judgments.
    left_out: documents left out by topic, before and after, and what the runs have of them; null for none.
    """

    draft: str
    line: str
    base: int
    """The number of the newest revision, 0 for none."""
    added: int
    changed: int
    removed: int
    refused: str
    answers: Mapping[str, Any] | None = None
    left_out: Mapping[str, Any] | None = None
    lacking: tuple[str, ...] = ()
    """Judged documents that the collection does not have."""
    read_as: tuple[str, ...] = ()
    """How the file was read, with the lines that were skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionMade:
    """A revision that was published; every run is scored under it."""

    line: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolMade:
    """A pool and its state: draft, open or closed."""

    pool: int
    state: str

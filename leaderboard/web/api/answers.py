"""Response records of the API, each built from a page or a service result."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import convert

from leaderboard.errors import Problem
from leaderboard.zones import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong with a file or odd about it; line is 1-based, null for the whole file."""

    line: int | None
    field: str
    value: str
    rule: str
    remedy: str
    count: int
    examples: tuple[str, ...]


def findings(problems: Sequence[Problem]) -> tuple[Finding, ...]:
    """Problems or warnings, without the names of fixes."""
    return convert(tuple(problems), tuple[Finding, ...], from_attributes=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckAnswer:
    """A task's check of a file; state is accepted or rejected."""

    state: str
    problems: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    fixes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureAnswer:
    """A logo or picture of a task; alt: what it shows; its address changes with it."""

    kind: str
    alt: str
    width: int
    height: int
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderAnswer:
    """The best ranked run of an open task; tied: how many share its place.

    may_be_best: how many runs may be the best, 0 where the topics are too few to order them. rank_high: the
    lowest rank that the leader may have. Both are null where runs cannot be compared, or where no one has
    had a large board compared yet.
    """

    run_id: int
    run: str
    measure: str
    value: float
    tied: int
    may_be_best: int | None
    rank_high: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskAnswer:
    """A task in a list; runs and revision are null where they are held back.

    organisers: in their own words, empty where they say nothing.
    """

    task: str
    name: str
    organisers: str
    visibility: str
    topics: int
    runs: int | None
    revision: int | None
    leader: LeaderAnswer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskList:
    """Some of the tasks visible to you; total: of all."""

    tasks: tuple[TaskAnswer, ...]
    total: int
    next: str | None
    """The cursor of the next part, null at the end; the header `Link` has its address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseAnswer:
    """A phase: when it accepts runs, on how many topics, and who sees their scores."""

    name: str
    state: str
    opens_at: Moment | None
    closes_at: Moment | None
    topics: int
    visibility: str
    kinds: tuple[str, ...]
    ranked: bool
    runs_per_day: int | None
    runs_in_all: int | None
    agent_runs_per_day: int | None
    agent_review: bool
    largest_bytes: int
    """Most bytes of a file as it is sent, by the phase's limit and the site's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDetails:
    """Facts about a task for participants; organisers: in their own words."""

    task: str
    name: str
    description: str
    organisers: str
    logo: PictureAnswer | None
    picture: PictureAnswer | None
    collection: str
    topics: int
    visibility: str
    depth: int
    measures: tuple[str, ...]
    primary: str
    phases: tuple[PhaseAnswer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardRow:
    """A run on a board; rank is null for runs that are not ranked.

    From beats on: among all ranked runs under one correction; null until that is computed.
    """

    rank: int | None
    run_id: int
    run: str
    team: str
    kind: str
    state: str
    scores: Mapping[str, float | None]
    beats: int | None
    beaten_by: int | None
    """By how many runs at least."""
    undecided: int | None
    rank_low: int | None
    rank_high: int | None
    best_set: bool | None
    """Whether it may be the best on topics like these; false for all where they are too few to order runs."""
    named: int | None
    """Number of runs named that beat it; 0 also where it is open which one does."""
    moved: int | None
    """By how many ranks it went up since the edition before, among the runs ranked in both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardAnswer:
    """A board, and what its numbers rest on: edition, qrels revision with digest, versions of measures."""

    task: str
    phase: str
    edition: int | None
    revision: int | None
    revision_sha256: str | None
    topics: int | None
    primary: str
    sorted_by: str
    measure_versions: Mapping[str, int]
    sentences: tuple[str, ...]
    why: str
    """Sentence on what is held back and until when; empty if nothing is."""
    moved_since_edition: int | None
    """The edition that `moved` counts from; null where there is nothing to compare."""
    left_out: Mapping[str, Any] | None
    """Documents taken out of every ranking first, and whether they are those judged before; null for none."""
    rows: tuple[BoardRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAnswer:
    """A run as visible to you: its team, its state, and its scores on the board."""

    run_id: int
    run: str
    team: str
    kind: str
    filed: str
    """By whom a run was filed that nobody of its team sent, in a sentence; empty of all others."""
    agent: bool
    task: str
    state: str
    rank: int | None
    scores: Mapping[str, float | None]
    withdrawn: str
    """Why it was withdrawn; empty where it was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedRun:
    """A run that was changed, and what it is now."""

    run_id: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaAnswer:
    """Runs that a team may still submit; null means no limit."""

    team: int
    """The team's number, as `team_id`; from 2.0 on its name."""
    team_id: int
    left_today: int | None
    """The smallest of what all limits leave: those of the team and of the account, per day and in total."""
    left_in_all: int | None
    """Runs left in total."""
    limit: str
    """The limit that leaves least, as text; empty where nothing is limited."""
    next_at: Moment
    """When the next day of runs begins."""
    rejections_left: int
    """Further files from you, for any team, that may be rejected this hour before others wait in turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadAnswer:
    """State of a file: received (its check is coming), held, accepted or rejected."""

    upload: int
    run_id: int | None
    state: str
    problems: tuple[Finding, ...]
    warnings: tuple[Finding, ...]
    sha256: str | None = None
    """Of the file as it came; null where the answer came before it was stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialUploadAnswer:
    """A file that is sent in pieces; offset: bytes of `length` that came.

    upload: the number of its upload once all is there and taken, else null.
    """

    id: str
    team: int
    """The team's number, as `team_id`; from 2.0 on its name."""
    team_id: int
    run: str
    file_name: str
    offset: int
    length: int
    expires_at: Moment
    upload: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialUploadList:
    """Your uploads in pieces."""

    uploads: tuple[PartialUploadAnswer, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamAnswer:
    """A team that you may submit runs for."""

    team: int
    """The team's number, as `team_id`; from 2.0 on its name."""
    team_id: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountAnswer:
    """The owner of the token, and the token's purpose."""

    account: str
    teams: tuple[TeamAnswer, ...]
    kind: str
    scopes: tuple[str, ...]
    task: str | None
    """The only task that the token is for; null: all of the owner's."""
    team: int | None
    """The number of a team, as `team_id`; from 2.0 on its name."""
    team_id: int | None
    """The only team that the token is for; null: all of the owner's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCodesAnswer:
    """Codes for a device that signs in: its owner types the short one at the address."""

    device_code: str
    user_code: str
    address: str
    interval_s: int
    expires_in_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTokenAnswer:
    """State of a device's sign-in; the token comes once, when the state is done."""

    state: str
    token: str | None = None
    expires_at: Moment | None = None


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
    """Notes on how the file was read, with the skipped lines."""


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

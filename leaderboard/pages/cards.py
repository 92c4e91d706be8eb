"""What pages elsewhere show of a task, run or snapshot: never more than a visitor may see.

Whoever asks, it is what a visitor may see: who shows a badge does not know who looks at it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy.orm import Session

from leaderboard.pages.boards.snapshot import SnapshotPage
from leaderboard.pages.runs import run as runs
from leaderboard.pages.runs.run import RunPage
from leaderboard.services import policy
from leaderboard.services.boards import board as boards
from leaderboard.services.boards.board import Board
from leaderboard.services.boards.rows import Row
from leaderboard.services.evaluations.shown import Basis
from leaderboard.services.policy import ANONYMOUS, TaskMemo, Viewer
from leaderboard.services.statistics.standings import Place
from leaderboard.tables.record import Column, Table, columns_from
from leaderboard.tables.words import counted

HELD_BACK = "scores held back"
NO_SCORES = "no scores yet"
JUDGED_BY = {"machine": "judged by a machine", "click": "judged by clicks"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CardPage:
    """What is said of a task, a run or a snapshot where it is shown elsewhere."""

    kind: str
    """task, run or snapshot."""
    name: str
    """The run's name, or the task's."""
    task: str
    slug: str
    address: str
    """What names it in addresses: the id of a run, the slug of a task, the digest of a snapshot."""
    size: str = ""
    """How many runs of how many teams; empty for a run, and where that is held back."""
    facts: tuple[str, ...]
    """What it comes to, each in a few words, such as `rank 1–3 of 57`."""
    basis: str
    """What that rests on; empty where there are no scores."""

    @property
    def title(self) -> str:
        """What it is, in a line."""
        if self.kind == "run":
            return f"{self.name} on {self.task}"
        return self.task if self.kind == "task" else f"{self.task}, snapshot"

    @property
    def description(self) -> str:
        """What it comes to, in a sentence or two."""
        said = "; ".join(filter(None, (self.size, *self.facts)))
        sentences = (said, self.basis)
        return " ".join(f"{words[:1].upper()}{words[1:]}." for words in sentences if words)


def visitor(phase: str = "") -> Viewer:
    """Who everything here is shown to, asking for a phase of a task where one is named."""
    return Viewer(phase=phase) if phase else ANONYMOUS


def of_run(session: Session, run_id: int) -> CardPage:
    """A run; raises NotFound where a visitor may not know of it."""
    return of_run_page(runs.run_page(session, ANONYMOUS, run_id))


def of_run_page(page: RunPage) -> CardPage:
    """The run of a page that a visitor was given."""
    is_scored = page.headline is not None
    return CardPage(
        kind="run",
        name=page.name,
        task=page.task,
        slug=page.slug,
        address=str(page.id),
        facts=_of_run(page),
        basis=rests_on(page.basis) if is_scored else "",
    )


def of_task(session: Session, slug: str, phase: str = "") -> CardPage:
    """A task, by the board of a phase; raises NotFound where a visitor may not know of either."""
    return of_board(boards.board(session, visitor(phase), slug))


def of_board(shown: Board) -> CardPage:
    """The task of a board that a visitor was given."""
    ranked = [row for row in shown.rows if row.rank is not None]
    teams = len({row.team_id for row in shown.rows})
    size = f"{counted(len(shown.rows), 'run')}, {counted(teams, 'team')}" if shown.rows else ""
    return CardPage(
        kind="task",
        name=shown.task,
        task=shown.task,
        slug=shown.slug,
        address=shown.slug,
        size=size if shown.sight.means else "",
        facts=_of_board(shown, ranked),
        basis=rests_on(shown.basis) if ranked else "",
    )


def of_snapshot_page(page: SnapshotPage) -> CardPage:
    """The frozen board of a page that a visitor was given."""
    digits = next(column.digits for column in page.measures if column.key == page.sorted_by)
    leaders = [(row.name, row.scores[page.sorted_by]) for row in page.rows if row.rank == 1]
    origin = JUDGED_BY.get(page.origin, "")
    return CardPage(
        kind="snapshot",
        name=page.task,
        task=page.task,
        slug=page.slug,
        address=page.address,
        size=f"{counted(len(page.rows), 'run')}, frozen {page.created_at:%Y-%m-%d}",
        facts=_how_sure(
            _leader(leaders, page.sorted_by, page.decimals or digits),
            [row.place.best_set for row in page.rows if row.place],
        ),
        basis=", ".join(filter(None, (*_resting(page.topics, page.revision), origin))),
    )


def rests_on(basis: Basis | None) -> str:
    """What the scores of a card rest on, in words; empty where there are no judgments."""
    if basis is None:
        return ""
    phase = f"{basis.phase} phase" if basis.phase else ""
    words = (phase, *_resting(basis.topics, basis.revision), basis.left_out, JUDGED_BY.get(basis.origin, ""))
    return ", ".join(filter(None, words))


def _resting(topics: int, revision: int) -> tuple[str, str]:
    return counted(topics, "topic"), f"qrels revision {revision}"


def _of_run(page: RunPage) -> tuple[str, ...]:
    if page.withdrawn_at is not None:
        return ("withdrawn",)
    best = page.headline
    if best is None:
        return (NO_SCORES,)
    score = f"{page.by} {best.shown(best.value)}"
    if best.rank is None:
        return (page.kind, score) if page.kind != "official" else (score,)
    return (f"rank {_range(page.place, best.rank)} of {best.ranked:,}", score)


def _range(place: Place | None, rank: int) -> str:
    """The ranks that a run may have, where that can be said, else the one that it has."""
    if place is None:
        return f"{rank:,}"
    ends = sorted({place.rank_low, place.rank_high})
    return "–".join(f"{end:,}" for end in ends)


def _of_board(shown: Board, ranked: Sequence[Row]) -> tuple[str, ...]:
    if not shown.sight.means:
        return (HELD_BACK,)
    if not ranked:
        return (NO_SCORES,)
    first = [(row.run, row.scores[shown.sorted_by]) for row in ranked if row.rank == 1]
    leader = _leader(first, shown.sorted_by, shown.sight.decimals or shown.by.digits)
    return _how_sure(leader, [place.best_set for place in shown.places.values()])


def _leader(first: Sequence[tuple[str, float | None]], measure: str, digits: int) -> tuple[str, ...]:
    """Who is ranked first, with the score; none where nobody is."""
    if not first or first[0][1] is None:
        return ()
    name, score = first[0]
    who = f"{name} leads" if len(first) == 1 else f"{name} and {len(first) - 1:,} more lead"
    return (f"{who}, {measure} {score:.{digits}f}",)


def _how_sure(leader: tuple[str, ...], may_be_best: Sequence[bool]) -> tuple[str, ...]:
    """The leader and how many runs may be the best; that the topics are too few where none is said to be."""
    best = sum(may_be_best)
    if len(may_be_best) > 1 and not best:
        return ("too few topics to order the runs",)
    return (*leader, f"{best:,} may be the best") if best > 1 else leader


SHORTEST, LONGEST = 50, 5000
"""Characters of a description that search engines take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskData:
    """What is said of a task's data; empty or None where it is not known."""

    name: str
    slug: str
    description: str
    creator: str
    licence: str
    revision: int | None
    published_at: datetime | None
    changed_at: datetime | None
    opens_at: datetime | None
    """Of the first phase that has such a date."""
    closes_at: datetime | None
    """Of the last one."""
    measures: tuple[str, ...]
    has_scores: bool
    """Whether a visitor may have the board as a file."""
    has_judgments: bool
    """Whether a visitor may have the judgments."""


def task_data(session: Session, viewer: Viewer, shown: Board) -> TaskData:
    """The data of the task of a board that a visitor was given; no statement that the board did not need."""
    seen = policy.task_context(session, viewer, shown.slug)
    task, basis = seen.task, shown.basis
    opens = [phase.opens_at for phase in seen.phases if phase.opens_at is not None]
    closes = [phase.closes_at for phase in seen.phases if phase.closes_at is not None]
    return TaskData(
        name=task.name,
        slug=task.slug,
        description=_description(shown),
        creator=task.organisers or f"Organisers of {task.name}",
        licence=task.licence,
        revision=basis.revision if basis else None,
        published_at=task.published_at,
        changed_at=basis.revision_at if basis else None,
        opens_at=min(opens, default=None),
        closes_at=max(closes, default=None),
        measures=tuple(measure.key for measure in shown.measures),
        has_scores=basis is not None and shown.sight.means,
        has_judgments=basis is not None and shown.sight.details,
    )


def _description(shown: Board) -> str:
    """The organisers' own words; where these are few, with what the board comes to."""
    said = " ".join(shown.of.description.split())
    if len(said) < SHORTEST:
        what = f"{shown.task}, a shared task in information retrieval."
        said = f"{said} {what} {of_board(shown).description}".strip()
    return said[:LONGEST]


ROWS, MOST_ROWS = 10, 50


@dataclass(frozen=True, slots=True)
class FramePage:
    """What a frame shows; rows are empty where scores are held back or no run has any."""

    board: Board
    rows: tuple[Row, ...]
    more: int
    """How many runs of the board are not in it."""
    basis: str
    origins: tuple[str, ...]
    """Whose pages may show it."""


def frame(session: Session, slug: str, measure: str | None, rows: int, phase: str = "") -> FramePage:
    """The frame of a task as a visitor may see it, with so many rows at most.

    Raises NotFound where a visitor may not know of the task or the phase, UnknownMeasure as the board does.
    """
    asker = replace(visitor(phase), memo=TaskMemo())
    shown = boards.board(session, asker, slug, measure)
    scored = tuple(row for row in shown.rows if row.scores.get(shown.sorted_by) is not None)
    listed = scored[: max(1, min(rows, MOST_ROWS))]
    return FramePage(
        board=shown,
        rows=listed,
        more=len(shown.rows) - len(listed),
        basis=rests_on(shown.basis),
        origins=origins_of(policy.task_context(session, asker, slug).task.frames),
    )


def origins_of(frames: str) -> tuple[str, ...]:
    """The origins of a task's setting."""
    return tuple(frames.split())


def frame_table(page: FramePage) -> Table[Row]:
    """The rows with rank range, name, team and score."""
    shown = page.board
    by = shown.sorted_by
    return Table(
        f"{shown.slug}-frame",
        f"{shown.task}, ranked by {shown.ranked_by}.",
        columns_from(
            Row,
            Column("rank", lambda row: row.rank, "Rank", words=lambda row: _ranks(shown, row), digits=0),
            "run run_id team",
            Column(by, lambda row: row.scores[by], digits=shown.sight.decimals or shown.by.digits),
        ),
        page.rows,
    )


def _ranks(shown: Board, row: Row) -> str | None:
    """The ranks that a run may have, where that can be said, else the one that it has."""
    place = shown.places.get(row.run_id)
    if place is None or place.rank_low == place.rank_high:
        return None if row.rank is None else str(row.rank)
    return f"{place.rank_low}–{place.rank_high}"

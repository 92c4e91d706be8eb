"""Cards of a task, run or snapshot for other sites: never more than a visitor may see.

A card does not depend on who requests it, because a site that shows a badge does not know its readers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy.orm import Session

from leaderboard.boards.ops import board as boards
from leaderboard.boards.ops.board import Board
from leaderboard.boards.ops.rows import Row
from leaderboard.boards.page.snapshot import SnapshotPage
from leaderboard.core import policy
from leaderboard.core.policy import ANONYMOUS, TaskMemo, Viewer
from leaderboard.scoring.ops.evaluations.shown import Basis
from leaderboard.scoring.ops.statistics.standings import Place
from leaderboard.tables.record import Column, Table, columns_from, counted

HELD_BACK = "scores held back"
NO_SCORES = "no scores yet"
JUDGED_BY = {"machine": "judged by a machine", "click": "judged by clicks"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CardPage:
    """A summary of a task, run or snapshot for other sites."""

    kind: str
    """task, run or snapshot."""
    name: str
    """The run's name, or the task's."""
    task: str
    slug: str
    address: str
    """Its key in addresses: run id, task slug or snapshot digest."""
    size: str = ""
    """The number of runs and teams; empty for a run, and while hidden."""
    facts: tuple[str, ...]
    """The results in a few words each, such as `rank 1–3 of 57`."""
    basis: str
    """The basis of the results; empty without scores."""

    @property
    def title(self) -> str:
        """The title, in one line."""
        if self.kind == "run":
            return f"{self.name} on {self.task}"
        return self.task if self.kind == "task" else f"{self.task}, snapshot"

    @property
    def description(self) -> str:
        """The results, in one or two sentences."""
        summary = "; ".join(filter(None, (self.size, *self.facts)))
        sentences = (summary, self.basis)
        return " ".join(f"{words[:1].upper()}{words[1:]}." for words in sentences if words)


def visitor(phase: str = "") -> Viewer:
    """The anonymous visitor that all cards are made for, with a phase if one is named."""
    return Viewer(phase=phase) if phase else ANONYMOUS


def of_task(session: Session, slug: str, phase: str = "") -> CardPage:
    """The card of a task, from the board of a phase; raises NotFound if visitors may not see it."""
    return of_board(boards.board(session, visitor(phase), slug))


def of_board(shown: Board) -> CardPage:
    """The card of a task, from its board as seen by a visitor."""
    ranked = [row for row in shown.rows if row.rank is not None]
    teams = len({row.team_id for row in shown.rows})
    size = f"{counted(len(shown.rows), 'run')}, {counted(teams, 'team')}" if shown.rows else ""
    return CardPage(
        kind="task",
        name=shown.task,
        task=shown.task,
        slug=shown.slug,
        address=shown.slug,
        size=size if shown.access.means else "",
        facts=_of_board(shown, ranked),
        basis=rests_on(shown.basis) if ranked else "",
    )


def of_snapshot_page(page: SnapshotPage) -> CardPage:
    """The card of a snapshot, from its page as seen by a visitor."""
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
    """The basis of the scores of a card as text; empty without judgments."""
    if basis is None:
        return ""
    phase = f"{basis.phase} phase" if basis.phase else ""
    words = (phase, *_resting(basis.topics, basis.revision), basis.left_out, JUDGED_BY.get(basis.origin, ""))
    return ", ".join(filter(None, words))


def _resting(topics: int, revision: int) -> tuple[str, str]:
    return counted(topics, "topic"), f"qrels revision {revision}"


def _range(place: Place | None, rank: int) -> str:
    """The rank range of a run, or its rank if absent."""
    if place is None:
        return f"{rank:,}"
    ends = sorted({place.rank_low, place.rank_high})
    return "–".join(f"{end:,}" for end in ends)


def _of_board(shown: Board, ranked: Sequence[Row]) -> tuple[str, ...]:
    if not shown.access.means:
        return (HELD_BACK,)
    if not ranked:
        return (NO_SCORES,)
    first = [(row.run, row.scores[shown.sorted_by]) for row in ranked if row.rank == 1]
    leader = _leader(first, shown.sorted_by, shown.access.decimals or shown.by.digits)
    return _how_sure(leader, [place.best_set for place in shown.places.values()])


def _leader(first: Sequence[tuple[str, float | None]], measure: str, digits: int) -> tuple[str, ...]:
    """The leader with its score; empty without ranked runs."""
    if not first or first[0][1] is None:
        return ()
    name, score = first[0]
    who = f"{name} leads" if len(first) == 1 else f"{name} and {len(first) - 1:,} more lead"
    return (f"{who}, {measure} {score:.{digits}f}",)


def _how_sure(leader: tuple[str, ...], may_be_best: Sequence[bool]) -> tuple[str, ...]:
    """The leader and the number of runs that may be the best, or that the topics are too few."""
    best = sum(may_be_best)
    if len(may_be_best) > 1 and not best:
        return ("too few topics to rank the runs",)
    return (*leader, f"{best:,} may be the best") if best > 1 else leader


SHORTEST, LONGEST = 50, 5000
"""Characters of a description that search engines show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskData:
    """The metadata of a task's data; unknown values are empty or None."""

    name: str
    slug: str
    description: str
    creator: str
    licence: str
    revision: int | None
    published_at: datetime | None
    changed_at: datetime | None
    opens_at: datetime | None
    """From the first phase with an opening date."""
    closes_at: datetime | None
    """From the last phase."""
    measures: tuple[str, ...]
    has_scores: bool
    """Whether visitors may download the board."""
    has_judgments: bool
    """Whether visitors may download the judgments."""


def data_of_task(session: Session, slug: str) -> TaskData:
    """The metadata of a task's data as a visitor sees it."""
    asker = visitor()
    return task_data(session, asker, boards.board(session, asker, slug))


def task_data(session: Session, viewer: Viewer, shown: Board) -> TaskData:
    """The metadata of a task from its board as seen by a visitor; no extra statements."""
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
        has_scores=basis is not None and shown.access.means,
        has_judgments=basis is not None and shown.access.details,
    )


def _description(shown: Board) -> str:
    """The organisers' description, extended by the results of the board if it is short."""
    text = " ".join(shown.of.description.split())
    if len(text) < SHORTEST:
        what = f"{shown.task}, a shared task in information retrieval."
        text = f"{text} {what} {of_board(shown).description}".strip()
    return text[:LONGEST]


ROWS, MOST_ROWS = 10, 50


@dataclass(frozen=True, slots=True)
class FramePage:
    """The contents of a frame; rows are empty while scores are hidden or missing."""

    board: Board
    rows: tuple[Row, ...]
    more: int
    """The number of runs of the board that the frame omits."""
    basis: str
    origins: tuple[str, ...]
    """Origins that may embed it."""


def frame(session: Session, slug: str, measure: str | None, rows: int, phase: str = "") -> FramePage:
    """The frame of a task as seen by a visitor, with a maximum number of rows.

    Raises NotFound if visitors may not see the task or the phase, UnknownMeasure as the board does.
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
    """The origins in a task's setting."""
    return tuple(frames.split())


def frame_table(page: FramePage) -> Table[Row]:
    """Table of rows with rank range, name, team and score."""
    shown = page.board
    by = shown.sorted_by
    return Table(
        f"{shown.slug}-frame",
        f"{shown.task}, ranked by {shown.ranked_by}.",
        columns_from(
            Row,
            Column("rank", lambda row: row.rank, "Rank", words=lambda row: _ranks(shown, row), digits=0),
            "run run_id team",
            Column(by, lambda row: row.scores[by], digits=shown.access.decimals or shown.by.digits),
        ),
        page.rows,
    )


def _ranks(shown: Board, row: Row) -> str | None:
    """The rank range of a run, or its rank if absent."""
    place = shown.places.get(row.run_id)
    if place is None or place.rank_low == place.rank_high:
        return None if row.rank is None else str(row.rank)
    return f"{place.rank_low}–{place.rank_high}"

"""A task as a set of data, for search engines: what a visitor may know of it."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from leaderboard.pages.cards.card import of_board
from leaderboard.services import policy
from leaderboard.services.boards.board import Board
from leaderboard.services.policy import Viewer

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

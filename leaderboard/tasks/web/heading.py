"""The heading on every page of a task: its logo, dates and newest announcement."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from flask import Flask, url_for

from leaderboard.core import kinds, policy
from leaderboard.core.kinds import RunKind
from leaderboard.core.phase_rules import PhaseRule
from leaderboard.core.policy import TaskLogo
from leaderboard.core.slots import TABS
from leaderboard.db.tables import Task
from leaderboard.errors import NotFound
from leaderboard.tasks.ops.pictures import pictures
from leaderboard.tasks.page import news, phases
from leaderboard.tasks.page.news import NewsHead
from leaderboard.tasks.page.phases import DateRow
from leaderboard.web.session import memo, reading, viewer


def register(app: Flask) -> None:
    """Make it available to templates."""
    app.jinja_env.globals.update(
        head_of=head_of,
        takes=takes,
        anywhere=phases.anywhere,
        newest_of=newest_of,
        logo_of=logo_of,
        picture_address=picture_address,
        with_tabs=with_tabs,
    )


@dataclass(frozen=True, slots=True)
class PageHead:
    """The first line of a task's pages: its name, its state and the date that matters now.

    state: `draft`, `open`, `soon` or `closed`; visibility: `blind` or `sealed` while scores are hidden.
    """

    name: str
    state: str
    visibility: str
    date: DateRow | None
    phases: int
    organises: bool
    """Whether the reader organises the task."""


def head_of(slug: str) -> PageHead | None:
    """The head of a task; None for a task that the reader may not know of."""
    head = _head(slug)
    if head is None:
        return None
    task, rules = head
    # The clock of this machine is good enough for how many days are left, and costs no statement.
    at = datetime.now(UTC)
    state, chosen = phases.at_present(rules, at)
    if task.published_at is None:
        state = "draft"
    visibility = task.visibility if task.visibility != "open" and state != "closed" else ""
    dates = phases.strip((chosen,) if chosen else (), at)
    organises = policy.organises(viewer(), task.id)
    return PageHead(task.name, state, visibility, dates[0] if dates else None, len(rules), organises)


def takes(slug: str) -> RunKind:
    """The kind of a task: rankings by default."""
    head = _head(slug)
    return kinds.of(head[0].kind if head else kinds.RANKINGS)


def _head(slug: str) -> tuple[Task, tuple[PhaseRule, ...]] | None:
    # A run's page knows its task, and has no statement to spare for the frame around it.
    if slug not in memo().heads:
        try:
            policy.task_context(reading(), viewer(), slug)
        except NotFound:
            return None
    return memo().heads[slug]


def newest_of(slug: str) -> NewsHead | None:
    """The announcement that is named under a task's title; None for a task the reader may not know of."""
    try:
        # The clock of this machine is good enough for a month, and costs no statement.
        return news.newest(reading(), viewer(), slug, datetime.now(UTC))
    except NotFound:
        return None


def logo_of(slug: str) -> TaskLogo | None:
    """The logo of a task that this request has read."""
    return memo().logos.get(slug)


def picture_address(slug: str, sha256: str) -> str:
    """The address of a task's picture."""
    return url_for("pictures.show", slug=slug, digest=sha256[: pictures.ADDRESS])


def with_tabs(
    room: str, tabs: Iterable[tuple[str, str, bool]], kind: str, details: bool
) -> list[tuple[str, str, bool]]:
    """The tabs of a room of a task (name, endpoint, whether it is shown) with those that features add.

    kind: of run; details: whether added tabs may be shown to the reader at all.
    """
    all_tabs = list(tabs)
    for tab in (tab for tab in TABS if tab.room == room):
        place = 1 + next(at for at, (name, _, _) in enumerate(all_tabs) if name == tab.after)
        all_tabs.insert(place, (tab.name, tab.endpoint, details and (not tab.kinds or kind in tab.kinds)))
    return all_tabs

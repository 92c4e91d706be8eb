"""An account's own page as tables and files."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from leaderboard.pages.my.page import MOST_UPLOADS, MyPage, OwnRun, OwnTask, OwnUpload
from leaderboard.services.evaluations import choices
from leaderboard.tables.record import Column, Files, Table, columns_from
from leaderboard.tables.record import Place as Where


def facts(page: MyPage) -> dict[str, Any]:
    """The page as plain values at full precision."""
    return {name: table(page).facts() for name, table in TABLES.items()}


def task_table(page: MyPage) -> Table[OwnTask]:
    """The tasks, the next deadline first."""
    columns = columns_from(
        OwnTask,
        Column("task", lambda row: row.slug, "Task", shown=Where.DATA),
        Column("name", lambda row: row.task, "Task"),
        "state",
        Column("team", lambda row: row.team, "Team", words=lambda row: row.team or "organiser"),
        Column("state", lambda row: row.state, "State"),
        Column("opens", lambda row: _iso(row.opens_at), shown=Where.DATA),
        Column("closes", lambda row: _iso(row.closes_at), "Closes, UTC"),
        Column("left_today", lambda row: row.quota and row.quota.left_today, "Left today", digits=0),
        Column("limit", lambda row: row.quota and row.quota.limit, "Limit"),
        Column("left_in_all", lambda row: row.quota and row.quota.left_in_all, "Left in all", digits=0),
        "runs",
    )
    caption = (
        "The next deadline first. Left today is what the smallest of all limits leaves: accepted runs count, "
        "withdrawn ones too; rejected files do not."
    )
    return Table("my-tasks", caption, columns, page.tasks)


def run_table(page: MyPage) -> Table[OwnRun]:
    """The runs, newest first."""
    columns = columns_from(
        OwnRun,
        "name run_id",
        Column("actions", lambda row: row.run_id, "Change it", shown=Where.PAGE),
        "slug team kind state.state measure",
        Column(
            "score",
            lambda row: row.score,
            "Score",
            words=lambda row: None if row.score is None else f"{row.score:.{row.digits}f}",
            digits=4,
        ),
        Column("rank", lambda row: row.rank, "Rank", words=_rank_words, digits=0),
        Column("ranked", lambda row: row.ranked or None, shown=Where.DATA),
        Column("rank_low", lambda row: row.place and row.place.rank_low, shown=Where.DATA),
        Column("rank_high", lambda row: row.place and row.place.rank_high, shown=Where.DATA),
        Column(
            "marked",
            lambda row: row.actions.is_marked,
            "Choice",
            words=lambda row: _choice_words(row) or None,
        ),
        Column("sent", lambda row: _iso(row.created_at), "Sent, UTC"),
    )
    caption = (
        "Runs of your teams, newest first, as their boards show them to you: a rank with its range, where "
        "that is shown."
    )
    return Table("my-runs", caption, columns, page.runs)


def upload_table(page: MyPage) -> Table[OwnUpload]:
    """The uploads, newest first."""
    columns = columns_from(
        OwnUpload,
        "upload_id file_name slug team",
        Column("verdict", lambda row: row.state, "Verdict", words=_verdict),
        "problems",
        Column("first_problem", lambda row: row.first_problem or None, "First problem"),
        "run_id",
        Column("sent", lambda row: _iso(row.created_at), "Sent, UTC"),
    )
    caption = f"Files sent for your teams, newest first, at most {MOST_UPLOADS}; each leads to its report."
    return Table("my-uploads", caption, columns, page.uploads)


TABLES: dict[str, Callable[[MyPage], Table[Any]]] = {
    "tasks": task_table,
    "runs": run_table,
    "uploads": upload_table,
}
FILES = Files(facts=facts, tables=TABLES)


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None


def _rank_words(row: OwnRun) -> str | None:
    if row.rank is None:
        return None
    between = f" ({row.place.rank_low}–{row.place.rank_high})" if row.place else ""
    return f"{row.rank} of {row.ranked}{between}"


def _choice_words(row: OwnRun) -> str:
    if row.kind == choices.NOT_CHOSEN:
        return choices.NOT_CHOSEN
    if not row.actions.is_marked:
        return ""
    return "counts at the end" if row.actions.final_runs else "primary run"


def _verdict(row: OwnUpload) -> str:
    if row.state != "rejected":
        return row.state
    return f"rejected, {row.problems} {'problem' if row.problems == 1 else 'problems'}"

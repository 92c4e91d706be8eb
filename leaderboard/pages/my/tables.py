"""An account's own page as tables and files."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from leaderboard.pages.my.page import MOST_UPLOADS, MyPage, OwnRun, OwnTask, OwnUpload
from leaderboard.services.evaluations import choices
from leaderboard.tables.record import Column, Files, Table
from leaderboard.tables.record import Place as Where


def facts(page: MyPage) -> dict[str, Any]:
    """The page as plain values at full precision."""
    return {name: table(page).facts() for name, table in TABLES.items()}


def task_table(page: MyPage) -> Table[OwnTask]:
    """The tasks, the next deadline first."""
    columns: list[Column[OwnTask]] = [
        Column(key="task", value=lambda row: row.slug, shown=Where.DATA),
        Column(key="name", head="Task", value=lambda row: row.task),
        Column(key="send", head="Next", value=lambda row: row.state, shown=Where.PAGE),
        Column(
            key="team", head="Team", value=lambda row: row.team, words=lambda row: row.team or "organiser"
        ),
        Column(key="state", head="State", value=lambda row: row.state),
        Column(key="opens", value=lambda row: _iso(row.opens_at), shown=Where.DATA),
        Column(key="closes", head="Closes, UTC", value=lambda row: _iso(row.closes_at)),
        Column(
            key="left_today",
            head="Left today",
            value=lambda row: row.quota and row.quota.left_today,
            digits=0,
        ),
        Column(key="limit", head="Limit", value=lambda row: row.quota and row.quota.limit),
        Column(
            key="left_in_all",
            head="Left in all",
            value=lambda row: row.quota and row.quota.left_in_all,
            digits=0,
        ),
        Column(key="runs", head="Runs", value=lambda row: row.runs, digits=0),
    ]
    caption = (
        "The next deadline first. Left today is what the smallest of all limits leaves: accepted runs count, "
        "withdrawn ones too; rejected files do not."
    )
    return Table(name="my-tasks", caption=caption, columns=columns, rows=page.tasks)


def run_table(page: MyPage) -> Table[OwnRun]:
    """The runs, newest first."""
    columns: list[Column[OwnRun]] = [
        Column(key="run", head="Run", value=lambda row: row.name),
        Column(key="run_id", value=lambda row: row.run_id, shown=Where.DATA),
        Column(key="actions", head="Change it", value=lambda row: row.run_id, shown=Where.PAGE),
        Column(key="task", head="Task", value=lambda row: row.slug),
        Column(key="team", head="Team", value=lambda row: row.team),
        Column(key="kind", value=lambda row: row.kind, shown=Where.DATA),
        Column(key="state", head="State", value=lambda row: row.state.state),
        Column(key="measure", head="Measure", value=lambda row: row.measure),
        Column(
            key="score",
            head="Score",
            value=lambda row: row.score,
            words=lambda row: None if row.score is None else f"{row.score:.{row.digits}f}",
            digits=4,
        ),
        Column(key="rank", head="Rank", value=lambda row: row.rank, words=_rank_words, digits=0),
        Column(key="ranked", value=lambda row: row.ranked or None, shown=Where.DATA),
        Column(key="rank_low", value=lambda row: row.place and row.place.rank_low, shown=Where.DATA),
        Column(key="rank_high", value=lambda row: row.place and row.place.rank_high, shown=Where.DATA),
        Column(
            key="marked",
            head="Choice",
            value=lambda row: row.actions.is_marked,
            words=lambda row: _choice_words(row) or None,
        ),
        Column(key="sent", head="Sent, UTC", value=lambda row: _iso(row.created_at)),
    ]
    caption = (
        "Runs of your teams, newest first, as their boards show them to you: a rank with its range, where "
        "that is shown."
    )
    return Table(name="my-runs", caption=caption, columns=columns, rows=page.runs)


def upload_table(page: MyPage) -> Table[OwnUpload]:
    """The uploads, newest first."""
    columns: list[Column[OwnUpload]] = [
        Column(key="upload", value=lambda row: row.upload_id, shown=Where.DATA),
        Column(key="file", head="File", value=lambda row: row.file_name),
        Column(key="task", head="Task", value=lambda row: row.slug),
        Column(key="team", head="Team", value=lambda row: row.team),
        Column(key="verdict", head="Verdict", value=lambda row: row.state, words=_verdict),
        Column(key="problems", value=lambda row: row.problems, shown=Where.DATA),
        Column(key="first_problem", head="First problem", value=lambda row: row.first_problem or None),
        Column(key="run_id", value=lambda row: row.run_id, shown=Where.DATA),
        Column(key="sent", head="Sent, UTC", value=lambda row: _iso(row.created_at)),
    ]
    caption = f"Files sent for your teams, newest first, at most {MOST_UPLOADS}; each leads to its report."
    return Table(name="my-uploads", caption=caption, columns=columns, rows=page.uploads)


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

"""What a run's page says beside it: suite runs, reproductions, accounts, why a late run counts."""

from typing import Any, NamedTuple

from sqlalchemy import exists, or_, select

from leaderboard.db.tables import Member, Reproduction, Run, SuiteRunPart, Upload


class RunLinks(NamedTuple):
    """Whether there may be something to read: not whether the reader may know of it."""

    in_suites: bool = True
    in_reproductions: bool = True
    has_accounts: bool = True
    late: str = ""
    """Why its organisers let it count though it came after the close."""


def with_links(selected: Any) -> Any:
    """A statement over runs with the columns that `in_row` reads."""
    in_suites = exists().where(SuiteRunPart.run_id == Run.id)
    reproduces, reproduced = (
        exists().where(column == Run.id) for column in (Reproduction.run_id, Reproduction.original_id)
    )
    has_accounts = exists().where(Member.team_id == Run.team_id)
    return selected.add_columns(
        in_suites.label("in_suites"),
        or_(reproduces, reproduced).label("in_reproductions"),
        has_accounts.label("has_accounts"),
        select(Upload.wishes).where(Upload.id == Run.upload_id).scalar_subquery().label("wishes"),
    )


def in_row(row: Any) -> RunLinks:
    """What a row of `with_links` says."""
    return RunLinks(row.in_suites, row.in_reproductions, row.has_accounts, row.wishes.get("late", ""))

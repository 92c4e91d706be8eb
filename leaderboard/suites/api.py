"""Operations on suites: read, create, change; submit, combine, withdraw and restore their runs."""

from dataclasses import dataclass
from typing import Literal

import msgspec

from leaderboard import fields
from leaderboard.suites import page as suites_pages
from leaderboard.suites.ops import changes, seen, sending
from leaderboard.suites.ops.changes import SuiteDraft
from leaderboard.suites.page import SuiteChoice
from leaderboard.trec.suites import GROUPS
from leaderboard.web.api import actions
from leaderboard.web.api.lists import ListQuery, Rows, part
from leaderboard.web.api.operations import Reply, operation
from leaderboard.web.rules import SIGNED_IN, Rule
from leaderboard.web.session import reading, viewer


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteQuery:
    """The ranking; members: these or like-these, the members that the confidence covers; the counted groups.

    by: mean, macro, micro, borda or mean_rank. baseline: the run that gains are computed over, if not the
    suite's.
    """

    by: Literal["mean", "macro", "micro", "borda", "mean_rank"] = "mean"
    members: Literal["these", "like-these"] = "these"
    domain: str = ""
    language: str = ""
    lag: str = ""
    baseline: str = ""


SuiteBody = fields.as_sent(SuiteDraft)


@operation("GET", "/suites", Rows, query=ListQuery)
def suites(query: ListQuery) -> Reply:
    """List the suites of the site

    A suite combines several tasks on one leaderboard.
    """
    return part(suites_pages.list_table(suites_pages.suites(reading(), viewer())), query, "slug")


@operation("GET", "/suites/<suite>", dict, query=SuiteQuery)
def show_suite(suite: str, query: SuiteQuery) -> dict[str, object]:
    """Get the leaderboard of a suite

    With changes between its members and all pairs of runs. A member whose scores are hidden from you is
    listed in `left_out` and does not count.
    """
    choice = SuiteChoice(
        by=query.by,
        like_these=query.members == "like-these",
        groups=tuple((key, value) for key in GROUPS if (value := getattr(query, key))),
        baseline=query.baseline,
    )
    return suites_pages.suite_facts(suites_pages.suite_page(reading(), viewer(), suite, choice))


@operation("GET", "/suites/<suite>/runs/<id:suite_run_id>", dict)
def show_suite_run(suite: str, suite_run_id: int) -> dict[str, object]:
    """Get a suite run with the runs of its members"""
    return _run(suite, suite_run_id)


@operation("GET", "/suites/<suite>/settings", SuiteBody, rule=Rule(SIGNED_IN))
def suite_settings(suite: str) -> object:
    """Show the settings of a suite

    In the form that PUT of the suite accepts, for accounts that can change it.
    """
    known_suite = seen.own_suite(reading(), viewer(), suite)
    return msgspec.convert(changes.as_facts(changes.draft_of(known_suite)), SuiteBody)


OPERATIONS = (
    suites,
    show_suite,
    show_suite_run,
    suite_settings,
    *actions.operations(changes.SETTINGS),
    *actions.operations(
        (sending.SEND, *changes.RUNS),
        answers={
            "send_suite_run": (dict, lambda number, suite, name: _run(suite, number)),
            "put_suite_run_together": (dict, lambda number, suite: _run(suite, number)),
            "fill_in_suite_run": (dict, lambda _, **at: _run(**at)),
        },
    ),
)


def _run(suite: str, suite_run_id: int) -> dict[str, object]:
    return suites_pages.run_facts(suites_pages.suite_run_page(reading(), viewer(), suite, suite_run_id))

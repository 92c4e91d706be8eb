"""Operations on suites: read, create, change; submit, combine, withdraw and restore their runs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from leaderboard import fields
from leaderboard.core.actions import Received
from leaderboard.scoring.ops import run_facts as facts
from leaderboard.suites import page as suites_pages
from leaderboard.suites.ops import changes, seen
from leaderboard.suites.ops.changes import SuiteDraft
from leaderboard.suites.ops.sending import SuiteRequest
from leaderboard.suites.page import SuiteChoice
from leaderboard.suites.web import sending as web_sending
from leaderboard.trec.read.bundles import base_name
from leaderboard.trec.suites import GROUPS
from leaderboard.web.api import actions, repeats
from leaderboard.web.api.lists import ListQuery, Rows, part
from leaderboard.web.api.operations import BODY_OF_FILE, SUBMIT, Reply, operation
from leaderboard.web.rules import SIGNED_IN, Rule
from leaderboard.web.session import finish_reading, reading, token, viewer


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteSendQuery:
    """The team, and the entries for each run; file_name: name of the archive."""

    team_id: int
    kind: str = "official"
    description: str = ""
    file_name: str = ""


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
    known = seen.own_suite(reading(), viewer(), suite)
    return msgspec.convert(changes.as_facts(changes.draft_of(known)), SuiteBody)


@operation(
    "PUT",
    "/suites/<suite>/archives/<name>",
    dict,
    query=SuiteSendQuery,
    rule=BODY_OF_FILE,
    scopes=SUBMIT,
    status=201,
)
def send_suite_run(suite: str, name: str, query: SuiteSendQuery, file: Path) -> Reply:
    """Submit a suite run

    The body is a zip or tar with one folder per member. Each member's run becomes an ordinary run of its
    task, under this name. If there is any problem, nothing is stored: 422, with every problem. With
    `Idempotency-Key`, the same archive sent again creates no second suite run.
    """
    key, asking = repeats.given_key(), token()
    wished = SuiteRequest(
        team_id=query.team_id, name=name, kind=query.kind, description=facts.require_short(query.description)
    )
    received = Received(file, base_name(query.file_name) or name)
    made = web_sending.deliver(
        suite, received, wished, f"api:{asking.token_id if asking else 0}:{key}" if key else None
    )
    finish_reading()
    return Reply(answer=_run(suite, made), status=201, headers={})


OPERATIONS = (
    suites,
    show_suite,
    show_suite_run,
    suite_settings,
    *actions.operations(changes.SETTINGS),
    send_suite_run,
    *actions.operations(
        changes.RUNS,
        answers={
            "put_suite_run_together": (dict, lambda number, suite: _run(suite, number)),
            "fill_in_suite_run": (dict, lambda _, **at: _run(**at)),
        },
    ),
)


def _run(suite: str, suite_run_id: int) -> dict[str, object]:
    return suites_pages.run_facts(suites_pages.suite_run_page(reading(), viewer(), suite, suite_run_id))

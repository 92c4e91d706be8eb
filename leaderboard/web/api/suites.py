"""Operations on suites: read, made, changed; their runs sent, put together, taken off and put back."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from leaderboard.pages.suites import board
from leaderboard.pages.suites import run as run_pages
from leaderboard.pages.suites.board import SuiteChoice
from leaderboard.services.policy import Scope
from leaderboard.services.runs import describe
from leaderboard.services.suites import changes, parts, records
from leaderboard.services.suites.drafts import MemberDraft, SuiteDraft
from leaderboard.services.suites.sending import SuiteRequest
from leaderboard.trec.read.bundles import base_name
from leaderboard.trec.suites.suite_files import GROUPS
from leaderboard.web.api import limits, repeats
from leaderboard.web.api.limits import Filled
from leaderboard.web.api.lists import ListQuery, Rows, part
from leaderboard.web.api.operations import BODY_OF_FILE, SUBMIT, WRITE, Reply, operation
from leaderboard.web.api.organise.answers import Done
from leaderboard.web.files import Received
from leaderboard.web.rules import SIGNED_IN, Rule
from leaderboard.web.session import finish_reading, reading, token, viewer, writing
from leaderboard.web.suites import sending as web_sending

ORGANISE = (Scope.ORGANISE,)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteQuery:
    """What ranks runs; members: these or like-these, for which ranks are told; which groups count.

    by: mean, macro, micro, borda or mean_rank. baseline: the run that gains are told over, if not the
    suite's.
    """

    by: Literal["mean", "macro", "micro", "borda", "mean_rank"] = "mean"
    members: Literal["these", "like-these"] = "these"
    domain: str = ""
    language: str = ""
    lag: str = ""
    baseline: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteMemberBody:
    """A member: its short name, its task; a measure of its board, if not the primary one; groups."""

    name: str
    task: str
    measure: str = ""
    domain: str = ""
    language: str = ""
    lag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteBody:
    """What a suite is to be; macro: domain, language or lag, by which macro means group members."""

    title: Filled
    members: Annotated[tuple[SuiteMemberBody, ...], limits.told(minItems=2, maxItems=changes.MOST_MEMBERS)]
    description: str = ""
    reference: str = ""
    baseline: str = ""
    macro: str = ""
    shared_topics: bool = False
    missing_is_empty: bool = False
    metadata_is_required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteSendQuery:
    """For which team, and what each of the runs is to be; file_name: that the archive came by."""

    team_id: int
    kind: str = "official"
    description: str = ""
    file_name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRun:
    """The number of a run and the short name of the member that it is for."""

    member: str
    run: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenRuns:
    """Runs of the team for members that a suite run lacks."""

    runs: Annotated[tuple[MemberRun, ...], Meta(min_length=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSuiteRun:
    """A suite run of runs that a team has."""

    team_id: int
    name: str
    runs: Annotated[tuple[MemberRun, ...], Meta(min_length=1)]


@operation("GET", "/suites", Rows, query=ListQuery)
def suites(query: ListQuery) -> Reply:
    """The suites of the site

    Each is several tasks with one board.
    """
    return part(board.list_table(board.suites(reading(), viewer())), query, "slug")


@operation("GET", "/suites/<suite>", dict, query=SuiteQuery)
def show_suite(suite: str, query: SuiteQuery) -> dict[str, object]:
    """The board of a suite

    With changes between its members and all pairs of runs. A member whose scores are held back from you is
    among `left_out`, and counts nowhere.
    """
    choice = SuiteChoice(
        by=query.by,
        like_these=query.members == "like-these",
        groups=tuple((key, value) for key in GROUPS if (value := getattr(query, key))),
        baseline=query.baseline,
    )
    return board.facts(board.suite_page(reading(), viewer(), suite, choice))


@operation("GET", "/suites/<suite>/runs/<id:suite_run_id>", dict)
def show_suite_run(suite: str, suite_run_id: int) -> dict[str, object]:
    """One suite run with the runs of its members"""
    return _run(suite, suite_run_id)


@operation("GET", "/suites/<suite>/settings", SuiteBody, rule=Rule(SIGNED_IN))
def suite_settings(suite: str) -> SuiteBody:
    """What a suite is

    As PUT of the suite takes it, for who may change it.
    """
    draft = asdict(changes.draft_of(records.own_suite(reading(), viewer(), suite)))
    members = tuple(
        SuiteMemberBody(**{one.name: member[one.name] for one in fields(SuiteMemberBody)})
        for member in draft["members"]
    )
    return SuiteBody(**{one.name: draft[one.name] for one in fields(SuiteBody)} | {"members": members})


@operation("POST", "/suites/<suite>", Done, body=SuiteBody, scopes=ORGANISE, status=201)
def make_suite(suite: str, body: SuiteBody) -> Done:
    """Make a suite

    For who organises all of its tasks, or operates the site.
    """
    return _changed("suite made", changes.create, _draft(suite, body))


@operation("PUT", "/suites/<suite>", Done, body=SuiteBody, scopes=ORGANISE)
def change_suite(suite: str, body: SuiteBody) -> Done:
    """Make a suite what is said

    A member that is left out keeps its runs for when it comes back.
    """
    return _changed("suite changed", changes.change, suite, _draft(suite, body))


@operation("POST", "/suites/<suite>/withdraw", Done, scopes=ORGANISE)
def withdraw_suite(suite: str) -> Done:
    """Take a suite off the site"""
    return _changed("suite taken off", changes.withdraw, suite)


@operation("POST", "/suites/<suite>/restore", Done, scopes=ORGANISE)
def restore_suite(suite: str) -> Done:
    """Put a suite back on the site"""
    return _changed("suite put back", changes.restore, suite)


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
    """Send a suite run

    The body is a zip or a tar with a folder for each member. Each member's run becomes an ordinary run of
    its task, under this name; with any problem nothing is stored: 422, with every problem. With
    `Idempotency-Key` the same archive sent again makes no second suite run.
    """
    key, asking = repeats.given_key(), token()
    wished = SuiteRequest(
        team_id=query.team_id,
        name=name,
        kind=query.kind,
        description=describe.require_short(query.description),
    )
    received = Received(file, base_name(query.file_name) or name)
    made = web_sending.deliver(
        suite, received, wished, f"api:{asking.token_id if asking else 0}:{key}" if key else None
    )
    finish_reading()
    return Reply(answer=_run(suite, made), status=201, headers={})


@operation("POST", "/suites/<suite>/runs", dict, body=NewSuiteRun, scopes=WRITE, status=201)
def put_suite_run_together(suite: str, body: NewSuiteRun) -> dict[str, object]:
    """Make a suite run of runs that a team has

    A run of each member's task; members may be missing.
    """
    asker = viewer()
    with writing() as session:
        made = parts.put_together(session, asker, suite, body.team_id, body.name, _runs(body.runs))
    finish_reading()
    return _run(suite, made)


@operation("POST", "/suites/<suite>/runs/<id:suite_run_id>/parts", dict, body=ChosenRuns, scopes=WRITE)
def fill_in_suite_run(suite: str, suite_run_id: int, body: ChosenRuns) -> dict[str, object]:
    """Give members that a suite run lacks a run of its team"""
    asker = viewer()
    with writing() as session:
        parts.fill_in(session, asker, suite, suite_run_id, _runs(body.runs))
    finish_reading()
    return _run(suite, suite_run_id)


@operation("POST", "/suites/<suite>/runs/<id:suite_run_id>/withdraw", Done, scopes=WRITE)
def withdraw_suite_run(suite: str, suite_run_id: int) -> Done:
    """Take a suite run off the suite

    Its runs stay in their tasks.
    """
    return _changed("suite run taken off", parts.withdraw, suite, suite_run_id)


@operation("POST", "/suites/<suite>/runs/<id:suite_run_id>/restore", Done, scopes=WRITE)
def restore_suite_run(suite: str, suite_run_id: int) -> Done:
    """Put a suite run back"""
    return _changed("suite run put back", parts.restore, suite, suite_run_id)


OPERATIONS = (
    suites,
    show_suite,
    show_suite_run,
    suite_settings,
    make_suite,
    change_suite,
    withdraw_suite,
    restore_suite,
    send_suite_run,
    put_suite_run_together,
    fill_in_suite_run,
    withdraw_suite_run,
    restore_suite_run,
)


def _run(suite: str, suite_run_id: int) -> dict[str, object]:
    return run_pages.facts(run_pages.suite_run_page(reading(), viewer(), suite, suite_run_id))


def _draft(slug: str, body: SuiteBody) -> SuiteDraft:
    given = asdict(body)
    members = tuple(MemberDraft(**one) for one in given.pop("members"))
    return SuiteDraft(slug=slug, members=members, **given)


def _runs(chosen: tuple[MemberRun, ...]) -> dict[str, int]:
    return {one.member: one.run for one in chosen}


def _changed(words: str, act: Callable[..., object], *given: Any) -> Done:
    asker = viewer()
    with writing() as session:
        act(session, asker, *given)
    return Done(done=words)

"""Operations on runs: sent, read, described, marked, withdrawn and restored."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from flask import Response, url_for

from leaderboard.errors import Busy, Invalid, LeaderboardError, Problem
from leaderboard.pages.runs import measures
from leaderboard.pages.runs import run as run_pages
from leaderboard.pages.runs import topics as run_topics
from leaderboard.pages.runs import upload as runs_upload
from leaderboard.pages.runs.head import ranked_documents, scored_run, seen_run
from leaderboard.services.policy import Viewer
from leaderboard.services.runs import facts, fixing, limits, runners, withdrawals
from leaderboard.services.runs.limits import RunRequest
from leaderboard.services.runs.uploads import Submission
from leaderboard.trec.facts import FIELD_OF
from leaderboard.trec.read.bundles import base_name
from leaderboard.trec.runs.fixes import FIXES
from leaderboard.web.api import actions, repeats
from leaderboard.web.api import limits as api_limits
from leaderboard.web.api.answers import ChangedRun, CheckAnswer, RunAnswer, UploadAnswer, findings
from leaderboard.web.api.limits import names_of
from leaderboard.web.api.lists import ListQuery, Rows, part
from leaderboard.web.api.operations import BODY_OF_FILE, FILE_TO_CHECK, LOOK, SUBMIT, WRITE, Reply, operation
from leaderboard.web.api.tasks import MeasureQuery, rate_limit
from leaderboard.web.files import Received
from leaderboard.web.rules import SIGNED_IN, Rule
from leaderboard.web.runs import checks, uploads
from leaderboard.web.runs.files import answer
from leaderboard.web.session import finish_reading, reading, token, viewer, wake, writing


@dataclass(frozen=True, slots=True, kw_only=True)
class SendQuery:
    """For which team, and what the run is to be; file_name: whose ending says how the file is compressed.

    image and commit: what a runner executed, as `sha256:` with its digest and as a hash. reproduces: the
    number of the run that it reproduces; original_baseline, baseline: those of the baselines.
    """

    team_id: int
    kind: str = "official"
    phase: str = ""
    description: str = ""
    file_name: str = ""
    image: str = ""
    commit: str = ""
    reproduces: int | None = None
    original_baseline: int | None = None
    baseline: int | None = None
    late: str = ""
    """Why the run counts although its phase has closed; for organisers only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChanges:
    """What is said anew of a run; facts by their keys, an empty text takes one back."""

    description: str | None = None
    facts: Annotated[Mapping[str, str], names_of(FIELD_OF)] = field(default_factory=dict)


@operation(
    "PUT",
    "/tasks/<slug>/runs/<name>",
    UploadAnswer,
    query=SendQuery,
    rule=BODY_OF_FILE,
    scopes=SUBMIT,
    status=201,
)
def send_run(slug: str, name: str, query: SendQuery, file: Path) -> Reply:
    """Send a run

    The body is the file as it is, plain or compressed. A small file is checked at once: 201, or 422 with
    every problem. A large one is checked by an evaluator: 202, and `Location` says where to ask. With
    `Idempotency-Key` the same file sent again makes no second run.
    """
    key = repeats.given_key()
    asking = token()
    sender, execution = runners.sending(reading(), viewer(), slug, query.team_id, query.image, query.commit)
    description = facts.require_short(query.description)
    submission = uploads.deliver(
        slug,
        query.team_id,
        Received(file, base_name(query.file_name) or name),
        RunRequest(
            name,
            query.kind,
            description,
            {},
            query.phase,
            execution,
            reproduces(query.reproduces, query.original_baseline, query.baseline),
            late=query.late,
        ),
        f"api:{asking.token_id if asking else 0}:{key}" if key else None,
        sender,
    )
    wake()
    answer = upload_answer(submission)
    if submission.state == "rejected":
        report = submission.report
        problems = report.problems if report else ()
        left = limits.rejections_left(reading(), sender.account_id)
        said = f"The file was rejected. {limits.rejections_in_words(left)}".strip()
        raise Invalid(said, problems, upload=submission.upload_id)
    if submission.state == "accepted":
        return Reply(answer=answer, status=201, headers=_left(sender, slug, query))
    address = url_for("api.upload", upload_id=submission.upload_id)
    return Reply(answer=answer, status=202, headers={"Location": address})


@operation("POST", "/tasks/<slug>/check", CheckAnswer, rule=FILE_TO_CHECK, scopes=LOOK)
def check_run(slug: str, file: Path) -> CheckAnswer:
    """Check a file without sending it

    The body is the file as it is. Nothing of it is kept, and it counts against no limit of runs.
    """
    report = checks.checked(file, limits.public_rules(reading(), viewer(), slug))
    return CheckAnswer(
        state="rejected" if report.problems else "accepted",
        problems=findings(report.problems),
        warnings=findings(report.warnings),
        fixes=report.fixes,
    )


@operation("GET", "/runs/<id:run_id>", RunAnswer)
def run(run_id: int) -> RunAnswer:
    """A run with its scores

    As you may see it; scores that are held back are missing.
    """
    return _run(run_pages.run_page(reading(), viewer(), run_id))


@operation("PATCH", "/runs/<id:run_id>", RunAnswer, body=RunChanges, scopes=WRITE)
def describe_run(run_id: int, body: RunChanges) -> RunAnswer:
    """Describe a run

    What is not given stays as it is.
    """
    unknown = next((key for key in body.facts if key not in FIELD_OF), None)
    if unknown is not None:
        problem = Problem("is no fact of a run.", f"Facts are {', '.join(FIELD_OF)}.", field=unknown[:64])
        raise Invalid(f"There is no fact {unknown[:64]!r}.", [problem])
    with writing() as session:
        facts.describe_run(session, viewer(), run_id, body.facts, body.description)
    return _run(run_pages.run_page(reading(), viewer(), run_id))


def _state(state: str | None, run_id: int) -> ChangedRun:
    """As the action says it is now; as its page says where it was restored."""
    return ChangedRun(
        run_id=run_id, state=state or run_pages.run_page(reading(), viewer(), run_id).state.state
    )


OPERATIONS = (
    *(send_run, check_run, run, describe_run),
    *actions.operations(
        withdrawals.ACTIONS,
        answers=dict.fromkeys((each.name for each in withdrawals.ACTIONS), (ChangedRun, _state)),
    ),
)


def reproduces(
    original: int | None, original_baseline: int | None, baseline: int | None
) -> Mapping[str, int]:
    """What a run is said to reproduce, by numbers of runs; raises Invalid for a baseline without original."""
    named = {"original": original, "original_baseline": original_baseline, "baseline": baseline}
    given = {name: run_id for name, run_id in named.items() if run_id is not None}
    if given and original is None:
        problem = Problem("is missing.", "Name the run that this one reproduces.", field="reproduces")
        raise Invalid("A baseline alone is no reproduction.", [problem])
    return given


def _left(sender: Viewer, slug: str, query: SendQuery) -> dict[str, str]:
    """What is left of the day's limit; nothing where it cannot be told: the run is accepted all the same."""
    try:
        left = limits.admission_quota(reading(), sender, slug, query.team_id, query.phase)
    except LeaderboardError:
        return {}
    return rate_limit(left, datetime.now(UTC))


def upload_answer(submission: Submission, sha256: str | None = None) -> UploadAnswer:
    """What became of an upload, as the API says it."""
    report = submission.report
    return UploadAnswer(
        upload=submission.upload_id,
        run_id=submission.run_id,
        state=submission.state,
        problems=findings(report.problems) if report else (),
        warnings=findings(report.warnings) if report else (),
        sha256=sha256,
    )


def _run(page: run_pages.RunPage) -> RunAnswer:
    primary = next((row for row in page.measures if row.column.key == page.by), None)
    return RunAnswer(
        run_id=page.id,
        run=page.name,
        team=page.team,
        kind=page.kind,
        filed=page.filed,
        task=page.slug,
        state=page.state.state,
        rank=primary.rank if primary else None,
        scores={row.column.key: row.value for row in page.measures},
        withdrawn=page.withdrawn_why or ("yes" if page.withdrawn_at else ""),
    )


@operation("GET", "/runs/<id:run_id>/topics", Rows, query=MeasureQuery)
def run_by_topic(run_id: int, query: MeasureQuery) -> Reply:
    """The scores of a run, topic by topic"""
    page = run_topics.topics_page(reading(), scored_run(reading(), viewer(), run_id), query.measure, "topic")
    return part(run_topics.table(page), query, "topic")


@operation("GET", "/runs/<id:run_id>/measures", Rows, query=ListQuery)
def run_by_measure(run_id: int, query: ListQuery) -> Reply:
    """The scores of a run by every measure that fits its judgments"""
    page = measures.measures_page(reading(), ranked_documents(reading(), viewer(), run_id))
    return part(measures.table(page), query, "measure")


@operation("GET", "/runs/<id:run_id>/origin", dict)
def run_origin(run_id: int) -> dict[str, object]:
    """Where the scores of a run come from

    Digests of file, ranking and judgments, versions of measures, and runs that are nearly the same.
    """
    page = measures.origin_page(reading(), seen_run(reading(), viewer(), run_id))
    return dict(measures.ORIGIN_FILES.facts(page))


@operation("GET", "/runs/<id:run_id>/file", bytes)
def run_file(run_id: int) -> Response:
    """The file of a run, as it was sent

    Where you may see it; its ETag is its SHA-256.
    """
    return answer(runs_upload.sent_file(reading(), viewer(), run_id))


READS = (run_by_topic, run_by_measure, run_origin, run_file)


LONGEST_WAIT_S = 30
LOOK_EVERY_S = 0.25
WAITING_AT_ONCE = 2
"""Requests that may wait at a time: each holds one of the server's threads, and pages need the others."""
_turns = threading.BoundedSemaphore(WAITING_AT_ONCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadQuery:
    """wait: seconds, 30 at most, to wait for the check to be done."""

    wait: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixes:
    """Names of fixes, as `fixes` of the check says them."""

    fixes: Annotated[tuple[Annotated[str, api_limits.one_of(FIXES)], ...], api_limits.told(minItems=1)]


@operation(
    "GET", "/uploads/<id:upload_id>", UploadAnswer, query=UploadQuery, rule=Rule(SIGNED_IN), scopes=LOOK
)
def upload(upload_id: int, query: UploadQuery) -> UploadAnswer:
    """What became of a file

    While its state is received the check is still to come; with `wait` the answer comes when it is done, or
    after so many seconds. A score takes a moment more: ask for the run.
    """
    answer = _now(upload_id)
    if answer.state != "received" or query.wait <= 0:
        return answer
    if not _turns.acquire(blocking=False):
        raise Busy("Others wait for their checks just now; ask again in a few seconds.", retry_after_s=2)
    try:
        until = time.monotonic() + min(query.wait, LONGEST_WAIT_S)
        while answer.state == "received" and time.monotonic() < until:
            # Nothing is held while it waits: neither a connection nor what was read before.
            finish_reading()
            time.sleep(LOOK_EVERY_S)
            answer = _now(upload_id)
        return answer
    finally:
        _turns.release()


@operation("POST", "/uploads/<id:upload_id>/fix", UploadAnswer, body=Fixes, scopes=WRITE, status=202)
def fix_upload(upload_id: int, body: Fixes) -> Reply:
    """Have a rejected file fixed

    By fixes that its check offered. A new upload is made of it, and checked like any other.
    """
    with writing() as session:
        made = fixing.ask(session, viewer(), upload_id, body.fixes)
    wake()
    address = url_for("api.upload", upload_id=made.upload_id)
    return Reply(answer=upload_answer(made), status=202, headers={"Location": address})


UPLOADS = (upload, fix_upload)


def _now(upload_id: int) -> UploadAnswer:
    page = runs_upload.upload_page(reading(), viewer(), upload_id)
    sent = page.upload
    return upload_answer(Submission(sent.id, page.run_id, sent.state, page.report), sent.sha256)

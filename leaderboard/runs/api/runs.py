"""Operations on runs: sent, read, described, marked, withdrawn and restored."""

import threading
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import ceil

from flask import Response, url_for

from leaderboard.core import throttles
from leaderboard.errors import Invalid, LeaderboardError
from leaderboard.runs.ops import fixing, limits, withdrawals
from leaderboard.runs.ops.limits import Quota
from leaderboard.runs.ops.uploads import CHECK, SEND, Delivery, Submission
from leaderboard.runs.page import measures
from leaderboard.runs.page import run as run_pages
from leaderboard.runs.page import topics as run_topics
from leaderboard.runs.page import upload as runs_upload
from leaderboard.runs.page.head import ranked_documents, scored_run, seen_run
from leaderboard.runs.page.rankings import ranking
from leaderboard.runs.web.files import answer
from leaderboard.scoring.ops import run_facts as facts
from leaderboard.trec.runs.check import Report
from leaderboard.web.api import actions
from leaderboard.web.api.answers import (
    ChangedRun,
    CheckAnswer,
    QuotaAnswer,
    RunAnswer,
    UploadAnswer,
    findings,
)
from leaderboard.web.api.lists import ListQuery, MeasureQuery, Rows, part
from leaderboard.web.api.operations import LOOK, Reply, operation
from leaderboard.web.rules import SIGNED_IN, Rule
from leaderboard.web.session import finish_reading, reading, viewer


def _sent(sent: tuple[Delivery, Submission], slug: str, name: str) -> Reply:
    delivery, submission = sent
    answer = upload_answer(submission)
    if submission.state == "rejected":
        report = submission.report
        problems = report.problems if report else ()
        left = limits.rejections_left(reading(), delivery.sender.account_id)
        message = f"The file was rejected. {limits.rejections_in_words(left)}".strip()
        raise Invalid(message, problems, upload=submission.upload_id)
    if submission.state == "accepted":
        return Reply(answer=answer, status=201, headers=_left(delivery))
    address = url_for("api.upload", upload_id=submission.upload_id)
    return Reply(answer=answer, status=202, headers={"Location": address})


def _checked(report: Report, slug: str) -> CheckAnswer:
    return CheckAnswer(
        state="rejected" if report.problems else "accepted",
        problems=findings(report.problems),
        warnings=findings(report.warnings),
        fixes=report.fixes,
    )


@operation("GET", "/runs/<id:run_id>", RunAnswer)
def run(run_id: int) -> RunAnswer:
    """Get a run with its scores

    As visible to you; hidden scores are missing.
    """
    return _shown(None, run_id)


def _shown(_: object, run_id: int) -> RunAnswer:
    return _run(run_pages.run_page(reading(), viewer(), run_id))


def _state(state: str | None, run_id: int) -> ChangedRun:
    """The run's state after the action; for a restored run, the state on its page."""
    return ChangedRun(
        run_id=run_id, state=state or run_pages.run_page(reading(), viewer(), run_id).state.state
    )


OPERATIONS = (
    *actions.operations(
        (SEND, CHECK), answers={"send_run": (UploadAnswer, _sent), "check_run": (CheckAnswer, _checked)}
    ),
    run,
    *actions.operations((facts.DESCRIBE,), answers={"describe_run": (RunAnswer, _shown)}),
    *actions.operations(
        withdrawals.ACTIONS,
        answers=dict.fromkeys((each.name for each in withdrawals.ACTIONS), (ChangedRun, _state)),
    ),
)


def _left(sent: Delivery) -> dict[str, str]:
    """The remaining runs of the day; empty if unknown, as the run is accepted anyway."""
    try:
        left = limits.admission_quota(reading(), sent.sender, sent.slug, sent.team_id, sent.run_request.phase)
    except LeaderboardError:
        return {}
    return rate_limit(left, datetime.now(UTC))


def upload_answer(submission: Submission, sha256: str | None = None) -> UploadAnswer:
    """The API answer for an upload."""
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
        agent=page.agent,
        task=page.slug,
        state=page.state.state,
        rank=primary.rank if primary else None,
        scores={row.column.key: row.value for row in page.measures},
        withdrawn=page.withdrawn_why or ("yes" if page.withdrawn_at else ""),
    )


@operation("GET", "/runs/<id:run_id>/topics", Rows, query=MeasureQuery)
def run_by_topic(run_id: int, query: MeasureQuery) -> Reply:
    """Get the scores of a run by topic"""
    page = run_topics.topics_page(reading(), scored_run(reading(), viewer(), run_id), query.measure, "topic")
    return part(run_topics.table(page), query, "topic")


@operation("GET", "/runs/<id:run_id>/measures", Rows, query=ListQuery)
def run_by_measure(run_id: int, query: ListQuery) -> Reply:
    """Get the scores of a run by every measure that its judgments support"""
    page = measures.measures_page(reading(), ranked_documents(reading(), viewer(), run_id))
    return part(measures.table(page), query, "measure")


@operation("GET", "/runs/<id:run_id>/origin", dict)
def run_origin(run_id: int) -> dict[str, object]:
    """Show the provenance of a run's scores

    Digests of file, ranking and judgments, versions of measures, and near-duplicate runs.
    """
    page = measures.origin_page(reading(), seen_run(reading(), viewer(), run_id))
    return dict(measures.ORIGIN_FILES.facts(page))


@operation("GET", "/runs/<id:run_id>/file", bytes)
def run_file(run_id: int) -> Response:
    """Download the file of a run as submitted

    If you may see it; its ETag is its SHA-256.
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


@operation(
    "GET", "/uploads/<id:upload_id>", UploadAnswer, query=UploadQuery, rule=Rule(SIGNED_IN), scopes=LOOK
)
def upload(upload_id: int, query: UploadQuery) -> UploadAnswer:
    """Show the state of an upload

    While its state is received, the check is pending. With `wait` the answer is sent when the check is done,
    or after that number of seconds. Scores follow later: query the run.
    """
    answer = _now(upload_id)
    if answer.state != "received" or query.wait <= 0:
        return answer
    busy = "Too many requests are waiting for checks. Try again in a few seconds."
    with throttles.turn(_turns, busy, 2):
        until = time.monotonic() + min(query.wait, LONGEST_WAIT_S)
        while answer.state == "received" and time.monotonic() < until:
            # Nothing is held while it waits: neither a connection nor what was read before.
            finish_reading()
            time.sleep(LOOK_EVERY_S)
            answer = _now(upload_id)
        return answer


def _fixed(submission: Submission, **_: object) -> Reply:
    address = url_for("api.upload", upload_id=submission.upload_id)
    return Reply(answer=upload_answer(submission), status=202, headers={"Location": address})


UPLOADS = (
    upload,
    *actions.operations(
        (fixing.FIX, withdrawals.REVIEW),
        answers={
            "fix_upload": (UploadAnswer, _fixed),
            "review_upload": (UploadAnswer, lambda _, upload_id: _now(upload_id)),
        },
    ),
)


def _now(upload_id: int) -> UploadAnswer:
    page = runs_upload.upload_page(reading(), viewer(), upload_id)
    sent = page.upload
    return upload_answer(Submission(sent.id, page.run_id, sent.state, page.report), sent.sha256)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingQuery(ListQuery):
    """titles: whether documents have their titles, where the site holds them."""

    titles: bool = False


@operation("GET", "/runs/<id:run_id>/topics/<topic:topic_id>", Rows, query=RankingQuery)
def show_ranking(run_id: int, topic_id: str, query: RankingQuery) -> Reply:
    """Show a run's ranking for a topic

    In scoring order, with grades if they are visible to you.
    """
    page = ranking.ranking_page(
        reading(), viewer(), run_id, topic_id, None, read="titles" if query.titles else "nothing"
    )
    return part(ranking.ranking_table(page), query, "docno")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaQuery:
    """The team, and the phase if the task has several."""

    team_id: int
    phase: str = ""


@operation("GET", "/tasks/<slug>/quota", QuotaAnswer, query=QuotaQuery, rule=Rule(SIGNED_IN), scopes=LOOK)
def quota(slug: str, query: QuotaQuery) -> Reply:
    """Show how many runs a team may still submit

    Accepted runs (including withdrawn ones) and files waiting to be checked count; rejected files do not.
    """
    left = limits.admission_quota(reading(), viewer(), slug, query.team_id, query.phase)
    rejections = limits.rejections_left(reading(), viewer().account_id)
    whose = {"team": query.team_id, "team_id": query.team_id, "rejections_left": rejections}
    answer = asdict(left) | whose
    return Reply(answer=answer, status=200, headers=rate_limit(left, datetime.now(UTC)))


def rate_limit(left: Quota, at: datetime) -> dict[str, str]:
    """The limit of a day in the fields of draft-ietf-httpapi-ratelimit-headers-09; none without a limit."""
    if left.per_day is None:
        return {}
    seconds = max(0, ceil((left.next_at - at).total_seconds()))
    return {
        "RateLimit-Policy": f'"runs-of-a-day";q={left.per_day};w=86400',
        "RateLimit": f'"runs-of-a-day";r={left.left_today};t={seconds}',
    }


RANKINGS = (show_ranking,)
QUOTA = (quota,)

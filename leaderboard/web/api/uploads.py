"""Operations on uploads: what became of a file that an evaluator checks."""

import threading
import time
from dataclasses import dataclass
from typing import Annotated

from flask import url_for

from leaderboard.errors import Busy
from leaderboard.pages.runs import upload as upload_pages
from leaderboard.services.runs import fixing
from leaderboard.services.runs.uploads import Submission
from leaderboard.trec.runs.fixes import FIXES
from leaderboard.web.api import limits
from leaderboard.web.api.answers import UploadAnswer
from leaderboard.web.api.operations import LOOK, WRITE, Reply, operation
from leaderboard.web.api.runs import upload_answer
from leaderboard.web.rules import SIGNED_IN, Rule
from leaderboard.web.session import finish_reading, reading, viewer, wake, writing

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

    fixes: Annotated[tuple[Annotated[str, limits.one_of(FIXES)], ...], limits.told(minItems=1)]


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


OPERATIONS = (upload, fix_upload)


def _now(upload_id: int) -> UploadAnswer:
    page = upload_pages.upload_page(reading(), viewer(), upload_id)
    sent = page.upload
    return upload_answer(Submission(sent.id, page.run_id, sent.state, page.report), sent.sha256)

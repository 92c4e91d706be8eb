"""Many files at once: a folder, archives, a list of whose runs they are, and their table of verdicts."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

from flask import Blueprint, redirect, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.core import throttles
from leaderboard.core.actions import Received
from leaderboard.errors import Invalid
from leaderboard.runs.ops import batches, prepare
from leaderboard.runs.ops.prepare import (
    BY_FOLDER,
    BY_LIST,
    FROM_FILE,
    QUICK_MEMORY,
    BatchFile,
    BatchRequest,
    RunList,
    archive_kind,
    plan,
)
from leaderboard.runs.ops.uploads import RunProperties
from leaderboard.runs.page import batch as pages
from leaderboard.runs.page.batch import BatchPage
from leaderboard.trec.read import bundles
from leaderboard.trec.read.lines import Limits
from leaderboard.web import actions, http
from leaderboard.web.errors import wants_json
from leaderboard.web.rules import SIGNED_IN, form_key, rule
from leaderboard.web.session import (
    database,
    finish_reading,
    incoming_folder,
    reading,
    settings,
    viewer,
    wake,
    writing,
)

blueprint = Blueprint("batches", __name__)

AT_ONCE = 2
"""Maximum batches unpacked and stored at a time; the other threads serve pages."""
_turns = threading.BoundedSemaphore(AT_ONCE)


def is_batch(files: Sequence[Received], task_kind: str) -> bool:
    """Whether a form submits several runs, assigns teams by list or folders, or asks to hold the runs."""
    if len(files) > 1 or request.form.get("team") in (BY_LIST, BY_FOLDER) or "hold" in request.form:
        return True
    return bool(files) and archive_kind(files[0].path, _limits(), task_kind) != ""


def take(slug: str, sent: Sequence[Received], task_kind: str) -> int:
    """Store all files of the form; the id of their batch. Raises Busy where others are sending many too."""
    with throttles.turn(_turns, "Too many files are being submitted right now. Try again in a minute.", 60):
        files, runs = _unpacked(sent, task_kind)
        batch_request = _wished(runs)
        planned, key, asker = plan(files, batch_request), form_key(), viewer()
        with writing() as session:
            opened = batches.begin(session, asker, slug, batch_request, planned, key)
        wake()
        batches.receive(database(), asker, slug, opened, planned, key)
    wake()
    return opened.id


def answer(batch_id: int) -> ResponseReturnValue:
    """The address of the verdicts: as JSON for a program, else as a page."""
    if wants_json():
        finish_reading()
        response = http.as_json(pages.facts(pages.batch_page(reading(), viewer(), batch_id)))
        response.status_code = 202
        return response
    return redirect(url_for("batches.show", batch_id=batch_id), 303)


def _limits() -> Limits:
    return Limits(plain_bytes=settings().plain_bytes, memory=QUICK_MEMORY)


def _unpacked(sent: Sequence[Received], task_kind: str) -> tuple[list[BatchFile], RunList | None]:
    """The files of a form and of the archives in it, and the list among them or in its own field."""
    files: list[BatchFile] = []
    lists = [request.form["list"]] if request.form.get("list", "").strip() else []
    left = _limits().plain_bytes
    for file in _members(sent, left, task_kind):
        if file.path is not None and prepare.is_list(file.path, file.name):
            lists.append(file.path.read_text("utf-8", "replace"))
        elif not bundles.is_hidden(file.name):
            files.append(file)
    if len(lists) > 1:
        raise Invalid("You sent several lists. Send one list that names all runs.")
    return files, prepare.read_list(lists[0]) if lists else None


def _members(sent: Sequence[Received], left: int, task_kind: str) -> Iterator[BatchFile]:
    for file in sent:
        kind = archive_kind(file.path, _limits(), task_kind)
        if not kind:
            yield BatchFile(file.name, file.path)
            continue
        # All archives of a form have together what one may have.
        for bundled_file in bundles.unbundled(
            file.path, kind, incoming_folder(), replace(_limits(), plain_bytes=left)
        ):
            left -= bundled_file.path.stat().st_size if bundled_file.path else 0
            yield BatchFile(bundled_file.name, bundled_file.path, bundled_file.problem)


def _wished(runs: RunList | None) -> BatchRequest:
    form, sent = request.form, actions.sent(RunProperties)
    many = sent.get("team_id") if sent.get("team_id") in (BY_LIST, BY_FOLDER) else None
    asked = fields.read(RunProperties, sent | ({"team_id": "1"} if many else {}))
    return BatchRequest(
        team=many or asked.team_id,
        names_from=form.get("names", FROM_FILE),
        runs=runs,
        makes_teams="make_teams" in form,
        holds="hold" in form,
        **asked.told,
    )


@http.with_files(
    blueprint, "/batches/<id:batch_id>", "runs/batch.html", pages.FILES, is_kept=False, table=pages.table
)
@rule(SIGNED_IN)
def show(batch_id: int) -> BatchPage:
    """The verdicts on files that were sent together; the page reloads itself while some wait."""
    return pages.batch_page(reading(), viewer(), batch_id)


@blueprint.post("/batches/<id:batch_id>/send")
@rule(SIGNED_IN)
def send(batch_id: int) -> ResponseReturnValue:
    """Submit the files that were held for review."""
    asker = viewer()
    with writing() as session:
        batches.send_held(session, asker, batch_id)
    wake()
    return redirect(url_for("batches.show", batch_id=batch_id), 303)


@blueprint.post("/batches/<id:batch_id>/drop")
@rule(SIGNED_IN)
def drop(batch_id: int) -> ResponseReturnValue:
    """Discard the files that were held for review."""
    asker = viewer()
    with writing() as session:
        batches.drop_held(session, asker, batch_id)
    return redirect(url_for("batches.show", batch_id=batch_id), 303)

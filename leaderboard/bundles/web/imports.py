"""A task made from files in the browser: what they were understood as is shown, and one button makes it."""

import threading
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session

from leaderboard import fields
from leaderboard.bundles import page as bundles
from leaderboard.bundles.ops import found, imports, opening
from leaderboard.bundles.ops.checking import ImportRequest
from leaderboard.bundles.ops.found import FolderRequest, FoundChoice, FoundTask
from leaderboard.bundles.ops.opening import Bounds, BundleFiles
from leaderboard.bundles.page import UnderstoodTask
from leaderboard.core import throttles
from leaderboard.core.policy import require_creator
from leaderboard.errors import Invalid, LeaderboardError, Problem
from leaderboard.fields import Field
from leaderboard.runs.ops.prepare import suggested_name
from leaderboard.tasks.ops.drafts import PreparedTask, suggested_slug
from leaderboard.trec.read.lines import Limits
from leaderboard.web import actions
from leaderboard.web.errors import refused
from leaderboard.web.rules import ORGANISER, Body, received_all, require_room, rule
from leaderboard.web.session import finish_reading, incoming_folder, reading, settings, viewer, wake, writing

blueprint = Blueprint("imports", __name__)

MOST_FILES = 2000
AT_ONCE = 1
"""Imports that are read or stored at a time: each may take minutes, and SQLite allows one writer."""
ENDINGS = (".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tar")
_turns = threading.BoundedSemaphore(AT_ONCE)
turn = partial(throttles.turn, _turns, "Another import is in progress. Try again in a minute.", 60)


def _word(title: str, help: str, otherwise: str = "") -> Field:
    return Field(title=title, help=help, longest=1000, read=lambda text: text.strip() or otherwise)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportWords:
    """Of files that no export wrote: the task's name, the kind of each file, and the teams of the runs."""

    name: Annotated[str, _word("Name", "The task's name.")] = ""
    slug: Annotated[str, Field(title="Slug", is_carried=True, read=str.strip)] = ""
    topics: Annotated[str, _word("Topics file", "The path of the topics file among the files.")] = ""
    qrels: Annotated[str, _word("Qrels file", "The path of the judgments among the files.")] = ""
    team: Annotated[
        str, _word("Team", "The team for runs that are missing from the team list.", found.TEAM)
    ] = found.TEAM
    make: Annotated[
        bool, Field(title="Make", help="false only reports how the files were understood.", is_of_api=True)
    ] = True
    is_sure: Annotated[
        bool, Field(title="Is sure", help="Make it where something is in doubt.", is_of_api=True)
    ] = False


@blueprint.get("/tasks/import")
@rule(ORGANISER)
def form() -> ResponseReturnValue:
    """The form to choose files."""
    return _form()


@blueprint.post("/tasks/import")
@rule(ORGANISER, Body.FOLDER)
def look() -> ResponseReturnValue:
    """The preview of an import; the files are kept until it is confirmed."""
    asker = viewer()
    finish_reading()
    sent = {file.name: file.path for file in received_all("file")}
    try:
        if not sent:
            raise Invalid(
                "Choose a file or a folder.",
                [Problem("is missing.", "Choose a file or a folder.", field="file")],
            )
        with turn(), opening.files_of(sent, bounds()) as files:
            page = _understood(files, _words(next(iter(sent)), is_export=files.is_bundle))
        assert asker.account_id is not None, "the rule lets in accounts only"
        require_room(settings(), sum(path.stat().st_size for path in sent.values()))
        token = opening.keep_bundle(settings().data, asker.account_id, list(sent.items()))
    except LeaderboardError as error:
        return refused(_form, error)
    return _check(page, token)


@blueprint.post("/tasks/import/make")
@rule(ORGANISER)
def make() -> ResponseReturnValue:
    """Import the task from the kept files, which are deleted afterwards."""
    account_id, token = viewer().account_id, request.form.get("token", "")
    assert account_id is not None, "the rule lets in accounts only"
    finish_reading()
    try:
        with turn(), opening.kept_bundle(settings().data, account_id, token, bounds()) as files:
            words = _words("", is_export=files.is_bundle)
            try:
                slug = made(files, words)
            except LeaderboardError as error:
                return refused(lambda error: _check(_understood(files, words), token, error), error)
    except LeaderboardError as error:
        return refused(_form, error)
    opening.drop_bundle(settings().data, account_id)
    return redirect(url_for("organise.show", slug=slug), 303)


def made(files: BundleFiles, words: ImportWords) -> str:
    """The slug of the task that was made from files; raises as `taking.take_in` and `making.make` do."""
    asker = viewer()
    if files.is_bundle:
        with writing() as session:
            import_request = ImportRequest(slug=words.slug, limits=limits())
            slug = imports.bring(session, asker, files, import_request).slug
    else:
        is_what, task = folder(files, words)
        with writing() as session:
            found.make_bundle(session, asker, files, task, is_what.runs, limits())
        slug = task.draft.slug
    wake()
    return slug


def folder(files: BundleFiles, words: ImportWords) -> tuple[FoundTask, PreparedTask]:
    """The interpretation of a folder, and the task it would become."""
    require_creator(viewer())
    choice = FoundChoice(
        topics=words.topics,
        qrels=words.qrels,
        team=words.team,
        name_topics="in the field “Topics file”",
        name_qrels="in the field “Qrels file”",
        limits=limits(),
    )
    is_what = found.look(files, choice)
    folder_request = FolderRequest(slug=words.slug, name=words.name or words.slug, limits=limits())
    return is_what, found.prepared(files, is_what, folder_request, incoming_folder())


def understand(session: Session, files: BundleFiles, words: ImportWords) -> UnderstoodTask:
    """The preview of files, whether they are an export or not."""
    if files.is_bundle:
        return bundles.of_export(session, viewer(), files, words.slug)
    return bundles.of_folder(*folder(files, words))


def bounds() -> Bounds:
    """Of an archive: as much as one file of the site may be unpacked."""
    return Bounds(settings().plain_bytes, MOST_FILES)


def limits() -> Limits:
    """Within which files of runs are read."""
    return Limits(plain_bytes=settings().plain_bytes)


def _understood(files: BundleFiles, words: ImportWords) -> UnderstoodTask:
    return understand(reading(), files, words)


def _words(first: str, *, is_export: bool) -> ImportWords:
    """The words of a form; a task without a name and slug is called as its file or folder."""
    words = fields.read(ImportWords, actions.sent(ImportWords))
    name = words.name or (_stem(first) if first else "")
    # An export has a name and a slug of its own.
    slug = words.slug or ("" if is_export else suggested_slug(name))
    return replace(words, name=name, slug=slug)


def _stem(first: str) -> str:
    """Name of a task made from a folder or an archive of that name.

    >>> _stem("Track 99.tar.gz"), _stem("robust/topics.tsv")
    ('Track-99', 'robust')
    """
    name = first.split("/")[0]
    end = next((end for end in ENDINGS if name.lower().endswith(end)), "")
    return suggested_name(name.removesuffix(name[len(name) - len(end) :]) if end else name)


def _form(error: LeaderboardError | None = None) -> str:
    return render_template("bundles/import.html", error=error, sent=request.form, team=found.TEAM)


def _check(page: UnderstoodTask, token: str, error: LeaderboardError | None = None) -> str:
    return render_template(
        "bundles/import_check.html",
        page=page,
        runs=bundles.understood_table(page),
        token=token,
        error=error,
        sent=request.form,
    )

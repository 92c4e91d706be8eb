"""A task made from files in the browser: what they were understood as is shown, and one button makes it."""

import threading
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

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
from leaderboard.core.actions import Action, File, Given
from leaderboard.core.policy import Viewer, require_creator
from leaderboard.errors import Invalid, LeaderboardError, Problem
from leaderboard.fields import Field
from leaderboard.runs.ops.prepare import suggested_name
from leaderboard.tasks.ops.drafts import PreparedTask, suggested_slug
from leaderboard.trec.read.lines import Limits
from leaderboard.web import actions
from leaderboard.web.errors import refused
from leaderboard.web.rules import ORGANISER, Body, received_all, require_room, rule
from leaderboard.web.session import finish_reading, incoming_folder, reading, settings, viewer

blueprint = Blueprint("imports", __name__)

MOST_FILES = 2000
AT_ONCE = 1
"""Imports that are read or stored at a time: each may take minutes, and SQLite allows one writer."""
ENDINGS = (".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tar")
_turns = threading.BoundedSemaphore(AT_ONCE)
Folder = tuple[FoundTask, PreparedTask]
"""The interpretation of a folder, and the task it would become."""
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
    token: Annotated[str, Field(title="Files", is_carried=True)] = ""
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
        with turn():
            files = opening.files_of(sent, bounds(), incoming_folder())
            words = fields.read(ImportWords, actions.sent(ImportWords))
            page, _ = _understood(files, _named(words, files, next(iter(sent))))
        assert asker.account_id is not None, "the rule lets in accounts only"
        require_room(settings(), sum(path.stat().st_size for path in sent.values()))
        token = opening.keep_bundle(settings().data, asker.account_id, list(sent.items()))
    except LeaderboardError as error:
        return refused(_form, error)
    return _check(page, token)


def _folder(files: BundleFiles, words: ImportWords) -> Folder:
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


def _understood(files: BundleFiles, words: ImportWords) -> tuple[UnderstoodTask, Folder | None]:
    """The preview of files, whether they are an export or not."""
    if files.is_bundle:
        return bundles.of_export(reading(), viewer(), files, words.slug), None
    of = _folder(files, words)
    return bundles.of_folder(*of), of


def _read(given: Given, words: ImportWords) -> tuple[BundleFiles, ImportWords, UnderstoodTask, Folder | None]:
    """What is imported: the file that was sent, or what the preview of the form kept."""
    words = replace(words, slug=given.at[0].strip())
    if (sent := given.files.get("file")) is not None:
        files = opening.files_of({words.slug: sent.path}, bounds(), incoming_folder())
    else:
        files = _kept(words.token)
    words = _named(words, files)
    page, of = _understood(files, words)
    finish_reading()
    # Who uses the form has seen the doubts.
    if words.make and page.doubts and not (words.is_sure or words.token or page.is_export):
        remedy = "Send is_sure=true if this is right."
        problems = [Problem(doubt, remedy, field="file") for doubt in page.doubts]
        raise Invalid("Nothing was stored: some findings need confirmation.", problems)
    return files, words, page, of


def _kept(token: str) -> BundleFiles:
    return opening.kept_bundle(settings().data, viewer().account_id, token, bounds(), incoming_folder())


def _store(
    session: Session, viewer: Viewer, _: str, read: Any, __: ImportWords
) -> tuple[UnderstoodTask, bool]:
    files, words, page, of = read
    if words.make and of is not None:
        is_what, task = of
        found.make_bundle(session, viewer, files, task, is_what.runs, limits())
    elif words.make:
        imports.bring(session, viewer, files, ImportRequest(slug=words.slug, limits=limits()))
    return page, words.make


IMPORT = Action(
    name="import_task",
    summary="Create a task from files",
    more="The body is an export, or a zip or tar of topics, judgments, runs and a list of teams. Everything "
    "is stored, or nothing is. Files with findings that need confirmation are refused unless `is_sure`.",
    method="PUT",
    path="/tasks/<slug>/import",
    form="/tasks/import/make",
    named={"slug": "slug"},
    may=lambda _, viewer, *__: require_creator(viewer),
    # Reading files may take minutes: no writer waits for it, nor for the turn.
    plan=lambda *_: None,
    record=ImportWords,
    file=File(field="file", body="FILES", turn=turn, prepare=_read),
    act=_store,
    status=201,
)


def bounds() -> Bounds:
    """Of an archive: as much as one file of the site may be unpacked."""
    return Bounds(settings().plain_bytes, MOST_FILES)


def limits() -> Limits:
    """Within which files of runs are read."""
    return Limits(plain_bytes=settings().plain_bytes)


def _named(words: ImportWords, files: BundleFiles, first: str = "") -> ImportWords:
    """The entries; a task without a name and slug is called as its file or folder."""
    name = words.name or (_stem(first) if first else "")
    # An export has a name and a slug of its own.
    slug = words.slug or ("" if files.is_bundle else suggested_slug(name))
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


def _again(error: LeaderboardError) -> str:
    """The preview with what was wrong, or the form where the files are gone."""
    words = fields.read(ImportWords, actions.sent(ImportWords))
    try:
        with turn():
            files = _kept(words.token)
            page, _ = _understood(files, _named(words, files))
    except LeaderboardError:
        return _form(error)
    return _check(page, words.token, error)


def _made(imported: tuple[UnderstoodTask, bool]) -> ResponseReturnValue:
    opening.drop_bundle(settings().data, viewer().account_id or 0)
    return redirect(url_for("organise.show", slug=imported[0].slug), 303)


actions.add_to(
    blueprint, (IMPORT,), _again, then={"import_task": _made}, refusals=(LeaderboardError,), who=ORGANISER
)

"""Operations on whole tasks as files: an export, and a task made from one or from a folder."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from flask import Response

from leaderboard import fields
from leaderboard.bundles.ops import opening
from leaderboard.bundles.page import UnderstoodTask
from leaderboard.bundles.web import bundles, imports
from leaderboard.bundles.web.imports import ImportWords
from leaderboard.core import policy
from leaderboard.core.policy import Scope
from leaderboard.errors import Invalid, Problem
from leaderboard.tasks.api.drafts import ImportAnswer, ImportedRun
from leaderboard.web.api.operations import Reply, operation
from leaderboard.web.rules import SIGNED_IN, Body, Rule
from leaderboard.web.session import finish_reading, hands_out_judgments, reading, viewer

ImportQuery: Any = fields.as_sent(ImportWords)


@operation("GET", "/tasks/<slug>/export", bytes, rule=Rule(SIGNED_IN), scopes=(Scope.ORGANISE,))
@hands_out_judgments
def export_task(slug: str) -> Response:
    """Export a whole task

    A zip of plain files, for its organisers, including hidden data. The public data of an open task is
    at /tasks/SLUG/task.zip.
    """
    return bundles.whole(slug)


@operation(
    "PUT",
    "/tasks/<slug>/import",
    ImportAnswer,
    query=ImportQuery,
    rule=Rule(SIGNED_IN, Body.FILES),
    scopes=(Scope.ORGANISE,),
    status=201,
)
def import_task(slug: str, query: ImportQuery, file: Path) -> Reply:
    """Create a task from files

    The body is an export, or a zip or tar of topics, judgments, runs and a list of teams. Everything
    is stored, or nothing is. Files with findings that need confirmation are refused unless `is_sure`.
    """
    policy.require_creator(viewer())
    finish_reading()
    words = fields.read(ImportWords, asdict(query) | {"slug": slug})
    with imports.turn(), opening.files_of({slug: file}, imports.bounds()) as files:
        page = imports.understand(reading(), files, words)
        if words.make:
            _require_sure(page, words.is_sure)
            imports.made(files, words)
    return Reply(answer=_answer(page, words.make), status=201 if words.make else 200, headers={})


def _require_sure(page: UnderstoodTask, is_sure: bool) -> None:
    if page.is_export or is_sure or not page.doubts:
        return
    problems = [Problem(doubt, "Send is_sure=true if this is right.", field="file") for doubt in page.doubts]
    raise Invalid("Nothing was stored: some findings need confirmation.", problems)


def _answer(page: UnderstoodTask, is_made: bool) -> ImportAnswer:
    return ImportAnswer(
        task=page.slug,
        name=page.name,
        is_export=page.is_export,
        is_made=is_made,
        facts=dict(page.facts),
        runs=tuple(
            ImportedRun(run=run.name, team=run.team, kind=run.kind, topics=run.topics, file=run.path)
            for run in page.runs
        ),
        left_out=dict(page.left_out),
        doubts=page.doubts,
    )


OPERATIONS = (export_task, import_task)

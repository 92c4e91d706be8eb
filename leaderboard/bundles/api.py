"""Operations on whole tasks as files: an export, and a task made from one or from a folder."""

from flask import Response

from leaderboard.bundles.page import UnderstoodTask
from leaderboard.bundles.web import bundles, imports
from leaderboard.core.policy import Scope
from leaderboard.tasks.api.drafts import ImportAnswer, ImportedRun
from leaderboard.web.api import actions
from leaderboard.web.api.operations import Reply, operation
from leaderboard.web.rules import SIGNED_IN, Rule
from leaderboard.web.session import hands_out_judgments


@operation("GET", "/tasks/<slug>/export", bytes, rule=Rule(SIGNED_IN), scopes=(Scope.ORGANISE,))
@hands_out_judgments
def export_task(slug: str) -> Response:
    """Export a whole task

    A zip of plain files, for its organisers, including hidden data. The public data of an open task is
    at /tasks/SLUG/task.zip.
    """
    return bundles.whole(slug)


def _answer(imported: tuple[UnderstoodTask, bool], slug: str) -> Reply:
    page, is_made = imported
    answer = ImportAnswer(
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
    return Reply(answer=answer, status=201 if is_made else 200, headers={})


OPERATIONS = (
    export_task,
    *actions.operations((imports.IMPORT,), answers={"import_task": (ImportAnswer, _answer)}),
)

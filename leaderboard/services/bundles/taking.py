"""An export that somebody brings who may make tasks: of it is kept what forms could have made, and no more.

The operator's import believes a bundle about the past: editions, labels, what teams agreed to. A bundle from
anywhere may say anything, so here the board is built anew and the rest stays out.
"""

from dataclasses import replace

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Phase, TopicSet
from leaderboard.errors import Invalid
from leaderboard.services import policy
from leaderboard.services.backups.backups import unlimited
from leaderboard.services.boards import board as boards
from leaderboard.services.bundles import imports
from leaderboard.services.bundles.importing import ImportRequest, Progress, TaskImport
from leaderboard.services.bundles.imports import ImportedTask
from leaderboard.services.bundles.opening import BundleFiles
from leaderboard.services.bundles.records import TABLES
from leaderboard.services.phase_rules import ALL_TOPICS
from leaderboard.services.policy import ANONYMOUS, Viewer
from leaderboard.services.tasks import create

TAKEN = frozenset(
    {
        *("task", "topics", "topic_sets", "phases", "teams", "entries", "lines", "revisions", "uploads"),
        *("runs", "reproductions", "groups", "grouped_teams", "grouped_runs", "pictures"),
    }
)
"""Tables that are read; editions are built anew."""
LEFT_OUT = {
    "editions": "past editions of the board",
    "pools": "pools",
    "assessments": "labels of assessors",
    "answers": "answers of assessors side by side",
    "announcements": "announcements",
    "changes": "the list of changed settings",
    "snapshots": "snapshots",
}
"""Table that is not read -> what its rows are, for whoever imports."""


def bring(session: Session, viewer: Viewer, files: BundleFiles, request: ImportRequest) -> ImportedTask:
    """Store the task of a bundle as far as the viewer is believed; raises as `take_in` does."""
    is_believed = viewer.is_operator or viewer.operates
    return (imports.bring_in if is_believed else take_in)(session, viewer, files, request)


def take_in(
    session: Session,
    viewer: Viewer,
    files: BundleFiles,
    request: ImportRequest,
    progress: Progress = lambda _: None,
) -> ImportedTask:
    """Store the task of a bundle whose digests were checked, for the viewer to organise.

    It is published where it was; its board is built anew under the newest judgments. Runs are filed under the
    teams of their names, as an organiser may file them. Raises as `imports.bring_in` does; the caller's
    transaction then holds nothing.
    """
    policy.require_creator(viewer)
    # A large run takes longer to be packed than a page's transaction may wait.
    unlimited(session.connection())
    making = TaskImport(
        session=session, viewer=viewer, files=files, request=request, progress=progress, is_trusted=False
    )
    imports.store(making, (table for table in TABLES if table.name in TAKEN))
    _require_parts(making)
    if making.was_published:
        create.publish(session, making.viewer, making.owner.slug)
        session.flush()
    _require_board(making)
    return imports.imported(making)


def _require_parts(making: TaskImport) -> None:
    """Raise Invalid unless there are phases, and sets of topics that the task has."""
    session, task_id = making.session, making.owner.id
    topics = set(making.topics)
    sets = session.execute(select(TopicSet.name, TopicSet.topics).where(TopicSet.task_id == task_id)).all()
    if not any(row.name == ALL_TOPICS and row.topics is None for row in sets):
        raise Invalid(f"The bundle has no set {ALL_TOPICS!r} of every topic. Get the bundle anew.")
    for row in sets:
        if row.topics is not None and not (row.topics and set(row.topics) <= topics):
            raise Invalid(f"The set {row.name!r} has topics that the task has not. Get the bundle anew.")
    if not session.scalar(select(func.count()).where(Phase.task_id == task_id)):
        raise Invalid("The bundle has no phase. Get the bundle anew.")


def _require_board(making: TaskImport) -> None:
    """Raise Invalid unless each phase has a board that its organiser, and everybody, is shown.

    The front page shows all tasks: one that cannot be shown must not get there.
    """
    task = making.owner
    names = select(Phase.name).where(Phase.task_id == task.id)
    viewers = [making.viewer, *([ANONYMOUS] if task.published_at is not None else [])]
    for phase in making.session.scalars(names).all():
        for viewer in viewers:
            try:
                boards.board(making.session, replace(viewer, phase=phase), task.slug)
            except (LookupError, TypeError, ValueError, AttributeError) as error:
                raise Invalid(
                    f"The board of the phase {phase} cannot be shown. Get the bundle anew."
                ) from error

"""What someone about to send a run must know: the rules, the own teams, and what each may still send."""

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Task, Team, Topic
from leaderboard.errors import Closed
from leaderboard.services import admission, policy
from leaderboard.services.admission import KINDS, ORGANISERS_KINDS, Quota
from leaderboard.services.policy import Viewer


@dataclass(frozen=True, slots=True)
class TeamChoice:
    """One of the viewer's teams; quota is None where the task takes no runs from it now."""

    id: int
    name: str
    quota: Quota | None


@dataclass(frozen=True, slots=True)
class UploadForm:
    """What the page that takes a run shows; closed is a sentence where the task takes none now."""

    slug: str
    task: str
    topics: int
    depth: int
    tag_pattern: str
    visibility: str
    kinds: tuple[str, ...]
    teams: tuple[TeamChoice, ...]
    closed: str
    organises: bool


def upload_form(session: Session, viewer: Viewer, slug: str) -> UploadForm:
    """The form of one task for a signed-in viewer; NotFound where the viewer may not know of the task."""
    policy.require_account(viewer)
    task, _ = policy.visible_task(session, viewer, slug)
    teams, closed = _choices(session, viewer, slug)
    organises = policy.organises(viewer, task.id)
    return UploadForm(
        slug=task.slug,
        task=task.name,
        topics=_topics(session, task),
        depth=task.depth,
        tag_pattern=task.tag_pattern,
        visibility=task.visibility,
        kinds=tuple(kind for kind in KINDS if organises or kind not in ORGANISERS_KINDS),
        teams=teams,
        closed=closed,
        organises=organises,
    )


def _choices(session: Session, viewer: Viewer, slug: str) -> tuple[tuple[TeamChoice, ...], str]:
    rows = session.execute(
        select(Team.id, Team.name).where(Team.id.in_(viewer.team_ids)).order_by(Team.canonical)
    )
    choices, closed = [], ""
    for team_id, name in rows:
        quota = None
        try:
            quota = admission.quota(session, viewer, slug, team_id)
        except Closed as error:
            closed = error.message
        choices.append(TeamChoice(team_id, name, quota))
    return tuple(choices), closed


def _topics(session: Session, task: Task) -> int:
    return session.scalar(select(func.count(Topic.id)).where(Topic.task_id == task.id)) or 0

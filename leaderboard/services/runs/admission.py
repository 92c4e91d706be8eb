"""Who may send what now: deadline, team, limits, and the rules a file is checked against."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Phase, Run, Task, Team, Topic, Upload
from leaderboard.errors import Closed, Invalid, NotFound
from leaderboard.services import collections, policy
from leaderboard.services.policy import Viewer
from leaderboard.services.qrels import files
from leaderboard.services.runs import limits
from leaderboard.services.runs.limits import Quota
from leaderboard.services.tasks import entries, scored_topics
from leaderboard.trec.documents.documents import DocnoFilter
from leaderboard.trec.facts.fields import FactValue
from leaderboard.trec.runs.check import Rules

KINDS = ("official", "baseline", "late", "unofficial")
ORGANISERS_KINDS = frozenset({"baseline", "late"})


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What the sender wants the run to be called and to be."""

    name: str
    kind: str = "official"
    description: str = ""
    facts: Mapping[str, FactValue] = field(default_factory=dict, hash=False)
    """What the form said about how the run was made, by key, in the units facts are kept in."""


@dataclass(frozen=True, slots=True, eq=False)
class UploadRules:
    """What a file is checked against, read before the check so that none runs inside a transaction."""

    task_id: int
    checks: Rules
    is_blind: bool
    earlier: tuple[tuple[int, str, bytes], ...] = field(default=())
    """(run id, name, sketch) of the team's runs in this task."""


def rules_for(session: Session, viewer: Viewer, slug: str, team_id: int) -> UploadRules:
    """What the team's files are checked against in this task.

    Raises NotFound unless the viewer is in the team, Closed where the task takes no runs now.
    """
    task, team, _ = _open(session, viewer, slug, team_id)
    return _rules(session, task, team.id)


def quota(session: Session, viewer: Viewer, slug: str, team_id: int) -> Quota:
    """How many runs the team may still add; raises as `rules_for` does."""
    task, team, phase = _open(session, viewer, slug, team_id)
    account_id = None if policy.organises(viewer, task.id) else viewer.account_id
    return limits.quota(session, phase, team, account_id)


def check_rules(session: Session, upload_id: int) -> UploadRules:
    """The rules a received upload is checked against by the evaluator."""
    upload = session.get_one(Upload, upload_id)
    return _rules(session, session.get_one(Task, upload.task_id), upload.team_id)


def admit(
    session: Session, viewer: Viewer, slug: str, team_id: int, wishes: RunRequest
) -> tuple[Task, Team, Phase]:
    """Deadline, team, kind and limits, with the rows of team and account held so that counts stay true."""
    limits.hold(session, team_id, viewer.account_id)
    task, team, phase = _open(session, viewer, slug, team_id)
    if wishes.kind not in KINDS:
        raise Invalid(f"A run is one of {', '.join(KINDS)}, not {wishes.kind!r}.")
    if wishes.kind in ORGANISERS_KINDS and not policy.organises(viewer, task.id):
        raise Invalid(f"Only organisers add {wishes.kind} runs; choose official or unofficial.")
    if not policy.organises(viewer, task.id):
        limits.require_room(session, phase, team, viewer.account_id)
    return task, team, phase


def _open(session: Session, viewer: Viewer, slug: str, team_id: int) -> tuple[Task, Team, Phase]:
    task, _ = policy.visible_task(session, viewer, slug)
    if not viewer.is_operator:
        policy.require_account(viewer)
    team = _own_team(session, viewer, team_id)
    phase = phase_of(session, task)
    if task.published_at is None:
        raise Closed(f"{task.name} is a draft; it takes runs once it is published.")
    _require_open(session, viewer, task, phase)
    if not policy.organises(viewer, task.id):
        entries.require_entered(session, task, team)
    return task, team, phase


def _own_team(session: Session, viewer: Viewer, team_id: int) -> Team:
    """The team; one of others and one that does not exist look the same."""
    team = session.get(Team, team_id) if viewer.is_operator or policy.owns(viewer, team_id) else None
    if team is None or team.merged_into_id is not None:
        raise NotFound(f"There is no team {team_id} of yours.", team=team_id)
    return team


def _require_open(session: Session, viewer: Viewer, task: Task, phase: Phase) -> None:
    if policy.organises(viewer, task.id):
        return
    at = now(session)
    if phase.opens_at is not None and at < phase.opens_at:
        raise Closed(f"{task.name} takes runs from {phase.opens_at:%Y-%m-%d %H:%M} UTC on.")
    if phase.closes_at is not None and at >= phase.closes_at:
        raise Closed(f"{task.name} closed at {phase.closes_at:%Y-%m-%d %H:%M} UTC.")


def phase_of(session: Session, task: Task) -> Phase:
    """The phase of the task that takes runs."""
    phases = select(Phase).where(Phase.task_id == task.id).order_by(Phase.id)
    phase = session.scalars(phases).first()
    assert phase is not None, "a task has at least one phase"
    return phase


def _rules(session: Session, task: Task, team_id: int) -> UploadRules:
    topic_ids = session.scalars(
        select(Topic.topic_id).where(Topic.task_id == task.id).order_by(Topic.position)
    ).all()
    scored = scored_topics.scored(session, task)
    known = collections.known_docnos(session, task.collection_id)
    revision = files.newest(session, task.id) if task.visibility == "open" else None
    checks = Rules(
        topics=tuple(topic_ids),
        depth=task.depth,
        tag_pattern=task.tag_pattern or None,
        unknown_docnos=None if known is None else partial(DocnoFilter.unknown, known),
        judged=tuple(revision.topics) if revision else (),
        scored=None if len(scored) == len(topic_ids) else scored,
    )
    runs = session.execute(
        select(Run.id, Run.name, Run.sketch).where(Run.task_id == task.id, Run.team_id == team_id)
    )
    return UploadRules(
        task.id, checks, task.visibility == "blind", tuple((row.id, row.name, row.sketch) for row in runs)
    )

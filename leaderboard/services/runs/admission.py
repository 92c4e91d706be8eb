"""Who may send what now: deadline, team, limits, and the rules a file is checked against."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Phase, Run, Task, Team, TopicSet, Upload
from leaderboard.errors import Closed, Invalid, NotFound, TooLarge
from leaderboard.services import collections, policy
from leaderboard.services.evaluations.choices import is_over
from leaderboard.services.phase_rules import KINDS
from leaderboard.services.policy import Viewer
from leaderboard.services.qrels import files
from leaderboard.services.reproductions import links
from leaderboard.services.reproductions.links import OriginalRuns
from leaderboard.services.runs import limits
from leaderboard.services.runs.limits import Quota
from leaderboard.services.tasks import entries, phases, scored_topics, topic_sets
from leaderboard.tables.words import utc_time
from leaderboard.trec.documents.documents import DocnoFilter
from leaderboard.trec.facts.fields import FactValue
from leaderboard.trec.runs.check import Rules

if TYPE_CHECKING:
    from leaderboard.trec.answers.check import AnswerRules
    from leaderboard.trec.boards.packing import BoardRules

ORGANISERS_KINDS = frozenset({"baseline", "late"})


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What the sender wants the run to be called and to be."""

    name: str
    kind: str = "official"
    description: str = ""
    facts: Mapping[str, FactValue] = field(default_factory=dict, hash=False)
    """What the form said about how the run was made, by key, in the units facts are kept in."""
    phase: str = ""
    """The phase it is sent to; empty: the one that takes runs."""
    execution: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What a runner says of how it made the file: by, image, commit; empty for all that others send."""
    reproduces: Mapping[str, int] = field(default_factory=dict, hash=False)
    """What the run reproduces, as the fields of OriginalRuns; empty: nothing is said."""
    filed: bool = False
    """Whether organisers send it for the team; set by `uploads`, whatever the sender says."""
    late: str = ""
    """Why an organiser lets the run count though its phase has closed; empty where none says so."""


@dataclass(frozen=True, slots=True, eq=False)
class UploadRules:
    """What a file is checked against, read before the check so that none runs inside a transaction."""

    task_id: int
    checks: Rules
    is_blind: bool
    earlier: tuple[tuple[int, str, bytes], ...] = field(default=())
    """(run id, name, sketch) of the team's runs in this task."""
    answers: "AnswerRules | None" = None
    """What a file of answers is checked against; None where the task takes other runs."""
    board: "BoardRules | None" = None
    """What a board file of a judge is checked against; None where the task takes other runs."""


def rules_for(
    session: Session, viewer: Viewer, slug: str, team_id: int, phase_name: str = "", *, any_team: bool = False
) -> UploadRules:
    """What the team's files are checked against in this task, in the phase that takes runs or the named one.

    any_team: as in `admit`. Raises NotFound unless the viewer is in the team, Closed where the task takes no
    runs now.
    """
    task, team, phase = _open(session, viewer, slug, team_id, phase_name, any_team=any_team)
    return _rules(session, task, phase, team.id)


def quota(session: Session, viewer: Viewer, slug: str, team_id: int, phase_name: str = "") -> Quota:
    """How many runs the team may still add; raises as `rules_for` does."""
    task, team, phase = _open(session, viewer, slug, team_id, phase_name)
    account_id = None if policy.organises(viewer, task.id) else viewer.account_id
    return limits.quota(session, phase, team, account_id)


def check_rules(session: Session, upload_id: int) -> UploadRules:
    """The rules a received upload is checked against by the evaluator."""
    upload = session.get_one(Upload, upload_id)
    task = session.get_one(Task, upload.task_id)
    return _rules(session, task, phase_of(session, upload), upload.team_id)


def admit(
    session: Session, viewer: Viewer, slug: str, team_id: int, wishes: RunRequest, *, any_team: bool = False
) -> tuple[Task, Team, Phase]:
    """Deadline, team, kind and limits, with the rows of team and account held so that counts stay true.

    any_team: whether organisers may name a team that they are not in.
    """
    limits.hold(session, team_id, viewer.account_id)
    task, team, phase = _open(session, viewer, slug, team_id, wishes.phase, any_team=any_team)
    if wishes.kind not in KINDS:
        raise Invalid(f"A run is one of {', '.join(KINDS)}, not {wishes.kind!r}.")
    if wishes.kind in ORGANISERS_KINDS and not policy.organises(viewer, task.id):
        raise Invalid(f"Only organisers add {wishes.kind} runs; choose official or unofficial.")
    if phase.kinds and wishes.kind not in phase.kinds:
        raise Invalid(
            f"The phase {phase.name} takes {' and '.join(phase.kinds)} runs, not {wishes.kind} ones."
        )
    if wishes.kind not in ORGANISERS_KINDS and not wishes.late.strip():
        _require_in_time(session, task, phase)
    if wishes.reproduces:
        of = OriginalRuns(**wishes.reproduces)
        links.require_possible(session, viewer, task, None, of, phase.id)
    if not policy.organises(viewer, task.id):
        limits.require_room(session, phase, team, viewer.account_id)
    return task, team, phase


def _require_in_time(session: Session, task: Task, phase: Phase) -> None:
    """Raise Closed where the phase has closed: only organisers come here then, and say nothing of it."""
    if is_over(session, phase.id):
        raise Closed(
            f"{task.name} closed at {utc_time(phase.closes_at)}, so a run sent now is late. Send it as a "
            "late or baseline run, or say why it counts (late, --late); the reason is shown with the run."
        )


def public_rules(session: Session, viewer: Viewer, slug: str) -> UploadRules:
    """What any file is checked against in a task that the viewer may know of, whoever sends it.

    Nothing of it depends on a team. Raises Closed for a draft: its rules may still change.
    """
    task, _ = policy.visible_task(session, viewer, slug)
    _require_published(task)
    return _rules(session, task, phases.for_checks(session, viewer, task), None)


def require_size(phase: Phase, size: int) -> None:
    """Raise TooLarge for a file that is larger than those the phase takes."""
    if phase.largest_bytes is not None and size > phase.largest_bytes:
        raise TooLarge(
            f"The phase {phase.name} takes files of at most {phase.largest_bytes:,} bytes as sent; "
            f"this one has {size:,}. Compress it, or list fewer documents a topic."
        )


def _open(
    session: Session, viewer: Viewer, slug: str, team_id: int, phase_name: str, *, any_team: bool = False
) -> tuple[Task, Team, Phase]:
    task, _ = policy.visible_task(session, viewer, slug)
    if not viewer.is_operator:
        policy.require_account(viewer)
    team = _own_team(session, viewer, team_id, any_team and policy.organises(viewer, task.id))
    phase = require_taken(session, viewer, task, phase_name)
    if not policy.organises(viewer, task.id):
        entries.require_entered(session, task, team)
    return task, team, phase


def require_taken(session: Session, viewer: Viewer, task: Task, phase_name: str = "") -> Phase:
    """The phase that takes the viewer's runs; raises Closed where none does."""
    _require_published(task)
    if task.archived_at is not None:
        raise Closed(f"{task.name} is archived; it takes no runs.")
    return phases.for_runs(session, viewer, task, phase_name)


def _require_published(task: Task) -> None:
    if task.published_at is None:
        raise Closed(f"{task.name} is a draft; it takes runs once it is published.")


def _own_team(session: Session, viewer: Viewer, team_id: int, any_team: bool) -> Team:
    """The team; one of others and one that does not exist look the same, unless any may be named."""
    may_name = any_team or viewer.is_operator or policy.owns(viewer, team_id)
    team = session.get(Team, team_id) if may_name else None
    if team is None or team.merged_into_id is not None:
        raise NotFound(f"There is no team {team_id} of yours.", team=team_id)
    return team


def phase_of(session: Session, upload: Upload) -> Phase:
    """The phase that an upload was sent to."""
    return session.get_one(Phase, upload.phase_id)


def _rules(session: Session, task: Task, phase: Phase, team_id: int | None) -> UploadRules:
    visibility = phase.visibility or task.visibility
    topics = topics_of(session, task, phase)
    counted = set(scored_topics.scored(session, task))
    scored = tuple(topic for topic in topics if topic in counted)
    known = collections.known_docnos(session, task.collection_id)
    revision = (
        files.newest(session, task.id) if visibility == "open" and policy.is_shown(session, task) else None
    )
    checks = Rules(
        topics=tuple(topics),
        depth=task.depth,
        tag_pattern=task.tag_pattern or None,
        unknown_docnos=None if known is None else partial(DocnoFilter.unknown, known),
        judged=tuple(revision.topics) if revision else (),
        scored=None if len(scored) == len(topics) else scored,
        dialect=task.dialect,
    )
    runs = session.execute(
        select(Run.id, Run.name, Run.sketch).where(Run.task_id == task.id, Run.team_id == team_id)
    )
    return UploadRules(
        task.id,
        checks,
        visibility == "blind",
        tuple((row.id, row.name, row.sketch) for row in runs),
        _answer_rules(session, task, topics),
        _board_rules(session, task, topics),
    )


def _answer_rules(session: Session, task: Task, topics: list[str]) -> "AnswerRules | None":
    if task.kind != "answers":
        return None
    from leaderboard.services.answers import sending

    return sending.rules_of(session, task, topics)


def _board_rules(session: Session, task: Task, topics: list[str]) -> "BoardRules | None":
    if task.kind != "judges":
        return None
    from leaderboard.services.judges import sending

    return sending.rules_of(session, task, topics)


def topics_of(session: Session, task: Task, phase: Phase) -> list[str]:
    """The ids of the topics that the phase scores, in the task's order."""
    chosen = session.get_one(TopicSet, phase.topic_set_id).topics if phase.topic_set_id else None
    return topic_sets.ids(session, task) if chosen is None else chosen

"""The data of the form that submits a run: rules, the viewer's teams, their limits and last entries."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core import kinds, policy
from leaderboard.core.phase_rules import KINDS
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import now
from leaderboard.db.tables import Phase, Run, Task, Team, Upload
from leaderboard.errors import Closed, Forbidden
from leaderboard.runs.ops import limits
from leaderboard.runs.ops.limits import ORGANISERS_KINDS, RULE, Quota, RunRequest
from leaderboard.scoring.ops import run_facts as facts
from leaderboard.scoring.ops import scored_topics
from leaderboard.scoring.ops.scored_topics import OfTask, is_over, rule_in_words
from leaderboard.tasks.ops import entries, phases
from leaderboard.trec.facts import FIELD_OF, FIELDS, FactField, FactValue, as_written

RECENT = 50
"""Maximum newest runs of the viewer's teams searched for earlier entries."""


@dataclass(frozen=True, slots=True)
class TeamChoice:
    """One of the viewer's teams; quota is None if the task accepts no runs from it now."""

    id: int
    name: str
    quota: Quota | None
    missing: str
    """Sentence on what the team must do before it can submit runs; empty if nothing."""


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """A team's newest run with entries in the form: its values as typed."""

    run_id: int
    name: str
    team: str
    values: dict[str, str]


@dataclass(frozen=True, slots=True)
class UploadForm(OfTask):
    """The data of the submission page; closed is a sentence if the task accepts no runs now."""

    topics: int
    scored: int
    """The number of topics known to be scored."""
    visibility: str
    largest: int | None
    """Maximum submitted file size of the chosen phase; None means the site's limit."""
    kinds: tuple[str, ...]
    takes: str
    """The kinds accepted by the phases, as text; empty if all accept every kind."""
    teams: tuple[TeamChoice, ...]
    closed: str
    phases: tuple[str, ...]
    """The phases the viewer can submit a run to now, if the task has several."""
    phase: str
    """The default phase."""
    counts: str
    """The rule for what counts towards the limits."""
    rejections: str
    """The viewer's remaining rejections, as text; empty while many are left."""
    organises: bool
    details: bool
    """Whether scores by topic are shown to the viewer."""
    fields: tuple[FactField, ...]
    """The fields that describe the run, in order."""
    is_first: bool
    """Whether no team of the viewer's has a run in the task yet."""
    has_sample: bool
    """Whether a sample run can be downloaded."""
    earlier: tuple[EarlierRun, ...]
    choice: str
    """The rule for final runs, as text; empty if all runs count."""
    is_late: bool
    """Whether the chosen phase has closed, so that organisers must give a reason."""

    @property
    def is_used_up(self) -> bool:
        """Whether the viewer has reached the limits of all teams and phases and cannot submit a run now."""
        quotas = [team.quota for team in self.teams if team.quota]
        has_choice = self.organises or len(self.phases) > 1
        return bool(quotas) and not has_choice and all(quota.is_used_up for quota in quotas)


def upload_form(session: Session, viewer: Viewer, slug: str) -> UploadForm:
    """The form of one task for a signed-in viewer; NotFound where the viewer may not know of the task."""
    policy.require_account(viewer)
    task, access = policy.visible_task(session, viewer, slug)
    open_phases, phase = _phases(session, viewer, task)
    chosen = phases.find(session, task, phase) if phase else phases.of_task(session, task.id)[-1]
    taking = [row for row in phases.of_task(session, task.id) if row.name in open_phases] or [chosen]
    topics = limits.topics_of(session, task, chosen)
    teams, closed = _choices(session, viewer, task, phase)
    organises = policy.organises(viewer, task.id)
    earlier, is_first = _earlier(session, viewer, task)
    return UploadForm(
        of=task,
        topics=len(topics),
        scored=len(set(topics) & set(scored_topics.scored(session, task))),
        visibility=chosen.visibility or task.visibility,
        largest=chosen.largest_bytes,
        kinds=_kinds(taking, organises),
        takes=_takes(taking),
        teams=teams,
        closed=closed,
        phases=open_phases,
        phase=phase,
        counts=RULE,
        rejections=limits.rejections_in_words(limits.rejections_left(session, viewer.account_id)),
        organises=organises,
        is_late=organises and is_over(session, chosen.id),
        details=access.details,
        fields=FIELDS,
        is_first=is_first,
        has_sample=task.published_at is not None and kinds.of(task.kind).sample is not None,
        earlier=earlier,
        choice=rule_in_words(task),
    )


def entered_with(session: Session, viewer: Viewer, slug: str, upload_id: int) -> dict[str, str]:
    """What was entered with an upload of the viewer's own teams, as typed; empty for other uploads.

    Without the name: nothing says whether it was typed or is that of the file, which another one has not.
    """
    task, _ = policy.visible_task(session, viewer, slug)
    upload = session.get(Upload, upload_id)
    if upload is None or upload.task_id != task.id or not policy.owns(viewer, upload.team_id):
        return {}
    asked = RunRequest(**upload.wishes)
    entered = {"kind": asked.kind, "description": asked.description, "late": asked.late}
    typed = {key: as_written(value, FIELD_OF[key]) for key, value in asked.facts.items()}
    return {**typed, **entered, "team": str(upload.team_id)}


def _kinds(taking: list[Phase], organises: bool) -> tuple[str, ...]:
    """The kinds of run that any of the phases accepts from the viewer: the form has one list for all."""
    taken = {kind for phase in taking for kind in phase.kinds or KINDS}
    return tuple(kind for kind in KINDS if kind in taken and (organises or kind not in ORGANISERS_KINDS))


def _takes(taking: list[Phase]) -> str:
    """Sentences on the kinds that the phases accept; empty if all accept every kind."""
    limited = [phase for phase in taking if phase.kinds]
    return " ".join(f"{phase.name} accepts only {' and '.join(phase.kinds)} runs." for phase in limited)


def _phases(session: Session, viewer: Viewer, task: Task) -> tuple[tuple[str, ...], str]:
    all_phases = phases.of_task(session, task.id)
    if len(all_phases) == 1:
        return (), ""
    at = now(session)
    organises = policy.organises(viewer, task.id)
    names = tuple(phase.name for phase in all_phases if organises or phases.is_open(phase, at))
    asked = viewer.phase if viewer.phase in names else next(iter(names[::-1]), "")
    return names, asked


def _choices(session: Session, viewer: Viewer, task: Task, phase: str) -> tuple[tuple[TeamChoice, ...], str]:
    rows = session.execute(
        select(Team.id, Team.name).where(Team.id.in_(viewer.team_ids)).order_by(Team.canonical)
    )
    choices, closed = [], ""
    for team_id, name in rows:
        quota, missing = None, ""
        try:
            quota = limits.admission_quota(session, viewer, task.slug, team_id, phase)
        except Closed as error:
            closed = error.message
        except Forbidden:
            missing = entries.state_of(session, task, team_id).missing
        choices.append(TeamChoice(team_id, name, quota, missing))
    return tuple(choices), closed


def _earlier(session: Session, viewer: Viewer, task: Task) -> tuple[tuple[EarlierRun, ...], bool]:
    """For each of the viewer's teams, the newest run with form entries to reuse; whether none has a run."""
    rows = session.execute(
        select(Run.id, Run.name, Team.name.label("team"), Run.details)
        .join(Team, Team.id == Run.team_id)
        .where(Run.task_id == task.id, Run.team_id.in_(viewer.team_ids))
        .order_by(Run.id.desc())
        .limit(RECENT)
    ).all()
    newest: dict[str, EarlierRun] = {}
    for row in rows:
        values = _reusable(facts.form_of(row.details))
        if values and row.team not in newest:
            newest[row.team] = EarlierRun(row.id, row.name, row.team, values)
    return tuple(sorted(newest.values(), key=lambda run: run.team)), not rows


def _reusable(form: Mapping[str, FactValue]) -> dict[str, str]:
    """The reusable entries: costs are measured per run, and no two runs have the first judging priority."""
    return {
        key: as_written(value, FIELD_OF[key])
        for key, value in form.items()
        if not FIELD_OF[key].is_cost and not FIELD_OF[key].is_whole
    }

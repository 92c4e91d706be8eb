"""What someone about to send a run must know: the rules, the own teams, what each may send and last said."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Phase, Run, Task, Team
from leaderboard.errors import Closed, Forbidden
from leaderboard.services import policy
from leaderboard.services.evaluations import choices
from leaderboard.services.phase_rules import KINDS
from leaderboard.services.policy import Viewer
from leaderboard.services.runs import facts, limits
from leaderboard.services.runs.limits import ORGANISERS_KINDS, RULE, Quota
from leaderboard.services.tasks import entries, phases, scored_topics
from leaderboard.services.tasks.scored_topics import OfTask
from leaderboard.trec.facts import FIELD_OF, FIELDS, FactField, FactValue, as_written

RECENT = 50
"""The newest runs of one's teams that are looked through for what was said of them."""


@dataclass(frozen=True, slots=True)
class TeamChoice:
    """One of the viewer's teams; quota is None where the task takes no runs from it now."""

    id: int
    name: str
    quota: Quota | None
    missing: str
    """What it has to do before it may send runs, in a sentence; empty where nothing."""


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """A team's newest run of which something was said in the form: its values as they would be typed."""

    run_id: int
    name: str
    team: str
    said: dict[str, str]


@dataclass(frozen=True, slots=True)
class UploadForm(OfTask):
    """What the page that takes a run shows; closed is a sentence where the task takes none now."""

    topics: int
    scored: int
    """How many of the topics are known to count."""
    visibility: str
    largest: int | None
    """Largest file as sent that the chosen phase takes; None is the site's limit."""
    kinds: tuple[str, ...]
    takes: str
    """Which kinds the phases take, in words; empty where all take every kind."""
    teams: tuple[TeamChoice, ...]
    closed: str
    phases: tuple[str, ...]
    """The phases that the viewer may send a run to now, where the task has several."""
    phase: str
    """The one that is chosen unless another is."""
    counts: str
    """What counts against the limits."""
    rejections: str
    """How many more of the viewer's files may be rejected, in words; empty while many may."""
    organises: bool
    details: bool
    """Whether scores by topic are shown to the viewer."""
    fields: tuple[FactField, ...]
    """What may be said of the run, in order."""
    earlier: tuple[EarlierRun, ...]
    choice: str
    """Which runs count at the end, in words; empty where all do."""
    is_late: bool
    """Whether the chosen phase has closed, so that organisers have to say why a run counts."""

    @property
    def is_used_up(self) -> bool:
        """Whether the viewer cannot send a run now, with any team and in any phase, as limits are reached."""
        quotas = [team.quota for team in self.teams if team.quota]
        has_choice = self.organises or len(self.phases) > 1
        return bool(quotas) and not has_choice and all(quota.is_used_up for quota in quotas)


def upload_form(session: Session, viewer: Viewer, slug: str) -> UploadForm:
    """The form of one task for a signed-in viewer; NotFound where the viewer may not know of the task."""
    policy.require_account(viewer)
    task, sight = policy.visible_task(session, viewer, slug)
    open_phases, phase = _phases(session, viewer, task)
    chosen = phases.find(session, task, phase) if phase else phases.of_task(session, task.id)[-1]
    taking = [row for row in phases.of_task(session, task.id) if row.name in open_phases] or [chosen]
    topics = limits.topics_of(session, task, chosen)
    teams, closed = _choices(session, viewer, task, phase)
    organises = policy.organises(viewer, task.id)
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
        is_late=organises and choices.is_over(session, chosen.id),
        details=sight.details,
        fields=FIELDS,
        earlier=_earlier(session, viewer, task),
        choice=choices.rule_in_words(task),
    )


def _kinds(taking: list[Phase], organises: bool) -> tuple[str, ...]:
    """The kinds of run that any of the phases takes from the viewer: the form has one list for all."""
    taken = {kind for phase in taking for kind in phase.kinds or KINDS}
    return tuple(kind for kind in KINDS if kind in taken and (organises or kind not in ORGANISERS_KINDS))


def _takes(taking: list[Phase]) -> str:
    """Which kinds the phases take, as sentences; empty where all take every kind."""
    limited = [phase for phase in taking if phase.kinds]
    return " ".join(f"{phase.name} takes {' and '.join(phase.kinds)} runs only." for phase in limited)


def _phases(session: Session, viewer: Viewer, task: Task) -> tuple[tuple[str, ...], str]:
    known = phases.of_task(session, task.id)
    if len(known) == 1:
        return (), ""
    at = now(session)
    organises = policy.organises(viewer, task.id)
    names = tuple(phase.name for phase in known if organises or phases.is_open(phase, at))
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


def _earlier(session: Session, viewer: Viewer, task: Task) -> tuple[EarlierRun, ...]:
    """Of each of the viewer's teams the newest run whose form said something that may hold again."""
    rows = session.execute(
        select(Run.id, Run.name, Team.name.label("team"), Run.details)
        .join(Team, Team.id == Run.team_id)
        .where(Run.task_id == task.id, Run.team_id.in_(viewer.team_ids))
        .order_by(Run.id.desc())
        .limit(RECENT)
    )
    newest: dict[str, EarlierRun] = {}
    for row in rows:
        said = _said_again(facts.form_of(row.details))
        if said and row.team not in newest:
            newest[row.team] = EarlierRun(row.id, row.name, row.team, said)
    return tuple(sorted(newest.values(), key=lambda run: run.team))


def _said_again(form: Mapping[str, FactValue]) -> dict[str, str]:
    """What may be true of the next run too: costs are measured anew, and no two runs are judged first."""
    return {
        key: as_written(value, FIELD_OF[key])
        for key, value in form.items()
        if not FIELD_OF[key].is_cost and not FIELD_OF[key].is_whole
    }

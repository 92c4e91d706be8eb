"""Announcements of a task: whom one is for, counted and listed before it is sent, and who may read it."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Account, Announcement, Entry, Member, Run, Task, TaskRole, Team, Upload
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.services import audit, mail, newest_news, policy, prose, throttles
from leaderboard.services.mail import MailDraft, one_line
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import entries
from leaderboard.services.webhooks import webhooks
from leaderboard.tables.record import Shown

EVERYBODY = newest_news.EVERYBODY
ENTERED, WITHOUT_RUN, TEAMS, ORGANISERS = "entered", "without_run", "teams", "organisers"
KINDS = {
    EVERYBODY: "Everybody: shown to all readers of the task, and sent to its teams and organisers",
    ENTERED: "Every team that has entered",
    WITHOUT_RUN: "Teams that have entered and have no valid run",
    TEAMS: "Teams that are chosen below",
    ORGANISERS: "Organisers of the task and their helpers",
}
"""Whom an announcement may be for."""
TITLE_CHARACTERS, BODY_CHARACTERS = 200, 20_000
A_DAY = 20
"""Announcements that a task may send in a day."""
SAME = timedelta(minutes=5)
"""How long the same announcement is taken for a second press of the button."""


@dataclass(frozen=True, slots=True)
class AnnouncementDraft:
    """What is to be told, and to whom: teams counts for the kind `teams` only."""

    title: str
    body: str
    kind: str
    teams: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class AnnouncedAccount:
    """One person an announcement is for; why is its team or role, is_mailed whether a letter goes out too."""

    account_id: int
    name: Annotated[str, Shown("Account")]
    why: Annotated[str, Shown("In")]
    is_mailed: bool


@dataclass(frozen=True, slots=True)
class AnnouncementPreview:
    """An announcement before it is sent: the teams it is for and everybody it reaches."""

    draft: AnnouncementDraft
    team_ids: tuple[int, ...]
    people: tuple[AnnouncedAccount, ...]

    @property
    def count(self) -> int:
        """How many accounts it is for."""
        return len(self.people)


def teams_of(session: Session, task_id: int) -> dict[int, str]:
    """Team id -> name of all teams in a task by name, those that organisers filed runs for among them."""
    entered = select(Entry.team_id).where(Entry.task_id == task_id, Entry.state == "entered")
    tried = select(Upload.team_id).where(Upload.task_id == task_id)
    rows = session.execute(
        select(Team.id, Team.name).where(Team.id.in_(entered.union(tried))).order_by(Team.canonical)
    )
    return {team_id: name for team_id, name in rows}


def entered_teams(session: Session, task_id: int) -> dict[int, str]:
    """Team id -> name of the teams that are in a task by their own doing, whose members are written to."""
    rows = session.execute(_entered(task_id).with_only_columns(Team.id, Team.name).order_by(Team.canonical))
    return {team_id: name for team_id, name in rows}


def teams_without_run(session: Session, task_id: int) -> dict[int, str]:
    """Team id -> name of the teams in a task of which it has no run that counts."""
    sent = select(Run.team_id).where(Run.task_id == task_id, Run.withdrawn_at.is_(None))
    wanted = _entered(task_id).with_only_columns(Team.id, Team.name).where(Team.id.not_in(sent))
    return {team_id: name for team_id, name in session.execute(wanted.order_by(Team.canonical))}


def _entered(task_id: int) -> Select[Team]:
    # A team of which every file was rejected has no entry where a task asks for none, and needs help most.
    entered = select(Entry.team_id).where(Entry.task_id == task_id, entries.takes_part())
    sender = (Member.team_id == Upload.team_id) & (Member.account_id == Upload.account_id)
    tried = select(Upload.team_id).join(Member, sender).where(Upload.task_id == task_id)
    return select(Team).where(Team.id.in_(entered.union(tried)))


def preview(session: Session, viewer: Viewer, slug: str, draft: AnnouncementDraft) -> AnnouncementPreview:
    """Whom an announcement would reach, for the task's organisers; raises Invalid where that is nobody."""
    task = policy.own_task(session, viewer, slug)
    _require_words(draft)
    team_ids = _team_ids(session, task.id, draft)
    people = _people(session, task.id, draft.kind, team_ids)
    if not people and draft.kind != EVERYBODY:
        raise _refused("recipients", draft.kind, "Nobody is among them.", "Choose others, or wait.")
    return AnnouncementPreview(draft, team_ids, people)


def _require_words(draft: AnnouncementDraft) -> None:
    if not one_line(draft.title):
        raise _refused("title", "", "An announcement needs a title.", "Write one.")
    if len(draft.title) > TITLE_CHARACTERS or len(draft.body) > BODY_CHARACTERS:
        most = f"At most {TITLE_CHARACTERS} characters of title and {BODY_CHARACTERS:,} of text are taken."
        raise _refused("body", "", most, "Write less, and link to the rest.")
    if rule := prose.broken_rule(draft.body):
        raise _refused("body", "", f"The text {rule}", "Write it more simply.")
    if draft.kind not in KINDS:
        raise _refused(
            "recipients", draft.kind[:40], "Recipients must be chosen.", f"Choose {', '.join(KINDS)}."
        )


def _refused(field: str, value: str, rule: str, remedy: str) -> Invalid:
    return Invalid(f"{rule} {remedy}", [Problem(rule, remedy, field=field, value=value)])


def _team_ids(session: Session, task_id: int, draft: AnnouncementDraft) -> tuple[int, ...]:
    if draft.kind == ORGANISERS:
        return ()
    if draft.kind == WITHOUT_RUN:
        return tuple(teams_without_run(session, task_id))
    entered = entered_teams(session, task_id)
    if draft.kind != TEAMS:
        return tuple(entered)
    if not draft.teams:
        raise _refused("team", "", "No team is chosen.", "Tick the teams it is for.")
    strange = draft.teams - entered.keys()
    if strange:
        raise _refused("team", str(min(strange)), "A team is not in this task.", "Choose among those listed.")
    return tuple(team_id for team_id in entered if team_id in draft.teams)


def _people(
    session: Session, task_id: int, kind: str, team_ids: Iterable[int]
) -> tuple[AnnouncedAccount, ...]:
    """Everybody it is for, once, by name: members of the teams, and of some kinds the organisers."""
    why: dict[int, list[str]] = defaultdict(list)
    members = select(Member.account_id, Team.name).join(Team, Team.id == Member.team_id)
    for account_id, team in session.execute(members.where(Team.id.in_(team_ids)).order_by(Team.canonical)):
        why[account_id].append(team)
    if kind in (EVERYBODY, ORGANISERS):
        roles = select(TaskRole.account_id, TaskRole.role).where(TaskRole.task_id == task_id)
        for account_id, role in session.execute(roles.order_by(TaskRole.role)):
            why[account_id].append(role)
    rows = session.execute(
        select(Account.id, Account.name, mail.reachable())
        .where(Account.id.in_(why), Account.disabled_at.is_(None), Account.deleted_at.is_(None))
        .order_by(Account.canonical)
    )
    return tuple(
        AnnouncedAccount(account_id, name, ", ".join(why[account_id]), bool(is_mailed))
        for account_id, name, is_mailed in rows
    )


def send(
    session: Session, viewer: Viewer, slug: str, draft: AnnouncementDraft, counted: int, link: str | None
) -> int:
    """The id of an announcement that is sent now to whom it was counted for; link is None where no mail is.

    Raises Conflict where others would get it than were counted, or where it was sent a moment ago already;
    OverQuota after 20 a day of a task.
    """
    task = policy.own_task(session, viewer, slug)
    # Held so that a second press of the button sees the first one's row.
    lock_row(session, Task, task.id)
    made = preview(session, viewer, slug, draft)
    recipients = _recipients(made)
    _require_new(session, task.id, draft, recipients)
    if made.count != counted:
        raise Conflict(
            f"It would go to {made.count} people now, not to {counted}; look again before it is sent."
        )
    throttles.spend(session, f"announcement {task.id}", A_DAY, timedelta(days=1), "That is enough for a day")
    row = Announcement(
        task_id=task.id,
        account_id=viewer.account_id,
        title=one_line(draft.title),
        body=draft.body,
        recipients=recipients,
        count=made.count,
        created_at=now(session),
    )
    session.add(row)
    session.flush()
    if link is not None:
        text = f"{row.body.strip()}\n\n-- \nAnnounced by the organisers of {task.name}: {link}\n"
        letter = MailDraft(f"{task.name}: {row.title}", text, row.id)
        mail.write_mail(session, [person.account_id for person in made.people], letter)
    webhooks.announced(session, task, row, made.team_ids)
    facts = {"announcement": row.id, "recipients": draft.kind, "people": made.count}
    audit.record(session, viewer, "announcement.send", f"task:{task.id}", **facts)
    return row.id


def _recipients(made: AnnouncementPreview) -> dict[str, object]:
    """Whom it is for as it is stored: where it depends on the moment or on a choice, with the teams."""
    kind = made.draft.kind
    return {"kind": kind, "teams": list(made.team_ids)} if kind in (TEAMS, WITHOUT_RUN) else {"kind": kind}


def _require_new(session: Session, task_id: int, draft: AnnouncementDraft, recipients: object) -> None:
    newest = session.scalar(
        select(Announcement).where(Announcement.task_id == task_id).order_by(Announcement.id.desc()).limit(1)
    )
    if newest is None or now(session) - newest.created_at > SAME:
        return
    if (newest.title, newest.body, newest.recipients) == (one_line(draft.title), draft.body, recipients):
        raise Conflict("This announcement was sent a moment ago; it is not sent twice.")


def visible(session: Session, viewer: Viewer, task: Task, after: int = 0) -> tuple[Announcement, ...]:
    """The announcements of a task that the viewer may read, newest first; after: those after one of that id.

    Those for everybody by all who may know of the task; others by whom they are for, and by its organisers.
    """
    wanted = select(Announcement).where(Announcement.task_id == task.id, Announcement.id > after)
    rows = session.scalars(wanted.order_by(Announcement.id.desc())).all()
    if not rows or policy.organises(viewer, task.id):
        return tuple(rows)
    helps = policy.knows(viewer, task.id)
    entered = entered_teams(session, task.id).keys()

    def concerns(row: Announcement) -> bool:
        kind = row.recipients["kind"]
        return (
            kind == EVERYBODY
            or (kind == ENTERED and bool(viewer.team_ids & entered))
            or (kind == ORGANISERS and helps)
            or not viewer.team_ids.isdisjoint(row.recipients.get("teams", ()))
        )

    return tuple(row for row in rows if concerns(row))

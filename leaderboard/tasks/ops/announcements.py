"""Announcements of a task: recipients, counted and listed before sending, and visibility."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import accounts
from leaderboard.core import audit, events, policy, prose, throttles
from leaderboard.core.actions import Action
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Account, Announcement, Entry, Member, Run, Task, TaskRole, Team, Upload
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.fields import Field
from leaderboard.tables.record import Shown
from leaderboard.tasks.ops import entries

EVERYBODY = policy.EVERYBODY
ENTERED, WITHOUT_RUN, TEAMS, ORGANISERS = "entered", "without_run", "teams", "organisers"
KINDS = {
    EVERYBODY: "Everybody: shown to all readers of the task and sent to its teams and organisers",
    ENTERED: "Every team that has entered",
    WITHOUT_RUN: "Teams that have entered but have no valid run",
    TEAMS: "Teams selected below",
    ORGANISERS: "Organisers of the task and their helpers",
}
"""Kinds of recipients of an announcement."""
TITLE_CHARACTERS, BODY_CHARACTERS = 200, 20_000
A_DAY = 20
"""Maximum announcements of a task per day."""
SAME = timedelta(minutes=5)
"""Period in which the same announcement counts as a repeated click."""


def _lines(text: str) -> str:
    # Browsers send lines with two characters at their ends; stored data has one.
    return text.replace("\r\n", "\n").strip()


@dataclass(frozen=True, slots=True)
class AnnouncementBody:
    """An announcement (body in Markdown) and its recipients: everybody, entered, without_run, or teams.

    preview: only count the recipients.
    """

    title: Annotated[str, Field(title="Title", help="The heading of the announcement.", longest=2**20)]
    body: Annotated[str, Field(title="Text", help="In Markdown.", longest=2**20, rows=8, read=_lines)] = ""
    recipients: Annotated[str, Field(title="Recipients", choices=KINDS)] = EVERYBODY
    teams: Annotated[tuple[int, ...], Field(title="Teams", help="Numbers of the teams, for `teams`.")] = ()
    preview: Annotated[bool, Field(title="Preview", help="Only count the recipients; send nothing.")] = False
    step: Annotated[str, Field(title="Button", is_carried=True)] = ""
    """The button pressed: preview or send."""
    counted: Annotated[int | None, Field(title="Counted", is_carried=True, least=0)] = None
    """The number of recipients that the page showed, who may have changed since."""


@dataclass(frozen=True, slots=True)
class AnnouncedAccount:
    """One person an announcement is for; why is its team or role, is_mailed whether it is also mailed."""

    account_id: int
    name: Annotated[str, Shown("Account")]
    why: Annotated[str, Shown("In")]
    is_mailed: bool


@dataclass(frozen=True, slots=True)
class AnnouncementPreview:
    """An announcement before it is sent: the teams it is for and everybody it reaches."""

    draft: AnnouncementBody
    team_ids: tuple[int, ...]
    people: tuple[AnnouncedAccount, ...]

    @property
    def count(self) -> int:
        """The number of recipient accounts."""
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
    """Team id -> name of the teams in a task without a valid run."""
    sent = select(Run.team_id).where(Run.task_id == task_id, Run.withdrawn_at.is_(None))
    query = _entered(task_id).with_only_columns(Team.id, Team.name).where(Team.id.not_in(sent))
    return {team_id: name for team_id, name in session.execute(query.order_by(Team.canonical))}


def _entered(task_id: int) -> Select[Team]:
    # A team with only rejected files has no entry if the task requires none, and needs help most.
    entered = select(Entry.team_id).where(Entry.task_id == task_id, entries.takes_part())
    sender = (Member.team_id == Upload.team_id) & (Member.account_id == Upload.account_id)
    tried = select(Upload.team_id).join(Member, sender).where(Upload.task_id == task_id)
    return select(Team).where(Team.id.in_(entered.union(tried)))


def preview(session: Session, viewer: Viewer, slug: str, draft: AnnouncementBody) -> AnnouncementPreview:
    """The recipients of an announcement, for the task's organisers; raises Invalid if there are none."""
    task = policy.own_task(session, viewer, slug)
    _require_words(draft)
    team_ids = _team_ids(session, task.id, draft)
    people = _people(session, task.id, draft.recipients, team_ids)
    if not people and draft.recipients != EVERYBODY:
        rule, remedy = "There are no recipients.", "Choose other recipients, or send it later."
        raise _refused("recipients", draft.recipients, rule, remedy)
    return AnnouncementPreview(draft, team_ids, people)


def _require_words(draft: AnnouncementBody) -> None:
    if not prose.one_line(draft.title):
        raise _refused("title", "", "An announcement needs a title.", "Enter a title.")
    if len(draft.title) > TITLE_CHARACTERS or len(draft.body) > BODY_CHARACTERS:
        most = f"The title is limited to {TITLE_CHARACTERS} characters and the text to {BODY_CHARACTERS:,}."
        raise _refused("body", "", most, "Shorten it and link to the rest.")
    if rule := prose.broken_rule(draft.body):
        raise _refused("body", "", f"The text {rule}", "Simplify the text.")


def _refused(field: str, value: str, rule: str, remedy: str) -> Invalid:
    return Invalid(f"{rule} {remedy}", [Problem(rule, remedy, field=field, value=value)])


def _team_ids(session: Session, task_id: int, draft: AnnouncementBody) -> tuple[int, ...]:
    if draft.recipients == ORGANISERS:
        return ()
    if draft.recipients == WITHOUT_RUN:
        return tuple(teams_without_run(session, task_id))
    entered = entered_teams(session, task_id)
    if draft.recipients != TEAMS:
        return tuple(entered)
    if not draft.teams:
        raise _refused("teams", "", "No team is chosen.", "Select the teams to notify.")
    strange = set(draft.teams) - entered.keys()
    if strange:
        raise _refused(
            "teams", str(min(strange)), "A team is not in this task.", "Choose from the listed teams."
        )
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
        select(Account.id, Account.name, accounts.reachable())
        .where(Account.id.in_(why), Account.disabled_at.is_(None), Account.deleted_at.is_(None))
        .order_by(Account.canonical)
    )
    return tuple(
        AnnouncedAccount(account_id, name, ", ".join(why[account_id]), bool(is_mailed))
        for account_id, name, is_mailed in rows
    )


def send(
    session: Session, viewer: Viewer, slug: str, draft: AnnouncementBody, counted: int, link: str | None
) -> int:
    """Send an announcement to its counted recipients; return its id.

    link is None without mail. Raises Conflict if the recipients have changed since the count, or if it
    was just sent; OverQuota after 20 per day of a task.
    """
    task = policy.own_task(session, viewer, slug)
    # Held so that a second press of the button sees the first one's row.
    lock_row(session, Task, task.id)
    announcement_preview = preview(session, viewer, slug, draft)
    recipients = _recipients(announcement_preview)
    _require_new(session, task.id, draft, recipients)
    if announcement_preview.count != counted:
        raise Conflict(
            f"The recipients have changed: now {announcement_preview.count} people, not {counted}. "
            "Check the preview again, then send it."
        )
    throttles.spend(session, f"announcement {task.id}", A_DAY, timedelta(days=1), "Too many announcements")
    row = Announcement(
        task_id=task.id,
        account_id=viewer.account_id,
        title=prose.one_line(draft.title),
        body=draft.body,
        recipients=recipients,
        count=announcement_preview.count,
        created_at=now(session),
    )
    session.add(row)
    session.flush()
    if link is not None:
        text = f"{row.body.strip()}\n\n-- \nAnnounced by the organisers of {task.name}: {link}\n"
        letter = events.MailDraft(f"{task.name}: {row.title}", text, row.id)
        for post in events.MAIL:
            post.write_mail(session, [person.account_id for person in announcement_preview.people], letter)
    for listener in events.LISTENERS:
        listener.announced(session, task, row, announcement_preview.team_ids)
    facts = {"announcement": row.id, "recipients": draft.recipients, "people": announcement_preview.count}
    audit.record(session, viewer, "announcement.send", f"task:{task.id}", **facts)
    return row.id


def _recipients(announcement_preview: AnnouncementPreview) -> dict[str, object]:
    """The recipients as stored: with the teams if they depend on the moment or on a choice."""
    kind = announcement_preview.draft.recipients
    return (
        {"kind": kind, "teams": list(announcement_preview.team_ids)}
        if kind in (TEAMS, WITHOUT_RUN)
        else {"kind": kind}
    )


def _require_new(session: Session, task_id: int, draft: AnnouncementBody, recipients: object) -> None:
    newest = session.scalar(
        select(Announcement).where(Announcement.task_id == task_id).order_by(Announcement.id.desc()).limit(1)
    )
    if newest is None or now(session) - newest.created_at > SAME:
        return
    content = prose.one_line(draft.title), draft.body, recipients
    if (newest.title, newest.body, newest.recipients) == content:
        raise Conflict("This announcement was just sent; it is not sent twice.")


def visible(session: Session, viewer: Viewer, task: Task, after: int = 0) -> tuple[Announcement, ...]:
    """The announcements of a task visible to the viewer, newest first; after: only those after that id.

    Those for everybody are visible to all readers of the task; others to their recipients and the
    organisers.
    """
    query = select(Announcement).where(Announcement.task_id == task.id, Announcement.id > after)
    rows = session.scalars(query.order_by(Announcement.id.desc())).all()
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


def announce(
    session: Session, viewer: Viewer, slug: str, draft: AnnouncementBody, address: str | None
) -> tuple[int | None, AnnouncementPreview]:
    """Send an announcement unless only its recipients are wanted; its id, None for a preview, and these.

    address: the site's, None without mail. Raises as `preview` and `send` do.
    """
    shown = preview(session, viewer, slug, draft)
    if draft.preview or draft.step == "preview":
        return None, shown
    counted, link = draft.counted, address and f"{address}/tasks/{slug}/news"
    return send(session, viewer, slug, draft, shown.count if counted is None else counted, link), shown


ANNOUNCE = Action(
    name="announce",
    summary="Send an announcement to the people of a task",
    more="It appears in the task's news and, if the site sends mail, is mailed to subscribers.",
    path="/tasks/<slug>/announcements",
    form="/tasks/<slug>/announce",
    record=AnnouncementBody,
    act=announce,
    site=lambda settings: {"address": settings.address if settings.smtp_url else None},
    status=201,
)

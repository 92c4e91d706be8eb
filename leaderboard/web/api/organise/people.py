"""Operations on the people of an organiser's task: roles, invitations, teams that enter, announcements."""

from dataclasses import dataclass
from typing import Annotated

from leaderboard.pages.tasks import entries as entry_pages
from leaderboard.pages.tasks import settings as role_pages
from leaderboard.pages.tasks.settings import RolesPage
from leaderboard.services import policy
from leaderboard.services.accounts import invitations
from leaderboard.services.accounts.invitations import InvitationRequest
from leaderboard.services.tasks import announcements, entries, roles
from leaderboard.services.tasks.announcements import AnnouncementDraft
from leaderboard.web.addresses import absolute
from leaderboard.web.api import limits
from leaderboard.web.api.limits import Filled
from leaderboard.web.api.operations import operation
from leaderboard.web.api.organise.answers import (
    AnnouncementAnswer,
    Done,
    EntryAnswer,
    EntryAnswers,
    LinkAnswer,
    People,
)
from leaderboard.web.api.organise.tasks import ORGANISE
from leaderboard.web.rules import SIGNED_IN, Rule
from leaderboard.web.session import reading, settings, viewer, wake, writing


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleBody:
    """An account by its name, and its role: organiser, coordinator or reader."""

    account: str
    role: Annotated[str, limits.one_of(policy.ROLES)]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskInvitation:
    """Who is invited as what; uses: how often the link works, null for any number; days: for how long."""

    role: Annotated[str, limits.one_of([""], invitations.ROLES)] = ""
    note: str = ""
    uses: Annotated[int, limits.within(1, invitations.MOST_USES)] | None = 1
    days: Annotated[int, limits.within(1, invitations.MOST_DAYS)] = invitations.DAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDecision:
    """Whether a team that asked may enter; why: needed for a no."""

    accept: bool
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnouncementBody:
    """What is announced (body in Markdown), and to whom: everybody, entered, without_run, or chosen teams.

    preview: only count whom it would reach.
    """

    title: Filled
    body: str = ""
    recipients: Annotated[str, limits.one_of(announcements.KINDS)] = announcements.EVERYBODY
    teams: tuple[int, ...] = ()
    preview: bool = False


@operation("GET", "/tasks/<slug>/people", People, rule=Rule(SIGNED_IN))
def task_people(slug: str) -> RolesPage:
    """Who has a role in a task

    For its organisers and who reads everything.
    """
    return role_pages.people(reading(), viewer(), slug)


@operation("PUT", "/tasks/<slug>/people", People, body=RoleBody, scopes=ORGANISE)
def give_role(slug: str, body: RoleBody) -> RolesPage:
    """Give an account a role in a task"""
    with writing() as session:
        roles.give(session, viewer(), slug, body.account, body.role)
    return role_pages.people(reading(), viewer(), slug)


@operation("DELETE", "/tasks/<slug>/people/<id:account_id>", Done, scopes=ORGANISE)
def remove_role(slug: str, account_id: int) -> Done:
    """Take an account's role in a task away

    The last organiser stays.
    """
    with writing() as session:
        roles.remove(session, viewer(), slug, account_id)
    return Done(done="role removed")


@operation("POST", "/tasks/<slug>/invitations", LinkAnswer, body=TaskInvitation, scopes=ORGANISE, status=201)
def invite_to_task(slug: str, body: TaskInvitation) -> LinkAnswer:
    """Make a link that invites to a task

    With a role it makes whoever opens it an organiser, coordinator or reader; without one it leads
    participants to the task. It cannot be read again.
    """
    asker = viewer()
    task = policy.own_task(reading(), asker, slug)
    wanted = InvitationRequest(
        kind=invitations.TASK, task_id=task.id, role=body.role, note=body.note, uses=body.uses, days=body.days
    )
    with writing() as session:
        token = invitations.invite(session, asker, wanted)
    return LinkAnswer(link=absolute("invitations.show", token=token))


@operation("GET", "/tasks/<slug>/entries", EntryAnswers, rule=Rule(SIGNED_IN), scopes=ORGANISE)
def task_entries(slug: str) -> EntryAnswers:
    """The teams in a task

    Those that wait for an answer first; for its organisers.
    """
    page = entry_pages.entry_list(reading(), viewer(), slug)
    return EntryAnswers(
        task=page.slug,
        rule=page.of.entry_rule,
        entries=tuple(
            EntryAnswer(
                team=row.entry.team_id,
                team_id=row.entry.team_id,
                name=row.team,
                state=row.entry.state,
                why=row.entry.why,
                agreed=row.entry.agreement_version,
                agreed_at=row.entry.agreed_at,
                runs=row.runs,
            )
            for row in page.rows
        ),
    )


@operation("POST", "/tasks/<slug>/entries/<id:team_id>", Done, body=EntryDecision, scopes=ORGANISE)
def decide_entry(slug: str, team_id: int, body: EntryDecision) -> Done:
    """Let a team in, or refuse it"""
    with writing() as session:
        entries.decide(session, viewer(), slug, team_id, accept=body.accept, why=body.why)
    return Done(done="let in" if body.accept else "refused")


@operation(
    "POST",
    "/tasks/<slug>/announcements",
    AnnouncementAnswer,
    body=AnnouncementBody,
    scopes=ORGANISE,
    status=201,
)
def announce(slug: str, body: AnnouncementBody) -> AnnouncementAnswer:
    """Announce something to the people of a task

    It stands in the task's news and, where the site sends mail, goes to those who want it.
    """
    asker = viewer()
    draft = AnnouncementDraft(body.title.strip(), body.body.strip(), body.recipients, frozenset(body.teams))
    shown = announcements.preview(reading(), asker, slug, draft)
    number = None
    if not body.preview:
        link = absolute("news.show", slug=slug) if settings().smtp_url else None
        with writing() as session:
            number = announcements.send(session, asker, slug, draft, len(shown.people), link)
        wake()
    return AnnouncementAnswer(announcement=number, people=len(shown.people), teams=len(shown.team_ids))


OPERATIONS = (task_people, give_role, remove_role, invite_to_task, task_entries, decide_entry, announce)

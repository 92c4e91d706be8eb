"""Operations on the people of an organiser's task: roles, invitations, teams that enter, announcements."""

from dataclasses import dataclass

from leaderboard.accounts.ops import invitations
from leaderboard.boards.ops import board
from leaderboard.boards.ops.board import Group
from leaderboard.tasks.api.drafts import AnnouncementAnswer, EntryAnswer, EntryAnswers, People
from leaderboard.tasks.api.teams import link_to
from leaderboard.tasks.ops import announcements, entries, roles
from leaderboard.tasks.ops.announcements import AnnouncementPreview
from leaderboard.tasks.ops.pseudonyms import pseudonyms
from leaderboard.tasks.page import organise as entry_pages
from leaderboard.tasks.page import settings as role_pages
from leaderboard.tasks.page.settings import RolesPage
from leaderboard.web.api import actions
from leaderboard.web.api.operations import ORGANISE, operation
from leaderboard.web.rules import SIGNED_IN, Rule
from leaderboard.web.session import reading, viewer


@operation("GET", "/tasks/<slug>/people", People, rule=Rule(SIGNED_IN))
def task_people(slug: str) -> RolesPage:
    """List the accounts with a role in a task

    For its organisers and readers.
    """
    return role_pages.people(reading(), viewer(), slug)


@operation("GET", "/tasks/<slug>/entries", EntryAnswers, rule=Rule(SIGNED_IN), scopes=ORGANISE)
def task_entries(slug: str) -> EntryAnswers:
    """List the teams in a task

    Those that wait for a decision first; for its organisers.
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


def _announced(result: tuple[int | None, AnnouncementPreview], **_: object) -> AnnouncementAnswer:
    number, shown = result
    return AnnouncementAnswer(announcement=number, people=shown.count, teams=len(shown.team_ids))


OPERATIONS = (
    *(task_people, task_entries),
    *actions.operations(
        (announcements.ANNOUNCE, roles.GIVE, roles.REMOVE, invitations.TO_TASK, entries.DECIDE),
        answers={
            "announce": (AnnouncementAnswer, _announced),
            "give_role": (People, lambda _, slug: role_pages.people(reading(), viewer(), slug)),
            "invite_to_task": link_to("invitations.show"),
        },
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAnswer:
    """A group of a task: its number, name and how many members it has."""

    group: int
    name: str
    kind: str
    members: int


def _group(group: Group, **_: object) -> GroupAnswer:
    return GroupAnswer(group=group.id, name=group.name, kind=group.kind, members=len(group.members))


NAMING = actions.operations(
    (*pseudonyms.ACTIONS, *board.ACTIONS), answers={"declare_group": (GroupAnswer, _group)}
)

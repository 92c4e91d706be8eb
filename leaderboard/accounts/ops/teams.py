"""Teams: made by anyone with an account, joined by an invitation, led by a captain.

Members, runs and uploads go to the target, so what both have used of a limit is counted together;
invitations of the other team lead to it, and what was announced to the other team can be read by it.
It is possible while no task of the other team is over: what was won under a name stays under it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial
from typing import Annotated

from sqlalchemy import delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import names
from leaderboard.core import audit, policy, throttles
from leaderboard.core.actions import Action, by_account
from leaderboard.core.policy import Scope, Viewer, organises, owns, require_account
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import (
    Announcement,
    Entry,
    GroupedTeam,
    Invitation,
    Member,
    PartialUpload,
    Run,
    RunGroup,
    Task,
    Team,
    Upload,
    Webhook,
)
from leaderboard.errors import Conflict, Forbidden, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.trec.read.lines import shown

TEAMS_PER_DAY = 20
TEAMS_PER_DAY_OF_A_NETWORK = 100
DETAIL_CHARACTERS = 200
HOME_PAGE = re.compile(r"https://[A-Za-z0-9.-]+(?::\d{1,5})?(?:[/?#][^\s<>\"']*)?")
CAPTAIN, MEMBER = "captain", "member"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTeam:
    """The name of a new team."""

    name: Annotated[str, Field(title="Team name", longest=names.MAX_CHARACTERS)]


@dataclass(frozen=True, slots=True)
class TeamChanges:
    """Changes of a team; omitted fields stay. Only the captain can change the name."""

    affiliation: Annotated[str | None, Field(title="Affiliation", longest=DETAIL_CHARACTERS)] = None
    country: Annotated[str | None, Field(title="Country", longest=DETAIL_CHARACTERS)] = None
    home_page: Annotated[str | None, Field(title="Home page (https address)", longest=DETAIL_CHARACTERS)] = (
        None
    )
    name: Annotated[
        str | None, Field(title="Team name", help="For its captain to change.", longest=names.MAX_CHARACTERS)
    ] = None


def count_creation(session: Session, viewer: Viewer, name: str) -> None:
    """Count one try to make a team: commit this before `create`, so that a name that is taken costs too.

    Raises Invalid for a name that cannot be shown, OverQuota after 20 a day of an account, 100 of a network.
    """
    account_id = require_account(viewer)
    names.displayed(name, "a team")
    day = timedelta(days=1)
    throttles.spend(session, f"team {account_id}", TEAMS_PER_DAY, day)
    throttles.spend(session, f"team ip {throttles.network(viewer.ip)}", TEAMS_PER_DAY_OF_A_NETWORK, day)


def create(session: Session, viewer: Viewer, name: str) -> int:
    """Create a team with the viewer as captain and return its id; `count_creation` counts first.

    Raises Invalid for a name that cannot be shown, Conflict for one that is taken or looks like one that is.
    """
    account_id = require_account(viewer)
    team = _add(session, viewer, name)
    session.add(Member(team_id=team.id, account_id=account_id, role=CAPTAIN, joined_at=team.created_at))
    return team.id


def _add(session: Session, viewer: Viewer, name: str) -> Team:
    shown = names.displayed(name, "a team")
    team = Team(
        name=shown, canonical=names.canonical(shown), skeleton=names.skeleton(shown), created_at=now(session)
    )
    try:
        with session.begin_nested():
            session.add(team)
    except IntegrityError:
        raise _taken(shown) from None
    audit.record(session, viewer, "team.create", f"team:{team.id}", name=shown)
    return team


def _taken(shown: str) -> Conflict:
    return Conflict(
        f"The team name {shown!r} is taken, or looks like one that is taken. Choose another name, or ask a "
        "member for an invitation.",
        name=shown,
        field="name",
    )


def ensure(session: Session, viewer: Viewer, name: str, task_id: int | None = None) -> int:
    """The id of the team with this name, created without members if absent.

    For the operator, and for organisers of the task whose runs are filed. Raises Forbidden for others,
    Invalid for a name that cannot be shown, Conflict for one that looks like another team's.
    """
    if not (viewer.is_operator if task_id is None else organises(viewer, task_id)):
        raise Forbidden("Only organisers of the task can add runs for any team.")
    shown = names.displayed(name, "a team")
    team_id = session.scalar(select(Team.id).where(Team.canonical == names.canonical(shown)))
    return team_id if team_id is not None else _add(session, viewer, shown).id


def own_team(session: Session, viewer: Viewer, team_id: int) -> Team:
    """The viewer's team of that id.

    Raises NotFound for a team of others too, Forbidden for a token that is for one task.
    """
    require_account(viewer)
    if viewer.only_task is not None:
        raise Forbidden(
            "This token is limited to one task, and teams are not part of a task. Create a "
            "token for all your tasks."
        )
    team = session.get(Team, team_id) if owns(viewer, team_id) else None
    if team is None:
        raise NotFound(f"You are not in team {team_id}.", team=team_id)
    return team


def name_of(session: Session, team_id: int) -> str:
    """The name of a team, as its members know it."""
    return session.get_one(Team, team_id).name


def add_member(session: Session, team_id: int, account_id: int) -> None:
    """Put an account that was invited into a team; raises Conflict for someone who is in it already."""
    lock_row(session, Team, team_id)
    if session.get(Member, (team_id, account_id)) is not None:
        name = session.get_one(Team, team_id).name
        raise Conflict(f"You are already in team {name}. Someone else can use the invitation.")
    session.add(Member(team_id=team_id, account_id=account_id, role=MEMBER, joined_at=now(session)))


def require_captain(session: Session, viewer: Viewer, team_id: int) -> Team:
    """The viewer's team with its row locked; raises NotFound, or Forbidden unless they are captain."""
    team = own_team(session, viewer, team_id)
    lock_row(session, Team, team_id)
    own = session.get(Member, (team_id, require_account(viewer)))
    if own is None or own.role != CAPTAIN:
        raise Forbidden("Only the team's captain can do this.")
    return team


def describe(session: Session, viewer: Viewer, team_id: int, changes: TeamChanges) -> None:
    """Say who the team is; for its members, and its name for its captain: `count_creation` counted the try.

    Raises Invalid for a home page that is not an https address, and as `rename`.
    """
    team = own_team(session, viewer, team_id)
    details = {key: text for key, text in asdict(changes).items() if text is not None and key != "name"}
    problems = [problem for problem in _detail_problems(details) if problem is not None]
    if problems:
        raise Invalid("These team details are not valid.", problems)
    if details:
        throttles.spend(session, f"team details {team_id}", TEAMS_PER_DAY, timedelta(days=1))
        for key, text in details.items():
            setattr(team, key, text.strip())
        audit.record(session, viewer, "team.describe", f"team:{team_id}", **details)
    if changes.name is not None:
        rename(session, viewer, team_id, changes.name)


def _detail_problems(details: Mapping[str, str]) -> Iterator[Problem | None]:
    for field, value in details.items():
        if len(value) > DETAIL_CHARACTERS or not value.isprintable():
            rule = f"must have at most {DETAIL_CHARACTERS} characters, all of them visible."
            yield Problem(rule, "Shorten it.", field=field, value=value[:40])
    page = details.get("home_page", "").strip()
    if page and not HOME_PAGE.fullmatch(page):
        rule = "must be an address that begins with https://, without user name and password."
        yield Problem(rule, "Copy the address from a browser.", field="home_page", value=page[:80])


def rename(session: Session, viewer: Viewer, team_id: int, name: str) -> None:
    """Give the team another name, everywhere at once; for its captain. `count_creation` counted the try.

    What was frozen in snapshots keeps the name it had, and the audit has both. Raises as `create`.
    """
    team = require_captain(session, viewer, team_id)
    shown, before = names.displayed(name, "a team"), team.name
    try:
        with session.begin_nested():
            team.name, team.canonical, team.skeleton = shown, names.canonical(shown), names.skeleton(shown)
            session.flush()
    except IntegrityError:
        raise _taken(shown) from None
    audit.record(session, viewer, "team.rename", f"team:{team_id}", before=before, name=shown)


def hand_over(session: Session, viewer: Viewer, team_id: int, account_id: int) -> None:
    """Make another member the captain; for the captain, who stays a member."""
    require_captain(session, viewer, team_id)
    members = {member.account_id: member for member in _locked_members(session, team_id)}
    if account_id not in members or account_id == viewer.account_id:
        raise NotFound("This account is not another member of this team.")
    members[require_account(viewer)].role, members[account_id].role = MEMBER, CAPTAIN
    audit.record(session, viewer, "team.hand_over", f"team:{team_id}", account=account_id)


def leave(session: Session, viewer: Viewer, team_id: int) -> None:
    """Remove the viewer from the team; where the captain leaves, the longest-standing member leads.

    Raises Conflict for the last member: the team's runs need someone who answers for them.
    """
    own_team(session, viewer, team_id)
    if len(_locked_members(session, team_id)) == 1:
        raise Conflict("You are the last member of this team. Invite someone first, or keep the team.")
    step_down(session, team_id, require_account(viewer))
    audit.record(session, viewer, "team.leave", f"team:{team_id}")


def step_down(session: Session, team_id: int, account_id: int) -> None:
    """Remove a member from a team; after a captain, the longest-standing member leads."""
    members = _locked_members(session, team_id)
    others = [member for member in members if member.account_id != account_id]
    if others and all(member.role != CAPTAIN for member in others):
        others[0].role = CAPTAIN
    for member in members:
        if member.account_id == account_id:
            session.delete(member)


def remove(session: Session, viewer: Viewer, team_id: int, account_id: int) -> None:
    """Remove another member from the team; for its captain only."""
    require_captain(session, viewer, team_id)
    members = {member.account_id: member for member in _locked_members(session, team_id)}
    if account_id not in members or account_id == viewer.account_id:
        raise NotFound("This account is not another member of this team.")
    session.delete(members[account_id])
    audit.record(session, viewer, "team.remove", f"team:{team_id}", account=account_id)


def _locked_members(session: Session, team_id: int) -> list[Member]:
    lock_row(session, Team, team_id)
    rows = session.scalars(
        select(Member).where(Member.team_id == team_id).order_by(Member.joined_at, Member.account_id)
    )
    return list(rows)


_of_members = partial(Action, page="teams.show", scopes=(Scope.SUBMIT,), may=own_team)
ACTIONS = (
    Action(
        name="make_team",
        summary="Create a team",
        more="You become its captain. Needs a token that is not limited to a task or team.",
        path="/teams",
        form="/teams",
        scopes=(Scope.SUBMIT,),
        may=by_account,
        record=NewTeam,
        count=lambda session, viewer, asked: count_creation(session, viewer, asked.name),
        act=lambda session, viewer, asked: create(session, viewer, asked.name),
        status=201,
    ),
    _of_members(
        name="describe_team",
        summary="Describe a team",
        method="PATCH",
        path="/teams/<id:team_id>",
        form="/teams/<id:team_id>/details",
        record=TeamChanges,
        count=lambda session, viewer, _, asked: (
            None if asked.name is None else count_creation(session, viewer, asked.name)
        ),
        act=describe,
    ),
    _of_members(
        name="hand_over_team",
        summary="Make another member the captain",
        path="/teams/<id:team_id>/members/<id:account_id>/captain",
        form="/teams/<id:team_id>/members/<id:account_id>/captain",
        act=hand_over,
        done="handed over",
    ),
    _of_members(
        name="remove_member",
        summary="Remove another member from a team",
        method="DELETE",
        path="/teams/<id:team_id>/members/<id:account_id>",
        form="/teams/<id:team_id>/members/<id:account_id>/remove",
        act=remove,
        done="removed",
    ),
    _of_members(
        name="leave_team",
        summary="Leave a team",
        path="/teams/<id:team_id>/leave",
        form="/teams/<id:team_id>/leave",
        page="teams.index",
        act=leave,
        done="left",
    ),
)


REFUSED, ENTERED = "refused", "entered"


def merge(session: Session, viewer: Viewer, name: str, target_name: str) -> int:
    """Merge a team into the target team and return the target's id. For operators; cannot be undone.

    Raises Conflict where the team has results in a task that is over, files that wait for their check, or
    goes by a pseudonym in a task where the other does not; NotFound where either no longer exists.
    """
    policy.require_operator(viewer)
    team_id, target_id = _find(session, name), _find(session, target_name)
    if target_id == team_id:
        raise Conflict("A team cannot be merged with itself.")
    # Before the teams, as anyone who opens an invitation holds it before its team.
    session.execute(select(Invitation.id).where(Invitation.team_id == team_id).with_for_update())
    for locked_id in sorted((target_id, team_id)):
        # Ascending ids, so that two merges cannot deadlock; no file is accepted for either meanwhile.
        lock_row(session, Team, locked_id)
    # Read again, because another merge may have finished in the meantime.
    source = session.get_one(Team, _find(session, name))
    _find(session, target_name)
    tasks = _tasks(session, team_id)
    _require_possible(session, team_id, target_id, tasks)
    renamed = _move_runs(session, team_id, target_id)
    for task in tasks:
        _join_entries(session, task, team_id, target_id)
    _move_groups(session, team_id, target_id)
    _move_members(session, team_id, target_id)
    _move_invitations(session, team_id, target_id)
    _move_announcements(session, [task.id for task in tasks], team_id, target_id)
    session.execute(update(Team).where(Team.merged_into_id == team_id).values(merged_into_id=target_id))
    session.execute(update(Webhook).where(Webhook.team_id == team_id).values(team_id=target_id))
    source.merged_into_id = target_id
    session.flush()
    audit.record(session, viewer, "team.merge", f"team:{target_id}", merged=team_id, renamed=renamed)
    return target_id


def _find(session: Session, name: str) -> int:
    query = select(Team.id).where(Team.canonical == names.canonical(name), Team.merged_into_id.is_(None))
    team_id = session.scalar(query)
    if team_id is None:
        raise NotFound(f"There is no team named {shown(name)}.")
    return team_id


def _tasks(session: Session, team_id: int) -> list[Task]:
    """The tasks that the team entered or sent files to."""
    entered = select(Entry.task_id).where(Entry.team_id == team_id)
    sent = select(Upload.task_id).where(Upload.team_id == team_id)
    return list(session.scalars(select(Task).where(Task.id.in_(entered.union(sent))).order_by(Task.id)))


def _require_possible(session: Session, source: int, target: int, tasks: Sequence[Task]) -> None:
    waiting = select(Upload.id).where(Upload.team_id == source, Upload.state.in_(("received", "held")))
    if session.scalar(waiting.limit(1)) is not None:
        raise Conflict("A file of the team is waiting to be checked or reviewed. Try again after that.")
    for task in tasks:
        if policy.is_closed(session, task.id):
            raise Conflict(
                f"{task.name} is over, and its results keep their team names. Merge the other team into "
                "this one, or keep both."
            )
        mine, theirs = _entries(session, task, source, target)
        if mine is not None and theirs is not None and bool(mine.pseudonym) != bool(theirs.pseudonym):
            raise Conflict(
                f"In {task.name}, only one of the two teams has a pseudonym, and a merge would reveal it. "
                "Wait until team names are shown."
            )


def _entries(session: Session, task: Task, source: int, target: int) -> tuple[Entry | None, Entry | None]:
    rows = session.scalars(select(Entry).where(Entry.task_id == task.id, Entry.team_id.in_((source, target))))
    by_team = {entry.team_id: entry for entry in rows}
    return by_team.get(source), by_team.get(target)


def _join_entries(session: Session, task: Task, source: int, target: int) -> None:
    """One entry of two: a refusal stays one, a pseudonym is the target's and is kept for the longer time."""
    mine, theirs = _entries(session, task, source, target)
    if mine is None:
        return
    if theirs is None:
        mine.team_id = target
        return
    states = {mine.state, theirs.state}
    if REFUSED in states:
        theirs.why = theirs.why or mine.why
        theirs.state = REFUSED
    elif ENTERED in states:
        theirs.state = ENTERED
    theirs.entered_by = theirs.entered_by or mine.entered_by
    dates = (mine.reveal_at, theirs.reveal_at)
    theirs.reveal_at = None if None in dates else max(date for date in dates if date is not None)
    session.delete(mine)
    session.flush()
    _keep_final(session, task, target)


def _keep_final(session: Session, task: Task, target: int) -> None:
    """If both teams together selected too many runs, drop the latest selections."""
    if task.final_runs is None:
        return
    marked = session.scalars(
        select(Run)
        .where(Run.task_id == task.id, Run.team_id == target, Run.final_at.is_not(None))
        .order_by(Run.final_at, Run.id)
    ).all()
    for run in marked[task.final_runs :]:
        run.final_at = run.final_by = None


def _move_runs(session: Session, source: int, target: int) -> dict[str, str]:
    """Move runs and uploads to the target; returns the new names of runs renamed to avoid clashes."""
    rows = session.execute(select(Run.task_id, Run.name).where(Run.team_id == target))
    taken = {(row.task_id, row.name) for row in rows}
    renamed = {}
    for run in session.scalars(select(Run).where(Run.team_id == source).order_by(Run.id)).all():
        name, number = run.name, 1
        while (run.task_id, name) in taken:
            number += 1
            name = f"{run.name} ({number})"
        if name != run.name:
            renamed[str(run.id)] = name
        taken.add((run.task_id, name))
        run.name, run.team_id = name, target
    for sent in (Upload, PartialUpload):
        session.execute(update(sent).where(sent.team_id == source).values(team_id=target))
    session.flush()
    return renamed


def _move_groups(session: Session, source: int, target: int) -> None:
    """In a task where the target is, its own groups stay; elsewhere it takes the other's places."""
    rows = session.execute(
        select(GroupedTeam, RunGroup.task_id)
        .join(RunGroup, RunGroup.id == GroupedTeam.group_id)
        .where(GroupedTeam.team_id.in_((source, target)))
    ).all()
    here = {task_id for place, task_id in rows if place.team_id == target}
    kept = {place.group_id for place, task_id in rows if place.team_id == source and task_id not in here}
    session.execute(delete(GroupedTeam).where(GroupedTeam.team_id == source))
    session.add_all(GroupedTeam(group_id=group_id, team_id=target) for group_id in sorted(kept))


def _move_invitations(session: Session, source: int, target: int) -> None:
    """Links to the team lead to the target; those for reviewers end: it may have another pseudonym."""
    own = update(Invitation).where(Invitation.team_id == source)
    session.execute(own.where(Invitation.kind == "team").values(team_id=target))
    session.execute(own.where(Invitation.revoked_at.is_(None)).values(revoked_at=now(session)))


def _move_announcements(session: Session, task_ids: Sequence[int], source: int, target: int) -> None:
    """Let the target's members read announcements to the merged team."""
    for announcement in session.scalars(select(Announcement).where(Announcement.task_id.in_(task_ids))):
        team_ids = announcement.recipients.get("teams", ())
        if source in team_ids:
            moved = sorted({*team_ids, target} - {source})
            announcement.recipients = {**announcement.recipients, "teams": moved}


def _move_members(session: Session, source: int, target: int) -> None:
    there = set(session.scalars(select(Member.account_id).where(Member.team_id == target)))
    moving = session.scalars(select(Member.account_id).where(Member.team_id == source)).all()
    session.execute(delete(Member).where(Member.team_id == source))
    at = now(session)
    session.add_all(
        Member(team_id=target, account_id=account_id, role=MEMBER, joined_at=at)
        for account_id in moving
        if account_id not in there
    )

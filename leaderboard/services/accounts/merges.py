"""Two teams become one, by the operator.

Members, runs and uploads go to the target, so what both have used of a limit is counted together;
invitations of the other team lead to it, and what was announced to the other team can be read by it.
It is possible while no task of the other team is over: what was won under a name stays under it.
"""

from collections.abc import Sequence

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

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
from leaderboard.errors import Conflict, NotFound
from leaderboard.services import audit, policy
from leaderboard.services.accounts import names, teams
from leaderboard.services.policy import Viewer
from leaderboard.trec.read.lines import shown

REFUSED, ENTERED = "refused", "entered"


def merge(session: Session, viewer: Viewer, name: str, target_name: str) -> int:
    """Merge a team into another one, the target, whose id this is. For the operator; it cannot be undone.

    Raises Conflict where the team has results in a task that is over, files that wait for their check, or
    goes by a pseudonym in a task where the other does not; NotFound where either is no team any more.
    """
    policy.require_operator(viewer)
    team_id, target_id = _find(session, name), _find(session, target_name)
    if target_id == team_id:
        raise Conflict("A team cannot be merged with itself.")
    # Before the teams, as whoever opens an invitation holds it before its team.
    session.execute(select(Invitation.id).where(Invitation.team_id == team_id).with_for_update())
    for held in sorted((target_id, team_id)):
        # Ascending, so that two merges never wait for each other; no file comes in for either meanwhile.
        lock_row(session, Team, held)
    # Asked again, as another merge may have been done meanwhile.
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
    known = select(Team.id).where(Team.canonical == names.canonical(name), Team.merged_into_id.is_(None))
    found = session.scalar(known)
    if found is None:
        raise NotFound(f"There is no team called {shown(name)}.")
    return found


def _tasks(session: Session, team_id: int) -> list[Task]:
    """The tasks that the team entered or sent files to."""
    entered = select(Entry.task_id).where(Entry.team_id == team_id)
    sent = select(Upload.task_id).where(Upload.team_id == team_id)
    return list(session.scalars(select(Task).where(Task.id.in_(entered.union(sent))).order_by(Task.id)))


def _require_possible(session: Session, source: int, target: int, tasks: Sequence[Task]) -> None:
    waiting = select(Upload.id).where(Upload.team_id == source, Upload.state.in_(("received", "held")))
    if session.scalar(waiting.limit(1)) is not None:
        raise Conflict("A file of the team waits for its check or for a look; try again after that.")
    for task in tasks:
        if policy.is_closed(session, task.id):
            raise Conflict(
                f"{task.name} is over: results stay under the name they were won by. Merge the other team "
                "into this one, or keep both."
            )
        mine, theirs = _entries(session, task, source, target)
        if mine is not None and theirs is not None and bool(mine.pseudonym) != bool(theirs.pseudonym):
            raise Conflict(
                f"In {task.name} one of the teams goes by a pseudonym and the other does not: merged, the "
                "pseudonym would be given away. Wait until names are shown."
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
    """Where both have marked more runs together than may count, the marks made last go."""
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
    """Give runs and uploads to the target; the new names of those whose names it has."""
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
    """What was announced to the team can be read by the target's members."""
    for told in session.scalars(select(Announcement).where(Announcement.task_id.in_(task_ids))):
        team_ids = told.recipients.get("teams", ())
        if source in team_ids:
            moved = sorted({*team_ids, target} - {source})
            told.recipients = {**told.recipients, "teams": moved}


def _move_members(session: Session, source: int, target: int) -> None:
    there = set(session.scalars(select(Member.account_id).where(Member.team_id == target)))
    moving = session.scalars(select(Member.account_id).where(Member.team_id == source)).all()
    session.execute(delete(Member).where(Member.team_id == source))
    at = now(session)
    session.add_all(
        Member(team_id=target, account_id=account_id, role=teams.MEMBER, joined_at=at)
        for account_id in moving
        if account_id not in there
    )

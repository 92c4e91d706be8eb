"""Suite runs put together of runs that a team has in the members' tasks; taken off the suite and put back."""

from collections.abc import Mapping

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Run, Suite, SuiteMember, SuiteRun, SuiteRunPart, Team
from leaderboard.errors import Invalid, NotFound, Problem
from leaderboard.services import audit, policy
from leaderboard.services.policy import Viewer
from leaderboard.services.suites import records, sending
from leaderboard.services.suites.records import KnownSuite
from leaderboard.trec.suites.suite_files import meant


def put_together(
    session: Session, viewer: Viewer, slug: str, team_id: int, name: str, chosen: Mapping[str, int]
) -> int:
    """Make a suite run of runs that the team has: member -> run id; the suite run's id.

    Raises Invalid with a problem for each member whose run cannot be it, Forbidden unless the viewer is in
    the team.
    """
    policy.require_member(viewer, team_id)
    known = records.visible_suite(session, viewer, slug)
    lock_row(session, Team, team_id)
    sending.require_free_name(session, known, team_id, name)
    made = SuiteRun(
        suite_id=known.suite.id,
        team_id=team_id,
        account_id=viewer.account_id,
        name=name,
        sha256="",
        idempotency_key=None,
        details={},
        created_at=now(session),
        withdrawn_at=None,
    )
    session.add(made)
    session.flush()
    _add(session, known, made, chosen)
    audit.record(session, viewer, "suite.send", f"suite_run:{made.id}", name=name, members=len(chosen))
    return made.id


def fill_in(
    session: Session, viewer: Viewer, slug: str, suite_run_id: int, chosen: Mapping[str, int]
) -> None:
    """Give members that a suite run lacks, or whose run was withdrawn, a run of the team; raises as above."""
    known, made = own_suite_run(session, viewer, slug, suite_run_id)
    lock_row(session, Team, made.team_id)
    _add(session, known, made, chosen)
    audit.record(session, viewer, "suite.fill_in", f"suite_run:{made.id}", members=sorted(chosen))


def withdraw(session: Session, viewer: Viewer, slug: str, suite_run_id: int) -> None:
    """Take a suite run off the suite's board; its runs stay in their tasks. Twice changes nothing."""
    _, made = own_suite_run(session, viewer, slug, suite_run_id)
    if made.withdrawn_at is None:
        made.withdrawn_at = now(session)
        audit.record(session, viewer, "suite.withdraw_run", f"suite_run:{made.id}")


def restore(session: Session, viewer: Viewer, slug: str, suite_run_id: int) -> None:
    """Put a suite run back; raises Invalid where the team has another one of its name by now."""
    known, made = own_suite_run(session, viewer, slug, suite_run_id)
    if made.withdrawn_at is not None:
        sending.require_free_name(session, known, made.team_id, made.name)
        made.withdrawn_at = None
        audit.record(session, viewer, "suite.restore_run", f"suite_run:{made.id}")


def own_suite_run(
    session: Session, viewer: Viewer, slug: str, suite_run_id: int
) -> tuple[KnownSuite, SuiteRun]:
    """A suite run of a team of the viewer's, or of a suite that it looks after; NotFound for all others."""
    known = records.visible_suite(session, viewer, slug)
    made = session.get(SuiteRun, suite_run_id)
    if made is None or made.suite_id != known.suite.id or not may_change(viewer, known, made.team_id):
        raise NotFound(f"There is no run {suite_run_id} of yours in this suite.")
    return known, made


def may_change(viewer: Viewer, known: KnownSuite, team_id: int) -> bool:
    """Whether the viewer may change the suite runs of a team."""
    if policy.owns(viewer, team_id):
        return True
    # Not who only operates the site: what is held back in a task is not told by its suite.
    return known.may_change and all(policy.organises(viewer, one.task.id) for one in known.members)


def suite_run_of(session: Session, run_id: int) -> list[tuple[Suite, SuiteRun]]:
    """The suite runs that a run is part of, of suites on the site; one statement.

    Only to be asked for a run whose team the viewer knows by name: a suite run tells it.
    """
    rows = session.execute(
        select(Suite, SuiteRun)
        .join(SuiteRun, SuiteRun.suite_id == Suite.id)
        .join(SuiteRunPart, SuiteRunPart.suite_run_id == SuiteRun.id)
        .join(SuiteMember, SuiteMember.id == SuiteRunPart.member_id)
        .where(
            SuiteRunPart.run_id == run_id,
            SuiteMember.position.is_not(None),
            SuiteRun.withdrawn_at.is_(None),
            Suite.withdrawn_at.is_(None),
        )
        .order_by(Suite.title)
    )
    return [(suite, run) for suite, run in rows]


def _add(session: Session, known: KnownSuite, made: SuiteRun, chosen: Mapping[str, int]) -> None:
    members = dict(sending.members_of(known))
    standing = _standing(session, made.id)
    problems = [
        problem
        for member, run_id in chosen.items()
        if (problem := _problem(session, known, made, members, standing, member, run_id))
    ]
    if not chosen:
        problems.append(Problem("No run is chosen.", "Choose the run of a member at least."))
    if problems:
        raise Invalid("The suite run cannot be made of these runs; nothing was changed.", problems)
    for member, run_id in chosen.items():
        part = session.get(SuiteRunPart, (made.id, members[member]))
        if part is None:
            session.add(SuiteRunPart(suite_run_id=made.id, member_id=members[member], run_id=run_id))
        else:
            part.run_id = run_id
    session.flush()


def _standing(session: Session, suite_run_id: int) -> set[int]:
    """The ids of the members for which a suite run has a run that was not withdrawn."""
    rows = session.scalars(
        select(SuiteRunPart.member_id)
        .join(Run, Run.id == SuiteRunPart.run_id)
        .where(SuiteRunPart.suite_run_id == suite_run_id, Run.withdrawn_at.is_(None))
    )
    return set(rows)


def _problem(
    session: Session,
    known: KnownSuite,
    made: SuiteRun,
    members: Mapping[str, int],
    standing: set[int],
    member: str,
    run_id: int,
) -> Problem | None:
    """Why a run cannot be a member's of this suite run; None where it can."""
    if member not in members:
        return Problem(
            "There is no such member.", meant(member, known.names), field="member", value=member[:80]
        )
    if members[member] in standing:
        rule, remedy = (
            "has a run in this suite run already.",
            "Withdraw that run first, or make another suite run.",
        )
        return Problem(rule, remedy, field="member", value=member)
    run = session.get(Run, run_id)
    task_id = next(one.task.id for one in known.members if one.member.name == member)
    if run is None or run.team_id != made.team_id or run.task_id != task_id or run.withdrawn_at is not None:
        rule = f"is no run of the team in the task of {member}."
        return Problem(rule, "Choose one that is on its board.", field="run", value=str(run_id))
    used = session.scalar(
        select(SuiteRunPart.suite_run_id)
        .join(SuiteRun, SuiteRun.id == SuiteRunPart.suite_run_id)
        .where(SuiteRunPart.member_id == members[member], SuiteRunPart.run_id == run_id)
        .where(SuiteRun.id != made.id)
    )
    if used is not None:
        rule = f"is the run of {member} in another suite run."
        return Problem(rule, "A run is of one suite run.", field="run", value=run.name)
    return None

"""A suite of the site and its members as one viewer may know of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Suite, SuiteMember, Task
from leaderboard.errors import Forbidden, NotFound
from leaderboard.services import policy
from leaderboard.services.policy import Viewer
from leaderboard.trec.suites.suite_files import GROUPS


@dataclass(frozen=True, slots=True, eq=False)
class MemberTask:
    """A member and its task."""

    member: SuiteMember
    task: Task

    @property
    def groups(self) -> dict[str, str]:
        """Its domain, language and lag, as far as they are said."""
        return {key: value for key in GROUPS if (value := getattr(self.member, key))}


@dataclass(frozen=True, slots=True, eq=False)
class KnownSuite:
    """A suite with the members that the viewer may know of, in order; may_change: whether the viewer may."""

    suite: Suite
    members: tuple[MemberTask, ...]
    may_change: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The members' short names."""
        return tuple(one.member.name for one in self.members)


def visible_suite(session: Session, viewer: Viewer, slug: str) -> KnownSuite:
    """The suite with the members that the viewer may know of; two statements.

    Raises NotFound where there is none, where it was taken off the site, and where the viewer may know of no
    member; Forbidden for a token of one task that the suite is not of alone.
    """
    suite = session.scalar(select(Suite).where(Suite.slug == slug))
    known = None if suite is None else _known(session, viewer, suite)
    if known is None:
        raise NotFound(f"There is no suite {slug[:64]!r}.", suite=slug[:64])
    for one in known.members:
        policy.require_bound(viewer, one.task)
    return known


def own_suite(session: Session, viewer: Viewer, slug: str) -> KnownSuite:
    """A suite that the viewer may change; raises as `visible_suite`, SignInNeeded and Forbidden."""
    known = visible_suite(session, viewer, slug)
    if known.may_change:
        return known
    policy.require_account(viewer)
    policy.require_second_factor(viewer)
    raise Forbidden("Only who organises all tasks of a suite, or operates the site, may do this.")


def visible_suites(session: Session, viewer: Viewer) -> list[KnownSuite]:
    """The suites that the viewer may know of, by title; two statements."""
    suites = session.scalars(select(Suite)).all()
    members = _members(session, viewer, [suite.id for suite in suites]) if suites else {}
    known = [_as_known(viewer, suite, *members.get(suite.id, ((), True))) for suite in suites]
    return sorted(
        (one for one in known if one is not None), key=lambda one: (one.suite.title, one.suite.slug)
    )


def suites_of_task(session: Session, task_id: int) -> list[Suite]:
    """The suites on the site that a task, of which the viewer may know, is a member of; one statement."""
    of_task = select(SuiteMember.suite_id).where(
        SuiteMember.task_id == task_id, SuiteMember.position.is_not(None)
    )
    on_site = select(Suite).where(Suite.id.in_(of_task), Suite.withdrawn_at.is_(None))
    return list(session.scalars(on_site.order_by(Suite.title)))


def looks_after(viewer: Viewer, tasks: Sequence[Task]) -> bool:
    """Whether the viewer may change a suite of these tasks, all of which it organises."""
    if viewer.is_operator or viewer.operates:
        return True
    return bool(tasks) and all(policy.organises(viewer, task.id) for task in tasks)


def _known(session: Session, viewer: Viewer, suite: Suite) -> KnownSuite | None:
    return _as_known(viewer, suite, *_members(session, viewer, [suite.id]).get(suite.id, ((), True)))


def _as_known(
    viewer: Viewer, suite: Suite, members: Sequence[MemberTask], is_whole: bool
) -> KnownSuite | None:
    tasks = [one.task for one in members]
    may_change = looks_after(viewer, tasks) and (is_whole or viewer.is_operator or viewer.operates)
    if not may_change and (suite.withdrawn_at is not None or not members):
        return None
    return KnownSuite(suite, tuple(members), may_change)


def _members(
    session: Session, viewer: Viewer, suite_ids: Sequence[int]
) -> dict[int, tuple[list[MemberTask], bool]]:
    """Suite id -> its members that the viewer may know of, and whether these are all."""
    rows = session.execute(
        select(SuiteMember, Task)
        .join(Task, Task.id == SuiteMember.task_id)
        .where(SuiteMember.suite_id.in_(suite_ids), SuiteMember.position.is_not(None))
        .order_by(SuiteMember.position, SuiteMember.id)
    ).all()
    by_suite: dict[int, tuple[list[MemberTask], bool]] = {}
    for member, task in rows:
        seen, is_whole = by_suite.get(member.suite_id, ([], True))
        is_known = task.published_at is not None or policy.knows(viewer, task.id)
        by_suite[member.suite_id] = (
            [*seen, MemberTask(member, task)] if is_known else seen,
            is_whole and is_known,
        )
    return by_suite

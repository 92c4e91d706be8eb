"""Reviewer links: each shows a team's runs of a task under its pseudonym, to anyone with the link."""

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Annotated

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import sessions
from leaderboard.core import audit, policy
from leaderboard.core.actions import Action, by_account
from leaderboard.core.policy import Scope, Viewer
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Entry, Invitation, Task
from leaderboard.errors import Conflict, NotFound
from leaderboard.fields import Field

REVIEW = "review"
DAYS, MOST_DAYS, MOST_LINKS, NOTE_CHARACTERS = 180, 730, 20, 200
DEAD_LINK = "This link is invalid or has expired."


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewBody:
    """For how many days the link works, and a note for yourselves."""

    days: Annotated[int, Field(title="Expires after (days)", most=MOST_DAYS)] = DAYS
    note: Annotated[str, Field(title="Purpose (visible only to your team)", longest=NOTE_CHARACTERS)] = ""


def make(session: Session, viewer: Viewer, slug: str, team_id: int, asked: ReviewBody) -> str:
    """The token of a new link for reviewers to the team's runs of a task; for its members.

    Raises NotFound, SignInNeeded, Forbidden, Conflict for a team without a pseudonym or with too many links.
    """
    task = _own(session, viewer, slug, team_id)
    if _pseudonym(session, task.id, team_id) is None:
        raise Conflict("Your team has no pseudonym in this task; link to the board instead.")
    # Two members at once could go over the limit.
    lock_row(session, Task, task.id)
    if len(of_team(session, task, team_id)) >= MOST_LINKS:
        raise Conflict(
            f"Your team has {MOST_LINKS} reviewer links in this task, which is the maximum; revoke one first."
        )
    token, at = sessions.new_token(), now(session)
    link = Invitation(
        token_sha256=sessions.digest(token),
        kind=REVIEW,
        team_id=team_id,
        task_id=task.id,
        note=" ".join(asked.note.split()),
        created_by=viewer.account_id,
        created_at=at,
        expires_at=at + timedelta(days=asked.days),
    )
    session.add(link)
    session.flush()
    audit.record(session, viewer, "review.invite", f"team:{team_id}", task=task.id, invitation=link.id)
    return token


def end(session: Session, viewer: Viewer, slug: str, team_id: int, link_id: int) -> None:
    """End a link for reviewers; for members of its team, NotFound for any other link."""
    task = _own(session, viewer, slug, team_id)
    link = session.scalar(_working(session).where(Invitation.id == link_id, *_of(task, team_id)))
    if link is None:
        raise NotFound(f"This team has no link {link_id}.")
    link.revoked_at = now(session)
    audit.record(session, viewer, "review.revoke_invitation", f"team:{team_id}", invitation=link.id)


def of_team(session: Session, task: Task, team_id: int) -> tuple[Invitation, ...]:
    """The team's links of a task that work, newest first."""
    links = _working(session).where(*_of(task, team_id), Invitation.expires_at.is_not(None))
    return tuple(session.scalars(links.order_by(Invitation.id.desc())))


def opened(session: Session, token: str) -> tuple[Task, int, str]:
    """Task, team and pseudonym of a link; raises NotFound if it is invalid.

    An unpublished task is not shown, and a team without a pseudonym is not named.
    """
    link = session.scalar(_working(session).where(Invitation.token_sha256 == sessions.digest(token)))
    if link is not None and link.task_id is not None and link.team_id is not None:
        task, pseudonym = session.get_one(Task, link.task_id), _pseudonym(session, link.task_id, link.team_id)
        if pseudonym is not None and task.published_at is not None:
            return task, link.team_id, pseudonym
    raise NotFound(DEAD_LINK)


def _own(session: Session, viewer: Viewer, slug: str, team_id: int) -> Task:
    task, _ = policy.visible_task(session, viewer, slug)
    policy.require_member(viewer, team_id)
    return task


def _working(session: Session) -> Select[Invitation]:
    return select(Invitation).where(
        Invitation.kind == REVIEW, Invitation.revoked_at.is_(None), Invitation.expires_at > now(session)
    )


def _of(task: Task, team_id: int) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return Invitation.task_id == task.id, Invitation.team_id == team_id


def _pseudonym(session: Session, task_id: int, team_id: int) -> str | None:
    return session.scalar(select(Entry.pseudonym).where(Entry.task_id == task_id, Entry.team_id == team_id))


_of_team = partial(Action, page="naming.own", scopes=(Scope.SUBMIT,), may=by_account)
ACTIONS = (
    _of_team(
        name="make_review_link",
        summary="Create a reviewer link to your runs under your pseudonym",
        more="The link is shown only once.",
        path="/tasks/<slug>/teams/<id:team_id>/review-links",
        form="/tasks/<slug>/own-names/<id:team_id>/links",
        record=ReviewBody,
        act=make,
        status=201,
    ),
    _of_team(
        name="end_review_link",
        summary="Revoke a reviewer link",
        method="DELETE",
        path="/tasks/<slug>/teams/<id:team_id>/review-links/<id:invitation_id>",
        form="/tasks/<slug>/own-names/<id:team_id>/links/<id:invitation_id>/end",
        act=end,
        done="ended",
    ),
)

"""Runs by agents that a phase holds for review: an organiser accepts or rejects each."""

from dataclasses import dataclass
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core import audit, events, policy
from leaderboard.core.actions import Action
from leaderboard.core.jobs import queue
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import lock_row
from leaderboard.db.tables import Task, Upload
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.runs.ops import uploads


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """Whether a held run is accepted; why: required for a rejection."""

    accept: Annotated[bool, Field(title="Accept the run", option="accept/--reject")]
    why: Annotated[str, Field(title="Reason (shown to the team)", longest=uploads.LONGEST_REASON)] = ""


def require_reviewer(session: Session, viewer: Viewer, upload_id: int) -> tuple[Upload, Task]:
    """An upload and its task, for the task's organisers; NotFound or Forbidden as for a run of others."""
    row = session.execute(
        select(Upload, Task).join(Task, Task.id == Upload.task_id).where(Upload.id == upload_id)
    ).one_or_none()
    if row is None or not (policy.owns(viewer, row.Upload.team_id) or policy.reads(viewer, row.Task.id)):
        raise NotFound(f"There is no upload {upload_id}.", upload=upload_id)
    policy.require_organiser(viewer, row.Task)
    return row.Upload, row.Task


def review(session: Session, viewer: Viewer, upload_id: int, asked: Review) -> str:
    """Queue a held run for another check and scoring, or reject it with a reason; its state from now on.

    Raises as `require_reviewer` does, Conflict where it is not held for review, Invalid without a reason.
    """
    upload, task = require_reviewer(session, viewer, upload_id)
    lock_row(session, Upload, upload.id)
    session.refresh(upload)
    if upload.state != "held" or upload.batch_id is not None:
        raise Conflict(f"Upload {upload_id} is not held for review; its state is {upload.state}.")
    why = asked.why.strip()
    if asked.accept:
        upload.state = "received"
        queue.enqueue(session, queue.CHECK, upload.id, priority=queue.FRESH)
    elif not why:
        problem = Problem("must give the reason for the rejection.", "Write one sentence.", field="why")
        raise Invalid("Give the reason for the rejection; it is shown to the team.", [problem])
    else:
        uploads.reject(session, upload, f"Rejected by the organisers after review: {why}")
        for listener in events.LISTENERS:
            listener.upload_decided(session, task, upload, None)
    verb = "accept" if asked.accept else "reject"
    audit.record(session, viewer, f"upload.{verb}", f"upload:{upload.id}", task=task.slug, why=why)
    return upload.state


REVIEW = Action(
    name="review_upload",
    summary="Accept or reject a run held for review",
    more="For runs by agents, if the phase holds them. An accepted run is checked once more, then scored.",
    path="/uploads/<id:upload_id>/review",
    form="/uploads/<id:upload_id>/review",
    page="uploads.show",
    may=require_reviewer,
    record=Review,
    act=review,
    done=lambda asked, _: "accepted; it is being checked" if asked.accept else "rejected",
)

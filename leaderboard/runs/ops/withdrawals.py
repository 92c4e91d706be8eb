"""Taking a run off the board, with a reason, and putting it back."""

from dataclasses import dataclass
from typing import Annotated, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core import audit, events, policy
from leaderboard.core.actions import Action
from leaderboard.core.jobs import queue
from leaderboard.core.policy import Scope, Viewer
from leaderboard.db.engine import lock_key, lock_row, now
from leaderboard.db.tables import Member, Run, Task, Upload
from leaderboard.errors import Closed, Conflict, Forbidden, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.runs.ops import uploads
from leaderboard.scoring.ops.evaluations import editions
from leaderboard.scoring.ops.scored_topics import RANKED_KIND, is_over
from leaderboard.scoring.ops.statistics import prepared


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
    more="A phase may hold runs by agents. An accepted run is checked once more, then scored.",
    path="/uploads/<id:upload_id>/review",
    form="/uploads/<id:upload_id>/review",
    page="uploads.show",
    may=require_reviewer,
    record=Review,
    act=review,
    done=lambda asked, _: "accepted; it is being checked" if asked.accept else "rejected",
)


def most_marked(task: Task) -> int:
    """The maximum number of runs a team can mark in each phase of the task."""
    return task.final_runs or 1


def mark_run(session: Session, viewer: Viewer, run_id: int, why: str = "") -> None:
    """Mark a run of the viewer's team; if only one can be marked, replace the earlier mark.

    Raises NotFound for an unknown run, Forbidden for one of another team, Conflict for a run that has no
    rank (withdrawn or not official) and where as many are marked as may be, Closed once the choice is final;
    an operator may change it then and says why.
    """
    run, task = _run_to_mark(session, viewer, run_id, why)
    if run.withdrawn_at is not None or run.kind != RANKED_KIND:
        raise Conflict(f"{run.name} is unranked, so it cannot represent its team; choose an official run.")
    if run.final_at is not None:
        return
    others = others_marked(session, run)
    if len(others) >= most_marked(task):
        if most_marked(task) > 1:
            names = ", ".join(other.name for other in others)
            raise Conflict(
                f"At most {most_marked(task)} runs per team count, and that many are already marked: "
                f"{names}. Unmark one first."
            )
        for other in others:
            other.final_at = other.final_by = None
    run.final_at, run.final_by = now(session), viewer.account_id
    audit.record(session, viewer, "run.mark", f"run:{run.id}", task=task.slug, **_reason(why))


def unmark_run(session: Session, viewer: Viewer, run_id: int, why: str = "") -> None:
    """Remove the mark of a run; raises as `mark_run` does, and changes nothing of a run without a mark."""
    run, task = _run_to_mark(session, viewer, run_id, why)
    if run.final_at is None:
        return
    run.final_at = run.final_by = None
    audit.record(session, viewer, "run.unmark", f"run:{run.id}", task=task.slug, **_reason(why))


def others_marked(session: Session, run: Run) -> list[Run]:
    """The other runs of its team in its phase that are marked and not withdrawn, in order of arrival."""
    others = select(Run).where(
        Run.phase_id == run.phase_id,
        Run.team_id == run.team_id,
        Run.id != run.id,
        Run.final_at.is_not(None),
        Run.withdrawn_at.is_(None),
    )
    return list(session.scalars(others.order_by(Run.id)))


def hold_marks(session: Session, run: Run) -> None:
    """Lock a team's marks in a task, and refresh the run itself, until the transaction ends."""
    # Two members who mark at once would both find room for one more.
    lock_key(session, f"marks {run.task_id} {run.team_id}")
    lock_row(session, Run, run.id)


def _reason(why: str) -> dict[str, str]:
    return {"why": why.strip()} if why.strip() else {}


def _run_to_mark(session: Session, viewer: Viewer, run_id: int, why: str) -> tuple[Run, Task]:
    run, task, _ = policy.visible_run(session, viewer, run_id)
    policy.require_member(viewer, run.team_id)
    hold_marks(session, run)
    is_decided = task.final_runs is not None and is_over(session, run.phase_id)
    if is_decided and not (viewer.is_operator and why.strip()):
        remedy = " Give a reason (--why)." if viewer.is_operator else ""
        raise Closed(
            f"{task.name} is closed; teams could choose the runs that count until the deadline.{remedy}"
        )
    return run, task


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRules:
    """The actions a viewer can take on a run now."""

    may_mark: bool = False
    may_unmark: bool = False
    may_withdraw: bool = False
    may_restore: bool = False


def rules_of(viewer: Viewer, run: Any, task: Task, *, is_closed: bool, by_its_team: bool) -> RunRules:
    """The viewer's allowed actions on a run, or on a row with a run's columns.

    is_closed: whether its phase is over; by_its_team: whether a member of its team withdrew it.
    """
    own, organises = policy.owns(viewer, run.team_id), policy.organises(viewer, task.id)
    is_gone, is_marked = run.withdrawn_at is not None, run.final_at is not None
    may_choose = own and not is_gone and run.kind == RANKED_KIND
    may_choose = may_choose and (task.final_runs is None or not is_closed)
    return RunRules(
        may_mark=may_choose and not is_marked,
        may_unmark=may_choose and is_marked,
        may_withdraw=not is_gone and (organises or (own and task.may_withdraw and not is_closed)),
        may_restore=is_gone and (organises or (own and by_its_team and not is_closed)),
    )


def withdraw(session: Session, viewer: Viewer, run_id: int, why: str) -> str:
    """Withdraw a run with a reason; returns its new state. Its file and scores are kept for later.

    Its team may do so until the task closes, unless teams may not withdraw there; organisers always. Raises
    Forbidden for all others, Closed after the close, Conflict where it is withdrawn already.
    """
    run, task = _locked_run(session, viewer, run_id)
    if not policy.organises(viewer, task.id):
        if not task.may_withdraw:
            raise Forbidden(f"Teams cannot withdraw runs from {task.name}; ask its organisers.")
        _require_not_closed(session, task, run)
    if run.withdrawn_at is not None:
        raise Conflict(f"Run {run.name} is already withdrawn.")
    if not why.strip():
        problem = Problem("must not be empty.", "Give a reason; it is shown on the run's page.", field="why")
        raise Invalid("Give the reason for the withdrawal; it is shown on the run's page.", [problem])
    run.withdrawn_at, run.withdrawn_by, run.withdrawn_why = now(session), viewer.account_id, why.strip()
    session.flush()
    editions.drop_jobs(session, run.id)
    prepared.prepare(session, task.id)
    audit.record(session, viewer, "run.withdraw", f"run:{run.id}", why=run.withdrawn_why)
    return "withdrawn"


def restore(session: Session, viewer: Viewer, run_id: int) -> None:
    """Put a withdrawn run back on the board, as it was; its evaluation is queued where scores are missing.

    Its team may do so until the task closes, where one of its members withdrew it; organisers always. The
    mark that it had is kept unless the team marked others in its place. Raises as `withdraw` does.
    """
    run, task = _locked_run(session, viewer, run_id)
    if not policy.organises(viewer, task.id):
        if run.withdrawn_at is not None and not withdrawn_by_its_team(session, [run]):
            raise Forbidden(f"An organiser withdrew {run.name}; ask the organisers of {task.name}.")
        _require_not_closed(session, task, run)
    if run.withdrawn_at is None:
        raise Conflict(f"Run {run.name} is not withdrawn.")
    why = run.withdrawn_why
    run.withdrawn_at, run.withdrawn_by, run.withdrawn_why = None, None, ""
    if run.final_at is not None and len(others_marked(session, run)) >= most_marked(task):
        run.final_at = run.final_by = None
    session.flush()
    editions.queue_run(session, run)
    prepared.prepare(session, task.id)
    audit.record(session, viewer, "run.restore", f"run:{run.id}", was=why)


def withdrawn_by_its_team(session: Session, runs: list[Any]) -> frozenset[int]:
    """The runs (or rows with their columns) that a member of their team withdrew; one statement."""
    by = {run.withdrawn_by for run in runs if run.withdrawn_by is not None}
    if not by:
        return frozenset()
    rows = session.execute(select(Member.team_id, Member.account_id).where(Member.account_id.in_(by)))
    members = {(row.team_id, row.account_id) for row in rows}
    return frozenset(run.id for run in runs if (run.team_id, run.withdrawn_by) in members)


def _locked_run(session: Session, viewer: Viewer, run_id: int) -> tuple[Run, Task]:
    """A run of the viewer's team or task, locked so that withdrawing, restoring and marking take turns."""
    run, task = policy.own_run(session, viewer, run_id)
    hold_marks(session, run)
    return run, task


def _require_not_closed(session: Session, task: Task, run: Run) -> None:
    if is_over(session, run.phase_id):
        raise Closed(f"{task.name} is closed; now only its organisers can withdraw or restore runs.")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReason:
    """Reason, shown on the run's page."""

    why: Annotated[str, Field(title="Reason", help="Reason, shown on the run's page.", longest=2**20)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Final run or not."""

    chosen: Annotated[bool, Field(title="Final run or not")] = True
    by: Annotated[str, Field(title="Button", is_carried=True)] = ""
    """The button pressed: mark or unmark."""
    why: Annotated[
        str,
        Field(
            title="Reason",
            help="Reason; required after the deadline and kept in the audit log.",
            is_of_form=True,
        ),
    ] = ""


def choose(session: Session, viewer: Viewer, run_id: int, asked: Choice) -> str:
    """Mark a run or remove its mark; raises as these do. What it is now."""
    is_chosen = asked.by == "mark" if asked.by else asked.chosen
    (mark_run if is_chosen else unmark_run)(session, viewer, run_id, asked.why)
    return "chosen" if is_chosen else "not chosen"


_RUN: Any = {"page": "runs.show", "scopes": (Scope.SUBMIT, Scope.ORGANISE), "may": policy.own_run}
WITHDRAW = Action(
    name="withdraw_run",
    summary="Withdraw a run",
    more="The run leaves the board; its file and scores are kept, and it can be restored. Teams can "
    "withdraw until the deadline.",
    path="/runs/<id:run_id>/withdraw",
    form="/runs/<id:run_id>/withdraw",
    record=RunReason,
    act=lambda session, viewer, run_id, asked: withdraw(session, viewer, run_id, asked.why),
    **_RUN,
)
RESTORE = Action(
    name="restore_run",
    summary="Restore a withdrawn run",
    more="The run returns to the board as it was, with its mark.",
    path="/runs/<id:run_id>/restore",
    form="/runs/<id:run_id>/restore",
    act=restore,
    **_RUN,
)
CHOOSE = Action(
    name="choose_run",
    summary="Mark or unmark a run as final",
    more="Teams can choose their final runs until the deadline, if the task allows it.",
    path="/runs/<id:run_id>/choose",
    form="/runs/<id:run_id>/<any(mark,unmark):by>",
    record=Choice,
    act=choose,
    **_RUN,
)
ACTIONS = (WITHDRAW, RESTORE, CHOOSE)

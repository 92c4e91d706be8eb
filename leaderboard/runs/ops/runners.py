"""Runners: machines of a task's organisers that execute systems and send what these retrieved."""

import re
from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.accounts.ops.tokens import RUNNER
from leaderboard.core import policy
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import ApiToken, Entry
from leaderboard.errors import Forbidden, Invalid, NotFound, Problem
from leaderboard.tasks.ops import entries

IMAGE, COMMIT = re.compile("sha256:[0-9a-f]{64}"), re.compile("[0-9a-f]{7,64}")


def sending(
    session: Session, viewer: Viewer, slug: str, team_id: int, image: str, commit: str
) -> tuple[Viewer, Mapping[str, str]]:
    """As whom a token submits a run for a team, and what is kept of its execution.

    A runner sends for each team that has entered its task itself, as a member would: the team's limits hold.
    All others send as they are, and nothing is kept. Raises Forbidden for a digest that no runner gives and
    for a runner whose owner organises the task no more, SecondFactorNeeded where that is for want of one,
    Invalid for a bad digest or none, NotFound for a team that is not in the task.
    """
    token = session.get(ApiToken, viewer.token_id) if viewer.token_id is not None else None
    if token is None or token.kind != RUNNER:
        if image or commit:
            raise Forbidden("Only a runner token can state the image or commit of a run.")
        return viewer, {}
    task, _ = policy.visible_task(session, viewer, slug)
    if not policy.executes(viewer, task.id):
        policy.require_second_factor(viewer)
        raise Forbidden("The owner of this token no longer organises the task.")
    _require_digests(image, commit)
    entered = select(Entry.id).where(Entry.task_id == task.id, Entry.team_id == team_id, entries.takes_part())
    if session.scalar(entered) is None:
        raise NotFound(f"There is no team {team_id} in {task.name}.", team=team_id)
    said = {"by": token.label, "image": image, "commit": commit}
    return replace(viewer, team_ids=frozenset({team_id})), {key: text for key, text in said.items() if text}


def _require_digests(image: str, commit: str) -> None:
    problems = []
    if not image and not commit:
        problems.append(
            Problem(
                "or a commit is needed.", "Give the image or the commit that was executed.", field="image"
            )
        )
    if image and not IMAGE.fullmatch(image):
        problems.append(
            Problem("must be `sha256:` and 64 hexadecimal digits.", "", field="image", value=image[:80])
        )
    if commit and not COMMIT.fullmatch(commit):
        problems.append(
            Problem("must have 7 to 64 hexadecimal digits.", "", field="commit", value=commit[:80])
        )
    if problems:
        raise Invalid("A runner must state what it executed.", problems)

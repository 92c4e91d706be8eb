"""Why somebody is asked to sign in: what the page does that they were sent from, in words."""

from flask import current_app
from werkzeug.exceptions import HTTPException

from leaderboard.errors import NotFound
from leaderboard.services import policy
from leaderboard.web.session import reading, viewer

PURPOSES = {
    "uploads.form": "send a run",
    "teams.index": "see your teams and make one",
    "teams.show": "see a team of yours",
    "organise.new": "make a task",
    "organise.show": "organise a task",
    "accounts.account": "see your account",
    "tokens.index": "see your tokens",
    "device_logins.show": "let a device in",
    "invitations.show": "accept an invitation",
}
"""Endpoint of the page that comes after signing in -> what is done there."""
OF_A_TASK = ("uploads.form",)
"""Those in which the task is named, where everybody may know of it."""


def purpose(target: str) -> str:
    """What signing in is for, such as `send a run to Robust04`; empty where nothing is known to say."""
    adapter = current_app.url_map.bind("localhost")
    try:
        endpoint, arguments = adapter.match(target.partition("?")[0], method="GET")
    except HTTPException:
        return ""
    words = PURPOSES.get(endpoint, "")
    return words + _to_task(arguments["slug"]) if endpoint in OF_A_TASK else words


def _to_task(slug: str) -> str:
    """The task's name with `to` before it; the same, nothing, for a draft and for no task."""
    try:
        task, _ = policy.visible_task(reading(), viewer(), slug)
    except NotFound:
        return ""
    return f" to {task.name}"

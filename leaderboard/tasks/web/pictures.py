"""The logo and the picture of a task: sent to whom it is shown, set on its page of settings."""

from flask import Blueprint, Response, redirect, request
from flask.typing import ResponseReturnValue

from leaderboard.core import policy
from leaderboard.errors import LeaderboardError
from leaderboard.tasks.ops.pictures import pictures, prepare
from leaderboard.tasks.ops.pictures.pictures import PictureRequest
from leaderboard.tasks.web import settings
from leaderboard.web import http
from leaderboard.web.rules import PUBLIC, SIGNED_IN, Body, received, rule
from leaderboard.web.session import finish_reading, reading, viewer, writing

blueprint = Blueprint("pictures", __name__)
SECTION = "pictures"


@blueprint.get("/tasks/<slug>/pictures/<digest>")
@rule(PUBLIC)
def show(slug: str, digest: str) -> Response:
    """A logo or picture: for ever, as its address names these very bytes."""
    picture_file = pictures.read(reading(), viewer(), slug, digest)
    return http.as_named(picture_file.body, picture_file.mimetype, is_public=picture_file.is_public)


@blueprint.post("/tasks/<slug>/settings/pictures/<kind>")
@rule(SIGNED_IN, Body.PICTURE)
def save(slug: str, kind: str) -> ResponseReturnValue:
    """Set a logo or picture, change its text, or remove it."""
    asker, file = viewer(), received("file")
    policy.own_task(reading(), asker, slug)
    finish_reading()
    try:
        named = pictures.kind_named(kind)
        is_removed = bool(request.form.get("remove"))
        picture = PictureRequest(
            kind=named,
            alt=request.form.get("alt", ""),
            picture=prepare.prepare(file.path, named) if file and not is_removed else None,
            reason=request.form.get("reason", "")[: settings.REASON_CHARACTERS],
            seen=request.form.get("seen"),
        )
        with writing() as session:
            (pictures.remove if is_removed else pictures.put)(session, asker, slug, picture)
    except LeaderboardError as error:
        return settings.refused(slug, error, SECTION)
    return redirect(settings.saved(slug, SECTION), 303)

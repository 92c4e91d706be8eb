"""The logo and the picture of a task: sent to whom it is shown, set on its page of settings."""

from flask import Blueprint, Flask, Response, redirect, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import LeaderboardError
from leaderboard.services import policy
from leaderboard.services.logos import TaskLogo
from leaderboard.services.pictures import pictures, prepare
from leaderboard.services.pictures.pictures import PictureRequest
from leaderboard.web import responses
from leaderboard.web.files import received
from leaderboard.web.rules import PUBLIC, SIGNED_IN, Body, rule
from leaderboard.web.session import finish_reading, memo, reading, viewer, writing
from leaderboard.web.tasks import settings

blueprint = Blueprint("pictures", __name__)
SECTION = "pictures"


def register(app: Flask) -> None:
    """Let every page of a task show its logo."""
    app.jinja_env.globals.update(logo_of=logo_of, picture_address=picture_address)


def logo_of(slug: str) -> TaskLogo | None:
    """The logo of a task that this request has read."""
    return memo().logos.get(slug)


def picture_address(slug: str, sha256: str) -> str:
    """Where a picture of a task is."""
    return url_for("pictures.show", slug=slug, digest=sha256[: pictures.ADDRESS])


@blueprint.get("/tasks/<slug>/pictures/<digest>")
@rule(PUBLIC)
def show(slug: str, digest: str) -> Response:
    """A logo or picture: for ever, as its address names these very bytes."""
    found = pictures.read(reading(), viewer(), slug, digest)
    return responses.as_named(found.body, found.mimetype, is_public=found.is_public)


@blueprint.post("/tasks/<slug>/settings/pictures/<kind>")
@rule(SIGNED_IN, Body.PICTURE)
def save(slug: str, kind: str) -> ResponseReturnValue:
    """Set a logo or picture, give it another text, or take it away."""
    asker, file = viewer(), received("file")
    policy.own_task(reading(), asker, slug)
    finish_reading()
    try:
        named = pictures.kind_named(kind)
        is_removed = bool(request.form.get("remove"))
        wanted = PictureRequest(
            kind=named,
            alt=request.form.get("alt", ""),
            picture=prepare.prepare(file.path, named) if file and not is_removed else None,
            reason=request.form.get("reason", "")[: settings.REASON_CHARACTERS],
            seen=request.form.get("seen"),
        )
        with writing() as session:
            (pictures.remove if is_removed else pictures.put)(session, asker, slug, wanted)
    except LeaderboardError as error:
        return settings.refused(slug, error, SECTION)
    return redirect(settings.saved(slug, SECTION), 303)

"""The logo and the picture of a task: sent to whom it is shown, set on its page of settings."""

from flask import Blueprint, Response, redirect

from leaderboard.errors import TooLarge
from leaderboard.tasks.ops.pictures import pictures
from leaderboard.tasks.web import settings
from leaderboard.web import actions, http
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("pictures", __name__)


@blueprint.get("/tasks/<slug>/pictures/<digest>")
@rule(PUBLIC)
def show(slug: str, digest: str) -> Response:
    """A logo or picture: for ever, as its address names these very bytes."""
    picture_file = pictures.read(reading(), viewer(), slug, digest)
    return http.as_named(picture_file.body, picture_file.mimetype, is_public=picture_file.is_public)


actions.add_to(
    blueprint,
    (pictures.PUT, pictures.REMOVE),
    lambda slug, kind, error: settings.page(slug, error, "pictures"),
    then=dict.fromkeys(
        ("put_picture", "remove_picture"),
        lambda _, slug, kind: redirect(settings.saved(slug, "pictures"), 303),
    ),
    refusals=(*actions.REFUSALS, TooLarge),
)

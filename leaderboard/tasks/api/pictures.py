"""A task's logo and picture: how they are answered, and operations on them."""

from dataclasses import dataclass
from pathlib import Path

from leaderboard.core import policy
from leaderboard.core.policy import Scope
from leaderboard.tasks.ops.pictures import pictures, prepare
from leaderboard.tasks.ops.pictures.pictures import PictureHead, PictureRequest
from leaderboard.web.addresses import absolute
from leaderboard.web.api.answers import PictureAnswer
from leaderboard.web.api.operations import Done, operation
from leaderboard.web.rules import SIGNED_IN, Body, Rule
from leaderboard.web.session import finish_reading, reading, viewer, writing


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPicture:
    """alt: alternative text, for screen readers; reason: for the list of changes."""

    alt: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """Why, for the list of changes."""

    reason: str = ""


@operation(
    "PUT",
    "/tasks/<slug>/pictures/<kind>",
    PictureAnswer,
    query=NewPicture,
    rule=Rule(SIGNED_IN, Body.PICTURE),
    scopes=(Scope.ORGANISE,),
)
def put_picture(slug: str, kind: str, query: NewPicture, file: Path) -> PictureAnswer:
    """Set the logo or picture of a task

    The body is the file: PNG, JPEG, WebP or the first frame of a GIF, of at most 5 MB. It is scaled and
    re-encoded on a white background. kind: logo or picture.
    """
    asker = viewer()
    policy.own_task(reading(), asker, slug)
    finish_reading()
    named = pictures.kind_named(kind)
    picture_request = PictureRequest(
        kind=named, alt=query.alt, picture=prepare.prepare(file, named), reason=query.reason[:300]
    )
    with writing() as session:
        picture = pictures.put(session, asker, slug, picture_request)
    shown = answer(slug, picture)
    assert shown is not None, "it was made just now"
    return shown


@operation("DELETE", "/tasks/<slug>/pictures/<kind>", Done, query=Removal, scopes=(Scope.ORGANISE,))
def remove_picture(slug: str, kind: str, query: Removal) -> Done:
    """Remove the logo or picture of a task"""
    named = PictureRequest(kind=pictures.kind_named(kind), alt="", reason=query.reason[:300])
    with writing() as session:
        pictures.remove(session, viewer(), slug, named)
    return Done(done=f"{kind} removed")


OPERATIONS = (put_picture, remove_picture)


def answer(slug: str, head: PictureHead | None) -> PictureAnswer | None:
    """A picture with its address, None for none."""
    if head is None:
        return None
    address = absolute("pictures.show", slug=slug, digest=head.address)
    return PictureAnswer(kind=head.kind, alt=head.alt, width=head.width, height=head.height, address=address)

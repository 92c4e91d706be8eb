"""A task's logo and picture: how they are answered, and operations on them."""

from leaderboard.tasks.ops.pictures import pictures
from leaderboard.tasks.ops.pictures.pictures import PictureHead
from leaderboard.web.addresses import absolute
from leaderboard.web.api import actions
from leaderboard.web.api.answers import PictureAnswer


def answer(head: PictureHead | None, slug: str, **_: object) -> PictureAnswer | None:
    """A picture with its address, None for none."""
    if head is None:
        return None
    address = absolute("pictures.show", slug=slug, digest=head.address)
    return PictureAnswer(kind=head.kind, alt=head.alt, width=head.width, height=head.height, address=address)


OPERATIONS = actions.operations(
    (pictures.PUT, pictures.REMOVE), answers={"put_picture": (PictureAnswer, answer)}
)

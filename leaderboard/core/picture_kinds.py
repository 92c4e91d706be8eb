"""The kinds of pictures that a task may have, and what a file may be that becomes one."""

from dataclasses import dataclass

LARGEST_BYTES = 5 * 2**20
"""Of an uploaded file: a photograph of twelve million pixels has about four million bytes."""
SMALLEST_SIDE = 16
MOST_PIXELS = {"JPEG": 12_500_000, "PNG": 12_500_000, "GIF": 12_500_000, "WEBP": 4_000_000}
"""By format, so that decoding stays under 100 MB: WebP's decoder holds a picture four times."""


@dataclass(frozen=True, slots=True)
class PictureKind:
    """Storage format of a picture, with maximum width and height in pixels."""

    name: str
    width: int
    height: int
    is_square: bool
    format: str
    mimetype: str


LOGO = PictureKind("logo", 128, 128, True, "PNG", "image/png")
PICTURE = PictureKind("picture", 1200, 600, False, "JPEG", "image/jpeg")
KINDS = {kind.name: kind for kind in (LOGO, PICTURE)}

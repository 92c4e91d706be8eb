"""Read a picture from any file and re-encode only its pixels, in a separate process.

Decoders are written in C and files may be hostile: a process that crashes or grows affects nothing else. It
reads the file from its standard input, and writes a line of JSON and the picture, or the line alone with
the rule that was broken.
"""

import io
import json
import sys
from typing import BinaryIO

from PIL import ExifTags, Image, UnidentifiedImageError
from PIL.Image import Resampling, Transpose

from leaderboard.core.picture_kinds import KINDS, MOST_PIXELS, SMALLEST_SIDE, PictureKind

if sys.platform != "win32":
    import resource

DATA_BYTES = 256 * 2**20
"""Maximum memory of the process; accepted pictures need less than half of it."""
CPU_S = 10
WHITE = (255, 255, 255)
BAND = 256
"""Lines processed together, so that a large picture is never copied as a whole."""
TURNS = {
    2: Transpose.FLIP_LEFT_RIGHT,
    3: Transpose.ROTATE_180,
    4: Transpose.FLIP_TOP_BOTTOM,
    5: Transpose.TRANSPOSE,
    6: Transpose.ROTATE_270,
    7: Transpose.TRANSVERSE,
    8: Transpose.ROTATE_90,
}
"""EXIF's orientation -> what shows the picture upright."""


class PictureRefused(Exception):
    """The file breaks a rule: the rule, and what to do about it."""


def encode(file: BinaryIO, kind: PictureKind) -> tuple[Image.Image, bytes]:
    """The picture, upright and on white within its kind's bounds, and its bytes; raises PictureRefused.

    Of an animation it is the first frame. Colour profiles are dropped unread.
    """
    image = _opened(file)
    turn = TURNS.get(image.getexif().get(ExifTags.Base.Orientation, 1))
    box = (kind.width, kind.height)
    lies = turn is not None and turn not in (TURNS[2], TURNS[3], TURNS[4])
    small = _small(image, box[::-1] if lies else box)
    small = small if turn is None else small.transpose(turn)
    small = _squared(small) if kind.is_square else small
    return small, _written(small, kind.format)


def _opened(file: BinaryIO) -> Image.Image:
    """Open the file as a picture, reading only its header."""
    # The library's own bound is far above ours, which is checked before anything is decoded.
    Image.MAX_IMAGE_PIXELS = None
    try:
        image = Image.open(file, formats=tuple(MOST_PIXELS))
    except UnidentifiedImageError:
        rule = "is not a PNG, JPEG, WebP or GIF picture."
        raise PictureRefused(rule, "Save it in one of these formats, drawings such as SVG too.") from None
    # A JPEG with more pictures behind the first, as telephones write it, calls itself MPO.
    most = MOST_PIXELS.get(image.format or "", MOST_PIXELS["JPEG"])
    # Four colours for printing: half as many pixels fill the same memory.
    most = most // 2 if image.mode == "CMYK" else most
    width, height = image.size
    if width * height > most:
        rule = f"has {width:,} × {height:,} pixels; a {image.format} file can have at most {most:,} in total."
        raise PictureRefused(rule, "Scale it down.")
    if min(width, height) < SMALLEST_SIDE:
        rule = f"has {width:,} × {height:,} pixels; both sides need at least {SMALLEST_SIDE}."
        raise PictureRefused(rule, "Use a larger picture.")
    return image


def _small(image: Image.Image, box: tuple[int, int]) -> Image.Image:
    """The picture in RGB on white, made to fit into a box (width, height) unless it does."""
    scale = max(image.width / box[0], image.height / box[1], 1)
    size = max(1, round(image.width / scale)), max(1, round(image.height / scale))
    # A JPEG is decoded at a half, a quarter or an eighth where that is still enough.
    image.draft(image.mode, size)
    factor = int(max(image.width / box[0], image.height / box[1], 1))
    width, height, step = image.width, image.height, max(BAND // factor, 1) * factor
    whole = Image.new("RGB", (-(-width // factor), -(-height // factor)))
    for top in range(0, height, step):
        band = image.crop((0, top, width, min(top + step, height)))
        whole.paste(_on_white(band).reduce(factor), (0, top // factor))
    return whole.resize(size, Resampling.LANCZOS)


def _on_white(band: Image.Image) -> Image.Image:
    if band.mode.startswith("I;16"):
        # Grey of 16 bits: converting it would clip values above 255.
        band = band.convert("I").point(lambda value: value / 256).convert("L")
    if not band.has_transparency_data:
        return band.convert("RGB")
    coloured = band.convert("RGBA")
    white = Image.new("RGB", band.size, WHITE)
    white.paste(coloured, mask=coloured.getchannel("A"))
    return white


def _squared(image: Image.Image) -> Image.Image:
    """The picture in the middle of a white square."""
    side = max(image.size)
    square = Image.new("RGB", (side, side), WHITE)
    square.paste(image, ((side - image.width) // 2, (side - image.height) // 2))
    return square


def _written(image: Image.Image, form: str) -> bytes:
    body = io.BytesIO()
    options = {"quality": 85, "progressive": True} if form == "JPEG" else {}
    image.save(body, form, optimize=True, **options)
    return body.getvalue()


def _limit() -> None:
    """Limit memory and run time of the process, if the system supports it."""
    if sys.platform == "win32":
        return
    resource.setrlimit(resource.RLIMIT_DATA, (DATA_BYTES, DATA_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main(name: str, source: BinaryIO, target: BinaryIO) -> None:
    """Encode the picture of a kind read from source."""
    _limit()
    try:
        image, body = encode(source, KINDS[name])
        head: dict[str, object] = {"width": image.width, "height": image.height}
    except PictureRefused as error:
        body, head = b"", {"rule": error.args[0], "remedy": error.args[1]}
    except Exception:
        # A file that is cut off or made to do harm raises anything.
        body, head = b"", {"rule": "is damaged or cut off.", "remedy": "Save it again and upload it again."}
    target.write(json.dumps(head).encode() + b"\n" + body)
    target.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.stdin.buffer, sys.stdout.buffer)

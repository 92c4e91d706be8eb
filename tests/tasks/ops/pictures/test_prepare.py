"""Files that become pictures, and files that must not: bombs, polyglots, what is cut off."""

import io
import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from PIL import Image

from leaderboard.core.picture_kinds import KINDS, LARGEST_BYTES, LOGO, PICTURE
from leaderboard.errors import Busy, Invalid, TooLarge
from leaderboard.tasks.ops.pictures import encode, prepare
from tests.make import pictures
from tests.make.pictures import BLUE, GREEN, RED, flag, saved

WHITE = (255, 255, 255)
NEAR = 12
"""Steps of a colour that JPEG may change."""


def _encoded(body: bytes, kind: str = "logo") -> Image.Image:
    """What becomes of a file, in this process."""
    image, written = encode.encode(io.BytesIO(body), KINDS[kind])
    stored = Image.open(io.BytesIO(written))
    assert stored.size == image.size
    return stored.convert("RGB")


def _is_near(one: object, other: tuple[int, int, int]) -> bool:
    assert isinstance(one, tuple)
    return all(abs(a - b) <= NEAR for a, b in zip(one, other, strict=True))


def _png(*chunks: tuple[bytes, bytes]) -> bytes:
    """A PNG file of chunks: type and data."""
    made = b"\x89PNG\r\n\x1a\n"
    for kind, data in chunks:
        made += struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return made


def _bomb(side: int) -> bytes:
    """A small PNG file of side times side black pixels."""
    packed = zlib.compressobj(9)
    line = bytes(1 + side)
    lines = b"".join(packed.compress(line) for _ in range(side)) + packed.flush()
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return _png((b"IHDR", head), (b"IDAT", lines), (b"IEND", b""))


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF"])
@pytest.mark.parametrize("kind", ["logo", "picture"])
def test_every_form_is_scaled_and_keeps_its_colours(form: str, kind: str) -> None:
    """Within the bounds of its kind, a logo in the middle of a white square."""
    made = _encoded(saved(flag(1600, 800), form), kind)
    assert made.size == ((128, 128) if kind == "logo" else (1200, 600))
    middle = made.height // 2
    assert _is_near(made.getpixel((4, middle)), RED)
    assert _is_near(made.getpixel((made.width - 4, middle)), BLUE)
    assert (made.getpixel((5, 5)) == WHITE) == (kind == "logo")


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "PA", "RGBA", "I;16", "CMYK"])
def test_every_mode_of_pixels_is_taken(mode: str) -> None:
    """Grey, palettes, transparency, 16 bits, four colours for printing."""
    image = Image.linear_gradient("L")
    if mode == "I;16":
        image = Image.frombytes("I;16", image.size, b"".join(bytes((0, v)) for v in image.tobytes()))
    elif mode != "L":
        image = image.convert("RGBA" if mode == "PA" else mode)
    form = "JPEG" if mode == "CMYK" else "PNG"
    made = _encoded(saved(image, form), "picture")
    top, bottom = made.getpixel((100, 5)), made.getpixel((100, 250))
    assert _is_near(top, (5, 5, 5)) or mode == "1"
    assert isinstance(top, tuple)
    assert isinstance(bottom, tuple)
    assert bottom[0] > 200 > top[0]


def test_what_is_transparent_becomes_white() -> None:
    """So that a logo looks the same on light and dark pages; a palette's transparent colour too."""
    clear = Image.new("RGBA", (64, 64), (*RED, 0))
    clear.paste((*GREEN, 255), (0, 0, 32, 64))
    for body in (saved(clear, "PNG"), saved(clear, "WEBP", lossless=True), saved(clear, "GIF")):
        made = _encoded(body)
        assert _is_near(made.getpixel((10, 30)), GREEN)
        assert made.getpixel((50, 30)) == WHITE


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_photograph_stands_upright_and_loses_what_it_told(orientation: int) -> None:
    """Each of EXIF's eight orientations is applied; place, camera and profile are gone."""
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = orientation, "A camera"
    exif.get_ifd(0x8825)[1] = "N"
    upright = Image.new("RGB", (90, 60), RED)
    upright.paste(BLUE, (45, 0, 90, 60))
    upright.paste(GREEN, (0, 30, 90, 60))
    turned = upright if orientation == 1 else upright.transpose(_back(orientation))
    body = saved(turned, "JPEG", exif=exif, icc_profile=b"a profile", comment=b"a comment", quality=95)
    _, written = encode.encode(io.BytesIO(body), PICTURE)
    made = Image.open(io.BytesIO(written))
    assert made.size == (90, 60)
    assert [_is_near(made.getpixel(at), colour) for at, colour in (((20, 10), RED), ((70, 10), BLUE))] == [
        True,
        True,
    ]
    assert _is_near(made.getpixel((45, 50)), GREEN)
    assert dict(made.getexif()) == {}
    assert not {"exif", "icc_profile", "comment"} & made.info.keys()
    assert b"camera" not in written


def _back(orientation: int) -> Image.Transpose:
    """What turns an upright picture so that EXIF's orientation turns it back."""
    turn = encode.TURNS[orientation]
    opposite = {Image.Transpose.ROTATE_90: Image.Transpose.ROTATE_270}
    opposite |= {other: one for one, other in opposite.items()}
    return opposite.get(turn, turn)


def test_of_an_animation_the_first_frame_is_kept() -> None:
    """GIF, WebP and PNG alike; the others are not even looked at."""
    frames = [Image.new("RGB", (64, 64), colour) for colour in (RED, GREEN, BLUE)]
    for form in ("GIF", "WEBP", "PNG"):
        body = saved(frames[0], form, save_all=True, append_images=frames[1:], duration=100)
        assert _is_near(_encoded(body).getpixel((30, 30)), RED), form
        made = encode.encode(io.BytesIO(body), LOGO)[1]
        assert getattr(Image.open(io.BytesIO(made)), "n_frames", 1) == 1


SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="64" height="64"><script>alert(1)</script></svg>'
PAGE = b"<html><script>alert(1)</script></html>"
TIFF = saved(flag(), "TIFF")
REFUSED = {
    "a drawing": (SVG, "is not a PNG"),
    "a page": (PAGE, "is not a PNG"),
    "a page that begins as a GIF": (b"GIF89a/*" + PAGE, "pixels|damaged|is not a PNG"),
    "a TIFF file": (TIFF, "is not a PNG"),
    "nothing": (b"", "is not a PNG"),
    "a head alone": (saved(flag(), "PNG")[:60], "damaged"),
    "half of a PNG": (saved(flag(), "PNG")[:-400], "damaged"),
    "half of a JPEG": (saved(flag(), "JPEG")[:900], "damaged"),
    "half of a WebP": (saved(flag(), "WEBP")[:200], "damaged|is not a PNG"),
    "half of a GIF": (saved(flag(), "GIF")[:300], "damaged"),
    "wrong checksums": (saved(flag(), "PNG").replace(b"IDAT", b"IDAX"), "damaged|is not a PNG"),
    "a line": (saved(Image.new("RGB", (2000, 1)), "PNG"), "2,000 × 1 pixels; both sides need at least 16"),
    "no pixels": (_png((b"IHDR", struct.pack(">IIBBBBB", 0, 0, 8, 2, 0, 0, 0))), "damaged|pixels|not a PNG"),
    "many pixels": (_bomb(6000), "6,000 × 6,000 pixels; a PNG file can have at most 12,500,000"),
    "thousands of millions": (
        _png((b"IHDR", struct.pack(">IIBBBBB", 2**31 - 1, 2**31 - 1, 8, 2, 0, 0, 0)), (b"IDAT", b"")),
        "pixels; a PNG file can have",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_file_that_is_no_picture_is_refused_with_a_rule(
    what: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Whatever its name says; by the command of the process, which ends well and says a rule and a remedy."""
    body, rule = REFUSED[what]
    with pytest.raises(Invalid, match=rule) as refused:
        prepare.prepare(pictures.file(tmp_path, body, "logo.png"), LOGO)
    (problem,) = refused.value.problems
    assert problem.remedy
    assert capfdbinary.readouterr() == (b"", b"")


def test_what_is_hidden_behind_a_picture_is_gone(tmp_path: Path) -> None:
    """A file that is a picture and a page at once becomes a picture alone."""
    for form in ("PNG", "JPEG", "GIF"):
        made = prepare.prepare(pictures.file(tmp_path, saved(flag(), form) + PAGE, "logo.html"), LOGO)
        assert b"script" not in made.body
        assert made.body.startswith(b"\x89PNG")
        assert (made.width, made.height) == (128, 128)


@pytest.mark.trial
def test_thirty_thousand_pixels_square_are_never_decoded(tmp_path: Path) -> None:
    """A file of under a megabyte that would fill 900 MB is refused by its head, in little memory."""
    body = _bomb(30_000)
    assert len(body) < LARGEST_BYTES
    path = pictures.file(tmp_path, body)
    code = (
        "import sys; from leaderboard.tasks.ops.pictures import encode; encode.DATA_BYTES = 96 << 20;"
        "encode.main('logo', sys.stdin.buffer, sys.stdout.buffer)"
    )
    with path.open("rb") as file:
        done = subprocess.run([sys.executable, "-c", code], stdin=file, capture_output=True, check=True)
    assert json.loads(done.stdout)["rule"].startswith("has 30,000 × 30,000 pixels")


@pytest.mark.trial
def test_the_largest_that_are_taken_need_less_than_100_mb(tmp_path: Path) -> None:
    """Of each form, with twelve million pixels or four, transparency and 4:4:4 colours."""
    largest = {
        "PNG": saved(Image.new("RGBA", (4082, 3062), (*RED, 99)), "PNG", compress_level=1),
        "JPEG": saved(flag(4082, 3062), "JPEG", subsampling=0, progressive=True),
        "WEBP": saved(flag(2308, 1733, "RGBA"), "WEBP"),
        "GIF": saved(flag(4082, 3062), "GIF"),
    }
    for form, body in largest.items():
        path = pictures.file(tmp_path, body)
        peak = (
            "import io, re, sys; from leaderboard.tasks.ops.pictures import encode;"
            "encode.main('picture', sys.stdin.buffer, target := io.BytesIO());"
            "status = open('/proc/self/status').read();"
            "print(re.search(r'VmHWM:\\s+(\\d+)', status)[1], len(target.getvalue()))"
        )
        with path.open("rb") as file:
            done = subprocess.run([sys.executable, "-c", peak], stdin=file, capture_output=True, check=True)
        kilobytes, size = map(int, done.stdout.split())
        assert (kilobytes < 100_000, size > 1000) == (True, True), (form, kilobytes, size)


def test_a_file_of_over_five_megabytes_is_too_large(tmp_path: Path) -> None:
    """It is not looked at."""
    path = pictures.file(tmp_path, saved(flag(), "PNG") + bytes(LARGEST_BYTES))
    with pytest.raises(TooLarge, match="at most 5 MB"):
        prepare.prepare(path, LOGO)


def test_a_process_that_dies_or_takes_too_long_is_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever kills it, a sentence comes of it, and the next picture has its turn."""
    path = pictures.file(tmp_path, saved(flag(), "PNG"))
    monkeypatch.setattr(prepare, "MODULE", "leaderboard.nothing")
    with pytest.raises(Invalid, match="more time or memory"):
        prepare.prepare(path, LOGO)
    monkeypatch.setattr(prepare, "MODULE", "this")
    monkeypatch.setattr(prepare, "LONGEST_S", 0)
    with pytest.raises(Invalid, match="more time or memory"):
        prepare.prepare(path, LOGO)
    monkeypatch.setattr(prepare, "WAIT_S", 0)
    with prepare._turn, pytest.raises(Busy):
        prepare.prepare(path, LOGO)
    monkeypatch.undo()
    assert prepare.prepare(path, LOGO).width == 128

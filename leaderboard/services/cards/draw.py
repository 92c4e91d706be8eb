"""The process that draws a card: a few words as JSON on the way in, a PNG on the way out.

It is a process of its own so that no web server holds the library that draws. Letters are those of a font of
this machine, where it has one of the usual ones, else of the one that the library brings, which knows ASCII.
"""

import io
import json
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import BinaryIO

from PIL import Image, ImageDraw, ImageFont

from leaderboard.services.cards import HEIGHT, WIDTH

MARGIN = 64
COLOURS = 32
FONTS = (("DejaVuSans.ttf", "DejaVuSans-Bold.ttf"), ("NotoSans-Regular.ttf", "NotoSans-Bold.ttf"))
"""Regular and bold of those that systems bring along, the ones with the most letters first."""
BACKGROUND, INK, QUIET, ACCENT = "#12181f", "#ffffff", "#b3bec9", "#35b6d0"
DOTS = "..."
_SPELT = {
    **dict.fromkeys("‐‑‒–—−", "-"),
    **dict.fromkeys("‘’′", "'"),
    **dict.fromkeys("“”″", '"'),
    **{"ß": "ss", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe"},
    **{"đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "ı": "i", "×": "x", "…": DOTS},
}
"""What stands for a letter that the font does not have and that is no letter with an accent."""

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


def spelt(text: str, has: Callable[[str], bool], otherwise: str = "") -> str:
    """The text in letters that a font has: others lose their accents, are spelt out, or are left out.

    Where no letter or digit is left, it is another text.

    >>> spelt("Käsebrød 検索 β", str.isascii), spelt("検索", str.isascii, "Run 5")
    ('Kasebrod beta', 'Run 5')
    """
    parts = (letter if has(letter) else _instead(letter, has) for letter in text)
    known = " ".join("".join(parts).split())
    return known if any(letter.isalnum() for letter in known) else otherwise


def _instead(letter: str, has: Callable[[str], bool]) -> str:
    if letter in _SPELT:
        return _SPELT[letter]
    plain = "".join(part for part in unicodedata.normalize("NFKD", letter) if not unicodedata.combining(part))
    if plain and all(map(has, plain)):
        return plain
    name = unicodedata.name(letter, "")
    return name.rpartition(" ")[2].lower() if name.startswith("GREEK") and "LETTER" in name else ""


def wrapped(text: str, width: Callable[[str], float], room: float, most: int) -> list[str]:
    """The text in lines that have room, the last of so many at most cut off with dots.

    >>> wrapped("a long name of a task", len, 8, 2), wrapped("averylongword", len, 8, 2)
    (['a long', 'name...'], ['avery...'])
    """
    lines: list[str] = []
    words = text.split()
    while words and len(lines) < most:
        line = words.pop(0)
        while words and width(f"{line} {words[0]}") <= room:
            line = f"{line} {words.pop(0)}"
        is_last = len(lines) == most - 1
        lines.append(_cut(line, width, room, is_cut=bool(words) and is_last))
        if lines[-1].endswith(DOTS) and not line.endswith(DOTS):
            break
    return lines


def _cut(line: str, width: Callable[[str], float], room: float, *, is_cut: bool) -> str:
    if not is_cut and width(line) <= room:
        return line
    # More letters are wider, so the number that fits is found by halves.
    fit = bisect_right(range(1, len(line) + 1), room, key=lambda count: width(line[:count] + DOTS))
    return line[:fit].rstrip() + DOTS


class _Canvas:
    """A picture that is filled with lines from above."""

    def __init__(self) -> None:
        self.image = Image.new("RGB", (WIDTH, HEIGHT), BACKGROUND)
        self._draw = ImageDraw.Draw(self.image)
        self._draw.rectangle((0, 0, 16, HEIGHT), fill=ACCENT)
        self.top = MARGIN

    def write(
        self, text: str, size: int, *, ink: str, bold: bool = False, most: int = 1, otherwise: str = ""
    ) -> None:
        """Write a text in so many lines at most."""
        font = _font(size, bold=bold)
        shown = spelt(text, _letters_of(font), otherwise)
        for line in wrapped(shown, font.getlength, WIDTH - 2 * MARGIN, most):
            self._draw.text((MARGIN, self.top), line, font=font, fill=ink)
            self.top += round(size * 1.3)


def _font(size: int, *, bold: bool) -> Font:
    for names in FONTS:
        try:
            return ImageFont.truetype(names[bold], size)
        except OSError:
            # This machine does not have it.
            continue
    return ImageFont.load_default(size)


def _letters_of(font: Font) -> Callable[[str], bool]:
    """Whether the font has a letter: others look like one that no font has."""
    unknown = _shape(font, "\uffff")
    return lambda letter: letter == " " or _shape(font, letter) != unknown


def _shape(font: Font, letter: str) -> tuple[tuple[int, ...], bytes]:
    mask = font.getmask(letter)
    return mask.size, bytes(mask)


def drawn(words: Mapping[str, str | Sequence[str]]) -> bytes:
    """The picture of a card: heading, otherwise (where none of its letters is known), below, facts, basis."""
    canvas = _Canvas()
    heading, otherwise = str(words["heading"]), str(words["otherwise"])
    canvas.write(heading, 64, ink=INK, bold=True, most=2, otherwise=otherwise)
    canvas.write(str(words["below"]), 36, ink=QUIET)
    canvas.top += 24
    for place, fact in enumerate(words["facts"]):
        canvas.write(fact, 46 if place < 2 else 40, ink=ACCENT if place == 0 else INK)
    canvas.top = HEIGHT - MARGIN - 28
    canvas.write(str(words["basis"]), 28, ink=QUIET)
    body = io.BytesIO()
    canvas.image.quantize(COLOURS).save(body, "PNG", optimize=True)
    return body.getvalue()


def main(source: BinaryIO, target: BinaryIO) -> None:
    """Draw the card whose words come in."""
    target.write(drawn(json.load(source)))
    target.flush()


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)

"""Badges: a run or a task in one line, as a small image for other sites."""

from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import combining, east_asian_width

from flask import Blueprint, Response, render_template, request

from leaderboard.boards.page import cards
from leaderboard.boards.page.cards import CardPage
from leaderboard.boards.slots import RUN_CARD
from leaderboard.web import filters, http
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading

SIZE = 11
"""Font size of the width table, in pixels."""
_OF_WIDTH = {
    3.0: "'IJijl",
    3.5: " ,./:;\\|·",
    4.0: "-f",
    4.5: "!()[]rt",
    5.0: '"',
    5.5: "*_`s–°",
    6.0: "?Lcz",
    6.5: "FPTYakovxy",
    7.0: "$0123456789EKSbdeghnpqu{}",
    7.5: "ABCRVXZ",
    8.0: "NU",
    8.5: "&DGHOQ",
    9.0: "#+<=>^w~±≤≥×",
    9.5: "M",
    10.5: "%m",
    11.0: "@W—…",
}
"""Widths of DejaVu Sans, equal to Verdana; browsers fit other fonts to the stated width."""
_WIDTHS = {letter: width for width, letters in _OF_WIDTH.items() for letter in letters}
_WIDE, _OTHER = 11.0, 7.0


def text_width(text: str) -> float:
    """Width of a line in pixels; characters outside the table are estimated by category.

    >>> text_width("rank 1–3"), text_width("検索"), text_width("")
    (47.5, 22.0, 0)
    """
    return sum(_width(letter) for letter in text)


def _width(letter: str) -> float:
    if combining(letter):
        return 0.0
    wide = _WIDE if east_asian_width(letter) in "WF" else _OTHER
    return _WIDTHS.get(letter, wide)


blueprint = Blueprint("badges", __name__)

HEIGHT = 20
MARGIN = 6.0
LONGEST = 40
"""Maximum characters of a part, since badges share a line."""


@dataclass(frozen=True, slots=True)
class BadgePart:
    """A box with a text, each with left edge and width in pixels."""

    text: str
    x: float
    width: float
    text_x: float
    text_width: float


@blueprint.get("/runs/<id:run_id>/badge.svg")
@rule(PUBLIC)
def of_run(run_id: int) -> Response:
    """The badge of a run: its rank range on the board and its score."""
    return _badge(next(iter(RUN_CARD))(reading(), run_id))


@blueprint.get("/tasks/<slug>/badge.svg")
@rule(PUBLIC)
def of_task(slug: str) -> Response:
    """The badge of a task: numbers of runs and teams, and the leader."""
    return _badge(cards.of_task(reading(), slug, request.args.get("phase", "")))


def _badge(shown: CardPage) -> Response:
    parts = laid_out(tuple(filter(None, (shown.task, shown.size, *shown.facts))))
    width = parts[-1].x + parts[-1].width
    svg = render_template(
        "boards/cards/badge.svg", card=shown, parts=parts, width=width, height=HEIGHT, title=_title(shown)
    )
    return http.as_followed(filters.writable(svg), "image/svg+xml")


def _title(shown: CardPage) -> str:
    return f"{shown.title}: {', '.join(filter(None, (shown.size, *shown.facts)))}"


def laid_out(texts: Sequence[str]) -> tuple[BadgePart, ...]:
    """The texts side by side, each in a fitting box."""
    parts, x = [], 0.0
    for text in texts:
        short = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
        wide = text_width(short)
        parts.append(BadgePart(short, x, wide + 2 * MARGIN, x + MARGIN, wide))
        x += wide + 2 * MARGIN
    return tuple(parts)

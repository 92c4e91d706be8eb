"""Badges: a run or a task in a line, as a small picture for pages elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import combining, east_asian_width

from flask import Blueprint, Response, render_template, request

from leaderboard.pages import cards
from leaderboard.pages.cards import CardPage
from leaderboard.web import figures, responses
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading

SIZE = 11
"""Pixels of the letters that the table is of."""
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
"""Of DejaVu Sans, which is as wide as Verdana; browsers fit whatever they have to the width that is said."""
_WIDTHS = {letter: width for width, letters in _OF_WIDTH.items() for letter in letters}
_WIDE, _OTHER = 11.0, 7.0


def text_width(text: str) -> float:
    """Pixels that a line takes at the table's size; of letters that are not in it by their kind.

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
"""Characters of a part; a badge stands in a line of others."""


@dataclass(frozen=True, slots=True)
class BadgePart:
    """A box with a text, both by their left edge and width in pixels."""

    text: str
    x: float
    width: float
    text_x: float
    text_width: float


@blueprint.get("/runs/<id:run_id>/badge.svg")
@rule(PUBLIC)
def of_run(run_id: int) -> Response:
    """A run: where it stands on its task's board, and its score."""
    return _badge(cards.of_run(reading(), run_id))


@blueprint.get("/tasks/<slug>/badge.svg")
@rule(PUBLIC)
def of_task(slug: str) -> Response:
    """A task: how many runs and teams it has, and who leads."""
    return _badge(cards.of_task(reading(), slug, request.args.get("phase", "")))


def _badge(shown: CardPage) -> Response:
    parts = laid_out(tuple(filter(None, (shown.task, shown.size, *shown.facts))))
    width = parts[-1].x + parts[-1].width
    svg = render_template(
        "cards/badge.svg", card=shown, parts=parts, width=width, height=HEIGHT, title=_title(shown)
    )
    return responses.as_followed(figures.writable(svg), "image/svg+xml")


def _title(shown: CardPage) -> str:
    return f"{shown.title}: {', '.join(filter(None, (shown.size, *shown.facts)))}"


def laid_out(texts: Sequence[str]) -> tuple[BadgePart, ...]:
    """The texts beside each other, each in a box that it fits."""
    parts, x = [], 0.0
    for text in texts:
        short = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
        wide = text_width(short)
        parts.append(BadgePart(short, x, wide + 2 * MARGIN, x + MARGIN, wide))
        x += wide + 2 * MARGIN
    return tuple(parts)

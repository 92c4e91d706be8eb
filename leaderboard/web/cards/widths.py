"""How wide a line of letters is, so that a picture of it can be laid out without any font."""

from unicodedata import combining, east_asian_width

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

"""Names people give to accounts and teams: what may be shown, which are the same, which look alike.

Looking alike is Unicode Technical Standard 39's: two names do where they have one skeleton.
"""

import re
from functools import cache
from pathlib import Path
from unicodedata import category, normalize

from leaderboard.errors import Invalid, Problem

MAX_CHARACTERS = 60
MAX_MARKS = 2
"""Marks one letter may carry, once all that can be composed is composed."""
LOOK_ALIKES = Path(__file__).with_name("look_alikes.txt")
_STROKES = "\u0334\u0335\u0336\u0337\u0338"
_ROUNDS = 8
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
"""Default_Ignorable_Code_Point, and two that are blank: U+2800 and U+1D159."""


def canonical(name: str) -> str:
    """The name with case, compatibility forms and spacing folded away; folding again changes nothing.

    Two names that differ only so are one account or team.

    >>> canonical("  Ａlice   SMITH ")
    'alice smith'
    """
    for _ in range(_ROUNDS):
        folded = " ".join(normalize("NFKC", name.casefold()).split())
        if folded == name:
            break
        name = folded
    return name


def skeleton(name: str) -> str:
    r"""The visual skeleton of a name, ignoring case; names with the same skeleton look alike.

    Punctuation, blanks and strokes through letters are ignored. Only for comparison, never shown.

    >>> skeleton("\u041ewls") == skeleton("0WLS") == skeleton("O. w-l_s") != skeleton("owl")
    True
    """
    shown = _seen(normalize("NFKC", name)).casefold()
    kept = "".join(letter for letter in shown if category(letter)[0] not in "PZC" and letter not in _STROKES)
    return kept or shown


def looks_like(name: str, other: str) -> bool:
    """Whether two names are hard to tell apart; upper and lower case differ.

    >>> looks_like("run-1", "run-l"), looks_like("run-1", "RUN-1")
    (True, False)
    """
    return _seen(name) == _seen(other)


def displayed(name: str, what: str, field: str = "name") -> str:
    """The name as it will be shown: composed, without spaces at its ends and doubled ones.

    what is the kind of thing, for messages, and field where it was entered. Raises Invalid for an empty or
    long name, or one with characters that cannot be seen or with letters under a pile of marks.
    """
    tidy = " ".join(normalize("NFC", name).split())
    rule = _broken_rule(tidy, what)
    if rule:
        raise Invalid(rule, [Problem(rule, "Choose another name.", field=field, value=tidy[:MAX_CHARACTERS])])
    return tidy


def _broken_rule(name: str, what: str) -> str:
    if not any(character.isalnum() for character in name):
        return f"The name of {what} must contain at least one letter or digit."
    if len(name) > MAX_CHARACTERS:
        return f"The name of {what} can have at most {MAX_CHARACTERS} characters."
    if _INVISIBLE.search(name) or any(category(character).startswith("C") for character in name):
        return f"The name of {what} must not contain invisible or control characters."
    if _most_marks(name) > MAX_MARKS:
        return f"A letter in the name of {what} can carry at most {MAX_MARKS} marks."
    return ""


def _most_marks(name: str) -> int:
    """The longest sequence of combining marks."""
    most = row = 0
    for character in name:
        row = row + 1 if category(character) in ("Mn", "Me") else 0
        most = max(most, row)
    return most


def _seen(name: str) -> str:
    alike = _look_alikes()
    shown = "".join(alike.get(character, character) for character in normalize("NFD", name))
    return normalize("NFD", shown)


@cache
def _look_alikes() -> dict[str, str]:
    """Character -> what to write instead of it."""
    lines = LOOK_ALIKES.read_text(encoding="utf-8").splitlines()
    pairs = (line.split(";") for line in lines if line and not line.startswith("#"))
    return {source: _text(instead) for instead, sources in pairs for source in _text(sources)}


def _text(codes: str) -> str:
    return "".join(chr(int(code, 16)) for code in codes.split())

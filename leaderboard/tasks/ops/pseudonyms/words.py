"""Names for pseudonyms: plain, inoffensive words, no two of which look alike.

Left out are animals and plants that serve as insults, represent a nation or a firm, or name a language model.
"""

from functools import cache
from pathlib import Path

TITLES = {
    "animals": "animals, such as Otter",
    "plants": "plants, such as Rowan",
    "numbers": "numbers, such as T042",
}
"""Choices for the pseudonyms of teams, as text."""


@cache
def words(kind: str) -> tuple[str, ...]:
    """All names of one of TITLES."""
    if kind == "numbers":
        return tuple(f"T{number:03}" for number in range(1, 1000))
    return tuple(Path(__file__).with_name(f"{kind}.txt").read_text(encoding="ascii").split())

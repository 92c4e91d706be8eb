"""Limits of parameters and fields, stated in the document and enforced by what does the work.

No value is read by these: who holds a limit says better what is wrong, and what to do about it.
"""

from collections.abc import Iterable
from typing import Annotated

from msgspec import Meta

from leaderboard.fields import FILLED
from leaderboard.fields import documented as documented

Filled = Annotated[str, Meta(extra_json_schema={"pattern": FILLED})]
"""A text that is not blank."""


def within(least: int, most: int) -> Meta:
    """A whole number from one to another."""
    return documented(minimum=least, maximum=most)


def names_of(words: Iterable[str]) -> Meta:
    """An object whose keys are some of some words."""
    return documented(propertyNames={"enum": list(words)})


def one_of(*groups: Iterable[str]) -> Meta:
    """One of some words."""
    return documented(enum=[word for group in groups for word in group])

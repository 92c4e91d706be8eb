"""What a check is, and what it finds."""

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from leaderboard.db.engine import Database
from leaderboard.errors import Damaged, StoreAway

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is not as it was written: what it belongs to, and what is wrong with it."""

    owner: str
    what: str

    def __str__(self) -> str:
        """Both in one line."""
        return f"{self.owner}: {self.what}"


Look = Callable[[Database, Any], Iterator[str]]
"""Looks at one of the places of a check and says what is wrong with it; raises Damaged as well."""


@dataclass(frozen=True, slots=True)
class DamageCheck:
    """One kind of stored data: its name, what a place of it is called, where its places are, how to look."""

    name: str
    owner: str
    places: Callable[[Database], Sequence[Any]]
    look: Look

    def damage(self, database: Database, place: Any) -> list[Damage]:
        """What is wrong with one place; whatever keeps it from being read is damage too.

        Raises StoreAway: what could not be asked for just now may be whole.
        """
        owner = f"{self.owner} {place}" if place is not None else self.owner
        try:
            return [Damage(owner, what) for what in self.look(database, place)]
        except Damaged as error:
            return [
                Damage(
                    owner, f"{error.facts['what']}: {error.facts['why']}" if error.facts else error.message
                )
            ]
        except StoreAway:
            raise
        except Exception as error:
            # Bytes without a checksum can be wrong in ways that no reader was written for.
            log.debug("%s cannot be read", owner, exc_info=True)
            return [Damage(owner, f"{self.name} cannot be read ({type(error).__name__}: {error})")]

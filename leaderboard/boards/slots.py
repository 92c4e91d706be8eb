"""Extension points of boards for other features."""

from typing import TYPE_CHECKING

from leaderboard.core.slots import Slot

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy.orm import Session

    from leaderboard.boards.page.cards import CardPage

    RunCard = Callable[[Session, int], CardPage]

RUN_CARD: "Slot[RunCard]" = Slot()
"""The card of a run by its number; raises NotFound if visitors may not see it."""

"""Extension points for features above accounts."""

from typing import TYPE_CHECKING

from leaderboard.core.slots import Slot

if TYPE_CHECKING:
    from collections.abc import Callable

    from leaderboard.core.slots import Part

    Account = Callable[[], tuple[Part, ...]]

ACCOUNT: "Slot[Account]" = Slot()
"""Additional sections of the viewer's account page; called in a request."""

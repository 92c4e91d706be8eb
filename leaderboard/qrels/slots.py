"""Extension points of judgments for other features."""

from typing import TYPE_CHECKING

from leaderboard.core.slots import Slot

if TYPE_CHECKING:
    from collections.abc import Callable

    from werkzeug.datastructures import MultiDict

    from leaderboard.scoring.ops.qrels.files import PreparedQrels

    Form = Callable[[str, str, MultiDict[str, str]], PreparedQrels | None]

FORM: "Slot[Form]" = Slot()
"""Handlers of uploaded judgments for other kinds of runs, by kind and slug; None if not handled."""

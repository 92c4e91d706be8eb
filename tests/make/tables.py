"""Tables of plain rows, for tests of what writes tables."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from leaderboard.tables.record import Column, Table


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    name: str = "t",
    caption: str = "c",
    digits: Mapping[str, int] | None = None,
) -> Table[Sequence[Any]]:
    """A table whose columns are the places of its rows; digits by head."""
    decimals = digits or {}
    columns = [
        Column(key=head, value=itemgetter(place), digits=decimals.get(head))
        for place, head in enumerate(header)
    ]
    return Table(name=name, caption=caption, columns=columns, rows=rows)

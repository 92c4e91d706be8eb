"""How a run is named wherever it is listed."""

from dataclasses import dataclass
from typing import Annotated

from leaderboard.tables.record import Place, Shown


@dataclass(frozen=True, slots=True, kw_only=True)
class RunName:
    """A run in a list: its id, its name, whose it is, its kind, and whether it is the reader's own."""

    run_id: Annotated[int, Shown(shown=Place.DATA)]
    name: Annotated[str, Shown(key="run")]
    team: str
    kind: Annotated[str, Shown(shown=Place.DATA)]
    is_own: bool = False

"""How a run is named wherever it is listed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RunName:
    """A run in a list: its id, its name, whose it is, its kind, and whether it is the reader's own."""

    run_id: int
    name: str
    team: str
    kind: str
    is_own: bool = False

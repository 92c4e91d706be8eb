"""The C kernel where it was built; asking which kernel there is needs no NumPy."""

import os
from typing import Any

try:
    from leaderboard.trec.read import _kernel as _built
except ImportError:
    _built = None  # type: ignore[assignment]

FUNCTIONS = [
    "columns",
    "order",
    "doubled",
    "hashes",
    "index_documents",
    "hits",
    "last_topic",
    "joined",
    "gathered",
    "printed",
]
"""Functions of the C module; an argument list that changes needs a new name here and there."""
# A checkout that moved on without a new build still has the module of its older source.
is_stale = _built is not None and not all(hasattr(_built, name) for name in FUNCTIONS)
native: Any = None if is_stale or os.environ.get("LEADERBOARD_KERNEL") == "off" else _built
"""The C module, None where it was not built, is out of date, or LEADERBOARD_KERNEL is off."""


def name() -> str:
    """Name of the kernel in use: `C` or `numpy`."""
    return "numpy" if native is None else "C"

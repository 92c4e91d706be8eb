"""Engines of tests that share the SQL which SQLAlchemy made of statements.

A process of the site has one engine, which compiles each statement once. Tests make thousands, each of which
would compile all it uses again: that was a quarter of their time.
"""

from typing import Any

from sqlalchemy import Dialect, Engine, create_engine, make_url
from sqlalchemy.engine.url import URL

from leaderboard.db import engine as engines

_first: dict[str, Engine] = {}


def share_compiled() -> None:
    """Let all engines of this process that speak one dialect share it, and what was compiled for it."""
    engines.create_engine = sharing  # type: ignore[attr-defined]


def sharing(url: str | URL, **options: Any) -> Engine:
    """An engine like `create_engine`'s, of the dialect that the first one of its kind connected with."""
    kind = make_url(url).drivername
    first = _first.get(kind)
    if first is None or not _is_ready(first.dialect):
        _first[kind] = made = create_engine(url, **(options | {"query_cache_size": 5000}))
        return made
    # A dialect asks a server for its version and ways once: the first did.
    made = create_engine(url, _initialize=False, **options)
    made.dialect = made.pool._dialect = first.dialect
    made._compiled_cache = first._compiled_cache
    return made


def _is_ready(dialect: Dialect) -> bool:
    return getattr(dialect, "server_version_info", None) is not None

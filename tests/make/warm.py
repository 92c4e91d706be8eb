"""Connections to the tests' database on PostgreSQL that outlive the engine that asked for them.

Each is a process of the server, which reads what it needs of a hundred tables' catalogue when it first does.
That takes longer than most tests do on what they are about, so the next engine is given a process that has.
"""

import os
from collections import defaultdict
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

MOST_IDLE = 6
OWN = {"application_name", "context"}
"""What differs with every engine and means the same: the tests' name for it, and how values are converted."""
FORGETTING = (
    "RESET ALL; CLOSE ALL; UNLISTEN *; SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES"
)
"""All of DISCARD ALL but its statements that are prepared: the client goes by which of them there are."""
Connection = psycopg.Connection[Any]
_idle: defaultdict[str, list[Connection]] = defaultdict(list)
"""By what was asked for, and by which process: after a fork both have the same socket."""
_asked: WeakKeyDictionary[Connection, str] = WeakKeyDictionary()


def keep_connections(database: str) -> None:
    """Let the engines of this process hand connections to a database of that name on to one another."""
    connect, close = PGDialect_psycopg.connect, PGDialect_psycopg.do_close

    def handed_on(dialect: Any, *arguments: Any, **named: Any) -> Any:
        if named.get("dbname") != database:
            return connect(dialect, *arguments, **named)
        key = repr((os.getpid(), sorted(pair for pair in named.items() if pair[0] not in OWN)))
        while _idle[key]:
            made = _idle[key].pop()
            if _is_alive(made):
                return made
        made = connect(dialect, *arguments, **named)
        _asked[made] = key
        return made

    def put_aside(dialect: Any, connection: Any) -> None:
        key = _asked.get(connection, "")
        if len(_idle[key]) < MOST_IDLE and key.startswith(f"({os.getpid()},") and _is_as_new(connection):
            _idle[key].append(connection)
        else:
            close(dialect, connection)

    PGDialect_psycopg.connect = handed_on  # type: ignore[method-assign]
    PGDialect_psycopg.do_close = put_aside  # type: ignore[method-assign]


def processes() -> list[int]:
    """The server's processes of the connections that nobody uses."""
    return [one.info.backend_pid for kept in _idle.values() for one in kept if not one.closed]


def close_all() -> None:
    """Close the connections that nobody uses."""
    for kept in _idle.values():
        while kept:
            kept.pop().close()


def _is_alive(connection: Connection) -> bool:
    """Whether the server's process is there: a test may have thrown its database away."""
    return _done(connection, "SELECT 1")


def _is_as_new(connection: Connection) -> bool:
    """Whether the connection is in no transaction, and has forgotten all that its last engine set."""
    idle = psycopg.pq.TransactionStatus.IDLE
    return connection.info.transaction_status == idle and _done(connection, FORGETTING)


def _done(connection: Connection, statement: str) -> bool:
    try:
        connection.autocommit = True
        connection.execute(statement)
        connection.autocommit = False
    except psycopg.Error:
        connection.close()
        return False
    return True

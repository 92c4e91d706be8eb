"""What a database is asked of the letters of a text."""

from typing import Any

from sqlalchemy import Boolean
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class beyond_ascii(FunctionElement[bool]):
    """Whether a text has letters outside ASCII, whose case databases fold in other ways than Python."""

    type = Boolean()
    inherit_cache = True


@compiles(beyond_ascii)
def _in_octets(element: beyond_ascii, compiler: SQLCompiler, **given: Any) -> str:
    text = compiler.process(element.clauses, **given)
    return f"octet_length({text}) <> length({text})"


@compiles(beyond_ascii, "sqlite")
def _in_bytes(element: beyond_ascii, compiler: SQLCompiler, **given: Any) -> str:
    """SQLite has octet_length from 3.43 on only."""
    text = compiler.process(element.clauses, **given)
    return f"length(CAST({text} AS BLOB)) <> length({text})"

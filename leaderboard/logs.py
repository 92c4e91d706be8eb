"""The log: one event a line, as text or JSON, without tokens and without lines written by others."""

import json
import logging
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from leaderboard.errors import Invalid

TEXT, JSON = "text", "json"
TOKENS = re.compile(
    r"(/+(?:judge|sign-in|join|drafts|confirm-mail|review|tasks/+[^/\s]+/+(?:uploads|pieces))/+)[^/\s?#\"']+",
    re.IGNORECASE,
)
"""Addresses that hold a secret."""
SECRETS = re.compile(r"\b(lb_[prw])[0-9A-Za-z]{8,}")
"""Tokens of the API, whole or cut off."""
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
PLAIN = re.compile(r"[^\s\"'=]+")
INDENT = "    | "
_present: ContextVar[Mapping[str, Any]] = ContextVar("present", default=MappingProxyType({}))
"""Fields that this thread adds to each line it logs for now."""


class _Stderr(logging.Handler):
    """Writes to the current stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record and what ends its line at once, so that processes do not mix theirs."""
        try:
            sys.stderr.write(self.format(record) + "\n")
            sys.stderr.flush()
        except Exception:  # as logging.StreamHandler does
            self.handleError(record)


def configure(form: str) -> None:
    """Send what this process logs to stderr, from INFO on; raises Invalid unless form is text or json."""
    if form not in (TEXT, JSON):
        raise Invalid(f"LEADERBOARD_LOG_FORMAT is {form!r}; it must be {TEXT} or {JSON}.")
    handler = _Stderr()
    handler.setFormatter(JsonLines() if form == JSON else TextLines())
    root = logging.getLogger()
    for earlier in [each for each in root.handlers if isinstance(each, _Stderr)]:
        root.removeHandler(earlier)
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.getLogger("alembic").setLevel(logging.WARNING)


def begin(**facts: Any) -> None:
    """Put these facts into every line of this thread from now on, in place of those before."""
    _present.set(facts)


@contextmanager
def about(**facts: Any) -> Iterator[None]:
    """Put these facts into every line that this thread logs inside."""
    before = _present.set({**_present.get(), **facts})
    try:
        yield
    finally:
        _present.reset(before)


def masked(text: str) -> str:
    """The text with tokens masked: those in addresses, and those of the API anywhere.

    >>> masked("/judge/SECRET/1 and /tasks/join")
    '/judge/<token>/1 and /tasks/join'
    >>> masked("Bearer lb_pAbCdEfGh12345")
    'Bearer lb_p<token>'
    """
    return SECRETS.sub(r"\1<token>", TOKENS.sub(r"\1<token>", text))


def one_line(text: str) -> str:
    r"""The text with characters that could end a line or move the cursor written out, and tokens masked.

    >>> one_line("a\nERROR b")
    'a\\nERROR b'
    """
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), masked(text))


class TextLines(logging.Formatter):
    """`time level process logger message name=value ...`; a traceback follows, each line indented."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as lines; all but the first are indented."""
        facts = "".join(f" {name}={_plain(value)}" for name, value in _facts(record).items())
        place = f"{_moment(record)} {record.levelname} {record.processName} {record.name}"
        lines = [f"{place} {one_line(record.getMessage())}{facts}"]
        lines += [INDENT + one_line(line) for line in _trace(self, record).split("\n") if line]
        return "\n".join(lines)


class JsonLines(logging.Formatter):
    """One JSON object a line: at, level, process, logger, message, the facts of the event, trace."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON, with line breaks escaped."""
        event: dict[str, Any] = {
            "at": _moment(record),
            "level": record.levelname,
            "process": record.processName,
            "logger": record.name,
            "message": masked(record.getMessage()),
            **_facts(record),
        }
        trace = _trace(self, record)
        return json.dumps({**event, "trace": masked(trace)} if trace else event, default=str)


def _facts(record: logging.LogRecord) -> Mapping[str, Any]:
    return {**_present.get(), **getattr(record, "facts", {})}


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def _plain(value: object) -> str:
    text = "-" if value is None else masked(str(value))
    return text if PLAIN.fullmatch(text) and text.isprintable() else json.dumps(text)


def _trace(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    return formatter.formatException(record.exc_info) if record.exc_info else ""

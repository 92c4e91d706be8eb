"""Errors of the client, each with cause, remedy and exit code of the command."""

from __future__ import annotations

from typing import Any


class ClientError(Exception):
    """Something went wrong; remedy: what to do about it, facts: all that the site said."""

    exit_code = 2

    def __init__(self, message: str, remedy: str = "", facts: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message, self.remedy, self.facts = message, remedy, facts or {}

    @property
    def problems(self) -> list[dict[str, Any]]:
        """A problem of a file or a value: line, field, value, rule and remedy."""
        return [problem for problem in self.facts.get("problems") or () if isinstance(problem, dict)]


class Refused(ClientError):
    """The site takes the request for wrong, or it comes too late."""


class Rejected(ClientError):
    """The site rejects the file; `problems` says why."""

    exit_code = 1


class NotAllowed(ClientError):
    """There is no token, it is not in force, or it may not do this."""

    exit_code = 3


class NotFound(ClientError):
    """There is no such task, run or address."""


class OverQuota(ClientError):
    """A limit is reached; retry_after_s: when to try again, where the site says so."""

    @property
    def retry_after_s(self) -> int | None:
        """Seconds to wait; None where waiting does not help."""
        seconds = self.facts.get("retry_after_s")
        return seconds if isinstance(seconds, int) else None


class Unreachable(ClientError):
    """The site does not answer, or not as this client can read it."""

    exit_code = 4

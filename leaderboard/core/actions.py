"""One declaration of an action, from which its form, API operation and command are made."""

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from inspect import Parameter, signature
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from leaderboard import fields
from leaderboard.core import policy
from leaderboard.core.policy import Scope, Viewer
from leaderboard.errors import Invalid, Problem
from leaderboard.settings import Settings

FILE_NAME = "file_name"
"""The field in which the API says the name of a file."""
PLACEHOLDER = re.compile(r"<(?:\w+:)?(\w+)>")


def _required(may: Callable[..., object]) -> int:
    """The number of placeholders that a function requires after session and viewer."""
    needed = [each.kind for each in signature(may).parameters.values() if each.default is each.empty]
    return max(0, len(needed) - needed.count(Parameter.VAR_POSITIONAL) - 2)


def by_account(_session: Session, viewer: Viewer, *_: object) -> None:
    """Raise SignInNeeded for visitors; for actions that any signed-in account can do on its own data."""
    if not viewer.is_operator:
        policy.require_account(viewer)


class Sessions(NamedTuple):
    """How a surface opens a session that reads, and a transaction that writes."""

    reading: Callable[[], AbstractContextManager[Session]]
    writing: Callable[[], AbstractContextManager[Session]]
    folder: Callable[[], Path]
    """A folder that is removed when the action is done."""


@dataclass(frozen=True, slots=True)
class Received:
    """A file that an action is given: where it is, and its name."""

    path: Path
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """The file that an action takes: a form's field, the body of an API operation, a command's argument."""

    field: str
    missing: str = ""
    """What to say where a form has none; empty: it may be left out."""
    others: tuple[str, ...] = ()
    """Fields of other files that only the form has."""
    turn: Callable[[], AbstractContextManager[object]] = nullcontext
    """Held from before its files are read until `act` is done; may raise Busy."""
    body: str = "UPLOAD"
    """Name of its limit of size, of `leaderboard.web.rules.Body`."""
    prepare: Callable[..., Any]
    """`prepare(given, record)`: reads it outside any transaction, of a `Given`.

    The result is the last argument of `act` before the record.
    """


class Given(NamedTuple):
    """What the files of an action are read with."""

    files: Mapping[str, Received]
    """Field -> file; only those that were sent."""
    allowed: Any
    """What `plan` returned, or `may` if the action has no plan."""
    at: tuple[Any, ...]
    """What the placeholders name."""
    viewer: Viewer
    sessions: Sessions
    settings: Settings
    key: str | None
    """What the sender gave so that the same request, sent again, is done once."""


class Outcome(NamedTuple):
    """Outcome of an action: a short description, the function's result and the request."""

    done: str
    result: Any
    asked: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An action of accounts, the same in forms, API and commands.

    A surface that it has no address or command for does not have it.
    """

    name: str
    """Name of the API operation, and of the command unless `command` gives another."""
    summary: str
    """Short description, without a full stop."""
    more: str = ""
    method: str = "POST"
    path: str = ""
    """Its address below /api/v1. Its placeholders are the first arguments of `act`, in order."""
    form: str = ""
    """Form address; its placeholders equal those of `path` if both are given."""
    page: str = ""
    """The endpoint of the page that has the form, and that is shown when it is done."""
    act: Callable[..., Any]
    """`act(session, viewer, *placeholders, record)`, without a record if the action has none."""
    only_reads: bool = False
    """Whether it stores nothing."""
    done: str | Callable[[Any, Any], str] = ""
    """Success message, or a function that makes it from the record and the result of `act`."""
    record: type | None = None
    """Record class of the request, with declared fields."""
    file: File | None = None
    plan: Callable[..., Any] | None = None
    """`plan(session, viewer, *placeholders, record)`: what is computed in a reading session first.

    So no writer waits for it. Its result is the argument of `act` before the record.
    """
    scopes: tuple[Scope, ...] = (Scope.ORGANISE,)
    """Token scopes; one of them is required."""
    is_public: bool = False
    """Whether a token in the address decides who may, not who is signed in."""
    status: int = 200
    may: Callable[..., object] = policy.own_task
    """`may(session, viewer, *required placeholders)`: raises unless the viewer may; before all else."""
    is_query: bool = False
    """Whether the query of the address has the record's fields, in the form's too: it changes no object."""
    count: Callable[..., object] | None = None
    """`count(session, viewer, *placeholders, record)`: what is counted in a transaction of its own first.

    A try counts though what it tries is refused.
    """
    site: Callable[[Settings], Mapping[str, Any]] | None = None
    """`site(settings)`: keyword arguments of `act` from the site's settings."""
    named: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Placeholder -> the field of the form that says it, where the form's address does not."""
    command: str = ""
    now: Callable[..., Any] | None = None
    """`now(session, viewer, *placeholders)`: the record as it is; a command changes only the given fields."""
    warning: Callable[..., str] | None = None
    """`warning(session, viewer, *placeholders)`: what a command says on stderr afterwards; may be empty."""

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The names of what it is done to, in order."""
        return tuple(PLACEHOLDER.findall(self.path or self.form))

    def do(
        self,
        sessions: Sessions,
        viewer: Viewer,
        given: Mapping[str, Any],
        values: Mapping[str, Any] | None = None,
        settings: Settings | None = None,
        files: Mapping[str, Received] = MappingProxyType({}),
        key: str | None = None,
    ) -> Outcome:
        """Act on what the placeholders name, with the record's fields as texts or values.

        Raises as `act` does, and Invalid with every field that is not as declared.
        """
        names = [given[name] for name in self.placeholders]
        extra = self.site(settings) if self.site and settings else {}
        last = sessions.reading if self.only_reads else sessions.writing
        first = last if self.plan is None else sessions.reading
        with first() as session:
            allowed = self.may(session, viewer, *names[: _required(self.may)])
            asked = self._asked(values or {}, files)
            if self.plan is not None:
                allowed = self.plan(session, viewer, *names, *asked)
                if self.file is None:
                    names.append(allowed)
            elif self.count is None and self.file is None:
                return self._outcome(asked, self.act(session, viewer, *names, *asked, **extra))
            if self.count is not None:
                self.count(session, viewer, *names, *asked)
        with self.file.turn() if self.file else nullcontext():
            if self.file is not None:
                assert settings is not None, "files are read within the limits of a site"
                given_files = Given(files, allowed, tuple(names), viewer, sessions, settings, key)
                names.append(self.file.prepare(given_files, *asked))
            with last() as session:
                return self._outcome(asked, self.act(session, viewer, *names, *asked, **extra))

    def _asked(self, values: Mapping[str, Any], files: Mapping[str, Received]) -> list[Any]:
        """The record in a list, which is empty if the action has none; raises Invalid with every problem."""
        problems = []
        if self.file is not None and self.file.missing and self.file.field not in files:
            problems = [Problem(self.file.missing, field=self.file.field)]
        if self.record is not None:
            return [fields.read(self.record, values, problems)]
        if problems:
            raise Invalid(problems[0].rule, problems)
        return []

    def _outcome(self, asked: list[Any], result: Any) -> Outcome:
        record = asked[0] if asked else None
        done = self.done if isinstance(self.done, str) else self.done(record, result)
        return Outcome(done, result, record)

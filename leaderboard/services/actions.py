"""One declaration of what may be done: its form, its operation of the API and its command are made of it."""

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from leaderboard import fields
from leaderboard.services import policy
from leaderboard.services.policy import Scope, Viewer
from leaderboard.settings import Settings

Writing = Callable[[], AbstractContextManager[Session]]
"""Opens a transaction that writes."""
PLACEHOLDER = re.compile(r"<(?:\w+:)?(\w+)>")


def by_account(_session: Session, viewer: Viewer, *_: object) -> None:
    """Raise SignInNeeded for a visitor: for what whoever is signed in may do to what is theirs."""
    if not viewer.is_operator:
        policy.require_account(viewer)


class Outcome(NamedTuple):
    """What was done, in a few words, what the function that did it returned, and what it was asked for."""

    done: str
    result: Any
    asked: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something an account may do, on every surface alike.

    A surface that it has no address or command for does not have it.
    """

    name: str
    """Of the operation in the API; the command's last word, where `command` says no other."""
    summary: str
    """What it does, in a few words without a full stop."""
    more: str = ""
    method: str = "POST"
    path: str = ""
    """Its address below /api/v1. Its placeholders are what `act` takes first, in order."""
    form: str = ""
    """The address that the form is sent to; its placeholders are those of `path` where both are there."""
    page: str = ""
    """The endpoint of the page that has the form, and that is shown when it is done."""
    act: Callable[..., Any]
    """`act(session, viewer, *placeholders, record)`, without a record where none is asked for."""
    done: str | Callable[[Any, Any], str] = ""
    """What was done, in a few words, or what makes them of the record and of what `act` returned."""
    record: type | None = None
    """What is asked for: a record of declared fields."""
    scopes: tuple[Scope, ...] = (Scope.ORGANISE,)
    """Of a token that asks, one of these."""
    status: int = 200
    may: Callable[..., object] = policy.own_task
    """`may(session, viewer, first placeholder)`: raises unless the viewer may; before anything is read."""
    count: Callable[..., object] | None = None
    """`count(session, viewer, *placeholders, record)`: what is counted in a transaction of its own first.

    A try counts though what it tries is refused.
    """
    site: Callable[[Settings], Mapping[str, Any]] | None = None
    """`site(settings)`: what `act` takes by name of how the site is set up."""
    named: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Placeholder -> the field of the form that says it, where the form's address does not."""
    command: str = ""
    now: Callable[..., Any] | None = None
    """`now(session, viewer, *placeholders)`: the record as it is; a command changes what is given of it."""
    warning: Callable[..., str] | None = None
    """`warning(session, viewer, *placeholders)`: what a command says on stderr afterwards; may be empty."""

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The names of what it is done to, in order."""
        return tuple(PLACEHOLDER.findall(self.path or self.form))

    def do(
        self,
        writing: Writing,
        viewer: Viewer,
        given: Mapping[str, Any],
        said: Mapping[str, Any] | None = None,
        settings: Settings | None = None,
    ) -> Outcome:
        """Do what is said, in texts or values, to what the placeholders name.

        Raises as `act` does, and Invalid with every field that is not as declared.
        """
        names = [given[name] for name in self.placeholders]
        known = self.site(settings) if self.site and settings else {}
        with writing() as session:
            self.may(session, viewer, *names[:1])
            asked: list[Any] = [] if self.record is None else [fields.read(self.record, said or {})]
            if self.count is None:
                return self._outcome(asked, self.act(session, viewer, *names, *asked, **known))
            self.count(session, viewer, *names, *asked)
        with writing() as session:
            return self._outcome(asked, self.act(session, viewer, *names, *asked, **known))

    def _outcome(self, asked: list[Any], result: Any) -> Outcome:
        record = asked[0] if asked else None
        done = self.done if isinstance(self.done, str) else self.done(record, result)
        return Outcome(done, result, record)

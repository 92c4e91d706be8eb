"""One declaration of what may be done: its form, its operation of the API and its command are made of it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from sqlalchemy.orm import Session

from leaderboard import fields
from leaderboard.services import policy
from leaderboard.services.accounts.tokens import Scope
from leaderboard.services.policy import Viewer

PLACEHOLDER = re.compile(r"<(?:\w+:)?(\w+)>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something an account may do, on every surface alike."""

    name: str
    """Of the operation in the API; the command's last word, where `command` says no other."""
    summary: str
    """What it does, in a few words without a full stop."""
    more: str = ""
    method: str
    path: str
    """Its address below /api/v1. Its placeholders are what `act` takes first, in order."""
    form: str
    """The address that the form is sent to."""
    page: str
    """The endpoint of the page that has the form."""
    act: Callable[..., Any]
    """`act(session, viewer, *placeholders, record)`, without a record where none is asked for."""
    done: Callable[[Any, Any], str]
    """What was done, in a few words, of the record and of what `act` returned."""
    record: type | None = None
    """What is asked for: a record of declared fields."""
    scope: Scope = Scope.ORGANISE
    status: int = 200
    may: Callable[..., object] = policy.own_task
    """`may(session, viewer, first placeholder)`: raises unless the viewer may; before anything is read."""
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
        return tuple(PLACEHOLDER.findall(self.path))

    def do(
        self,
        session: Session,
        viewer: Viewer,
        given: Mapping[str, Any],
        said: Mapping[str, Any] | None = None,
    ) -> str:
        """Do what is said, in texts or values, to what the placeholders name; what was done, in words.

        Raises as `act` does, and Invalid with every field that is not as declared.
        """
        names = [given[name] for name in self.placeholders]
        self.may(session, viewer, *names[:1])
        if self.record is None:
            return self.done(None, self.act(session, viewer, *names))
        record: Any = fields.read(self.record, said or {})
        return self.done(record, self.act(session, viewer, *names, record))

"""The operations of declared actions."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

from leaderboard import fields
from leaderboard.core.actions import FILE_NAME, Action, Received
from leaderboard.trec.read.bundles import base_name
from leaderboard.web.api import repeats
from leaderboard.web.api.operations import Done, Operation
from leaderboard.web.rules import PUBLIC, SIGNED_IN, Body, Rule
from leaderboard.web.session import SESSIONS, settings, token, viewer, wake

Answer = tuple[type, Callable[..., Any] | None]
"""Type of an answer, and what makes it of the result and the placeholders; None: what `Before` returned."""
Before = Callable[..., object]
"""Check of the token before anything else, given the placeholders; it may return what was there before."""
NONE: Mapping[str, Any] = MappingProxyType({})


def operations(
    actions: Iterable[Action], *, answers: Mapping[str, Answer] = NONE, before: Mapping[str, Before] = NONE
) -> tuple[Operation, ...]:
    """Each action that has an address here as an operation.

    answers: action's name -> its answer, where it says more than what was done; before: what it requires.
    """
    return tuple(
        _operation(action, answers.get(action.name), before.get(action.name))
        for action in actions
        if action.path
    )


def _key() -> str | None:
    """The request's key, made the token's own."""
    given, asking = repeats.given_key(), token()
    return f"api:{asking.token_id if asking else 0}:{given}" if given else None


def _operation(action: Action, answer: Answer | None, before: Before | None) -> Operation:
    def act(body: Any = None, query: Any = None, file: Path | None = None, **placeholders: Any) -> Any:
        asker, values = viewer(), asdict(body or query) if action.record else {}
        checked = before(**placeholders) if before is not None else None
        files, key = {}, _key() if action.file else None
        if action.file is not None and file is not None:
            files[action.file.field] = Received(file, base_name(values.get(FILE_NAME, "")))
        outcome = action.do(SESSIONS, asker, placeholders, values, settings(), files, key)
        wake()
        if answer is None:
            return Done(done=outcome.done)
        return answer[1](outcome.result, **placeholders) if answer[1] else checked

    # A file is the body, and a request that deletes has none.
    is_query = action.is_query or action.file is not None or action.method == "DELETE"
    return Operation(
        method=action.method,
        path=action.path,
        name=action.name,
        summary=action.summary,
        description=action.more,
        rule=Rule(
            PUBLIC if action.is_public else SIGNED_IN, Body[action.file.body] if action.file else Body.SMALL
        ),
        scopes=action.scopes,
        answer=answer[0] if answer else Done,
        query=fields.as_sent(action.record) if action.record and is_query else None,
        body=fields.as_sent(action.record) if action.record and not is_query else None,
        status=action.status,
        headers=(),
        act=act,
    )

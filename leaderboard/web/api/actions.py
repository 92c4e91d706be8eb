"""The operations of declared actions."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from leaderboard import fields
from leaderboard.services.actions import Action
from leaderboard.web.api.operations import Operation
from leaderboard.web.api.organise.answers import Done
from leaderboard.web.rules import SIGNED_IN, Rule
from leaderboard.web.session import viewer, wake, writing


def operations(actions: Iterable[Action]) -> tuple[Operation, ...]:
    """Each action as an operation that answers what was done."""
    return tuple(map(_operation, actions))


def _operation(action: Action) -> Operation:
    def act(body: Any = None, **placeholders: Any) -> Done:
        asker = viewer()
        with writing() as session:
            done = action.do(session, asker, placeholders, asdict(body) if action.record else None)
        wake()
        return Done(done=done)

    return Operation(
        method=action.method,
        path=action.path,
        name=action.name,
        summary=action.summary,
        description=action.more,
        rule=Rule(SIGNED_IN),
        scopes=(action.scope,),
        answer=Done,
        query=None,
        body=fields.as_sent(action.record) if action.record else None,
        status=action.status,
        headers=(),
        act=act,
    )

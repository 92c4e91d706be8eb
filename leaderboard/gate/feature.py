"""Registers the gate: a command."""

from typing import Any

from leaderboard.core.feature import Feature


def _command(name: str) -> Any:
    if name != "gate":
        raise LookupError(name)
    from leaderboard.gate.cli.gate import gate

    return gate


FEATURE = Feature("gate", commands=("gate",), command=_command)

"""What a command stores it stores by a declared action, or it is one of few that have no other surface."""

import ast
from pathlib import Path

from tests import ROOT

ONE = "no form and no operation does the same"
WRITES = {
    "core/cli/actions.py": "the transaction of all actions of a command",
    "tasks/cli/accounts.py": ONE,
    "tasks/cli/settings.py": "a draft made by command goes to the only organiser's account",
    "tasks/cli/tasks.py": "a task made by command goes to the only organiser's account",
    "suites/cli.py": "the team of the runs is created",
    "signatures/cli.py": ONE,
    "cli/serving/first.py": ONE,
    "cli/serving/serve.py": ONE,
    "bundles/cli/imports.py": "only an operator imports a dataset, dates, publication and pseudonyms",
    "runs/cli.py": "each of many files is checked in place, whatever its size, and a team is created",
}
"""Module of commands -> why it opens a transaction of its own."""


def test_commands_write_by_actions() -> None:
    """A list that can only shrink: one that needs no transaction of its own any more has to go."""
    program = ROOT / "leaderboard"
    modules = [
        path for path in program.rglob("*.py") if "cli" in path.relative_to(program).with_suffix("").parts
    ]
    assert {str(path.relative_to(program)) for path in modules if _opens_transactions(path)} == set(WRITES)


def _opens_transactions(path: Path) -> bool:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    calls = [node.func for node in nodes if isinstance(node, ast.Call) and not node.args]
    return any(isinstance(call, ast.Attribute) and call.attr in {"write", "writing"} for call in calls)

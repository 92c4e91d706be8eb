"""The configuration in docs/agents.md starts a server that exists, and the table names its tools."""

import json
import re
from pathlib import Path

import pytest
from leaderboard_submit import Client
from leaderboard_submit.cli import main

DOCUMENT = (Path(__file__).parents[3] / "docs" / "agents.md").read_text(encoding="utf-8")


def test_the_configuration_starts_a_command_that_there_is() -> None:
    """It is JSON, and ends in a subcommand of the client."""
    (block,) = re.findall(r"```json\n(.*?)```", DOCUMENT, re.DOTALL)
    server = json.loads(block)["mcpServers"]["leaderboard"]
    assert server["command"] == "leaderboard-submit"
    assert server["args"][0] in {option for each in main.params for option in each.opts}
    assert server["args"][-1] in main.commands


def test_the_table_names_every_tool() -> None:
    """No tool is missing, none is made up."""
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from leaderboard_submit.mcp_server import server

    names = {tool.name for tool in server(Client("http://localhost"))._tool_manager.list_tools()}
    rows = re.findall(r"^\| (`.*?) \|", DOCUMENT, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == names

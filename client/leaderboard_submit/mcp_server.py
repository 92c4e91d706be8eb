"""A Model Context Protocol server over standard input and output: the client's verbs as tools for agents.

The protocol is the official SDK's (extra `mcp`, Python 3.10 or newer). What an agent may do is decided by its
token; what the site refuses comes back as the API's problem, with rule and remedy.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from leaderboard_submit import __version__
from leaderboard_submit.client import Client, Json
from leaderboard_submit.errors import ClientError

Answer = TypeVar("Answer")
READS = ToolAnnotations(read_only_hint=True, idempotent_hint=True)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True)
TAKES_AWAY = ToolAnnotations(read_only_hint=False, destructive_hint=True)
AGENT = "agent"
"""The kind of token that is asked for."""
MOST_ROWS = 200
"""Rows of a list in one answer: more would fill the agent's context."""
INSTRUCTIONS = """Take part in shared tasks of information retrieval on this leaderboard.

A usual course: sign_in where there is no token, list_tasks, describe_task, list_topics, write a run file
(one line per document: topic Q0 docno rank score tag), check_run until it is accepted,
remaining_submissions, submit_run, then show_run and show_board. Checking is free; submitting counts
against the team's limits. The run says that an agent submitted it.
Scores that a task holds back are not shown."""


def server(client: Client, keep: Callable[[str], None] = lambda token: None) -> MCPServer:
    """The tools of a site, for an agent that acts by the client's token; keep: keeps one from sign_in."""
    made = MCPServer("leaderboard", version=__version__, instructions=INSTRUCTIONS)
    _of_sign_in(made, client, keep)
    for tools in (_of_tasks, _of_runs, _of_results):
        tools(made, client)
    return made


def _of_sign_in(made: MCPServer, client: Client, keep: Callable[[str], None]) -> None:
    begun: Json = {}

    @made.tool(annotations=ADDS)
    def sign_in() -> Json:
        """Ask for a token, needed if a tool says so.

        Show the person address and code; call this again once they have approved it there in a browser.
        """
        state = "waiting"
        if not begun:
            label = f"an agent on {platform.node() or 'a machine'}"
            begun.update(_answer(client.begin_login, label, kind=AGENT))
        else:
            said = _answer(client.ask, "POST", "/device/token", {"device_code": begun["device_code"]})
            if said["state"] not in ("authorization_pending", "slow_down"):
                begun.clear()
                state = str(said["state"])
            if state == "done":
                client.use(said["token"])
                keep(said["token"])
        where = {"address": begun["address"], "code": begun["user_code"]} if begun else {}
        return {"state": state, **where}


def _of_tasks(made: MCPServer, client: Client) -> None:
    @made.tool(annotations=READS)
    def list_tasks() -> list[Json]:
        """List the tasks of the site with their state and deadline."""
        return _answer(client.tasks)

    @made.tool(annotations=READS)
    def describe_task(task: str) -> Json:
        """Show the rules, measures, phases, limits, visibility and ranking depth of a task."""
        return _answer(client.task, task)

    @made.tool(annotations=READS)
    def list_topics(task: str, start: int = 0) -> list[Json]:
        """List the topics of a task with their texts, at most 200 at a time from `start` on."""
        return _rows(client, f"/tasks/{task}/topics", start)

    @made.tool(annotations=READS)
    def remaining_submissions(task: str, team: str = "", phase: str = "") -> Json:
        """Show how many runs the team may still submit, today and in total, and the limit that applies."""
        return _answer(client.quota, task, team or None, phase)

    @made.tool(annotations=READS)
    def who_am_i() -> Json:
        """Show the account of the token, its teams, and the token's scopes."""
        return _answer(client.account)


def _of_runs(made: MCPServer, client: Client) -> None:
    @made.tool(annotations=READS)
    def check_run(task: str, path: str, phase: str = "") -> Json:
        """Check a run file as submit_run would, without submitting it. Problems have line and remedy."""
        verdict = _answer(client.check, task, Path(path), phase=phase)
        return {name: getattr(verdict, name) for name in ("accepted", "problems", "warnings", "fixes")}

    @made.tool(annotations=ADDS)
    def submit_run(
        task: str, path: str, name: str = "", team: str = "", phase: str = "", description: str = ""
    ) -> Json:
        """Submit a run file and wait for its scores. It counts towards the team's limits.

        The run is marked as submitted by an agent, for good. describe_task says of each phase how many runs
        agents may submit a day (agent_runs_per_day), and whether they wait for an organiser (agent_review):
        then the state is held, and there are no run_id and scores until an organiser has accepted the run.
        The same file under the same name is submitted once, however often this is called.
        """
        done = _answer(
            client.submit,
            task,
            Path(path),
            name=name or None,
            team=team or None,
            phase=phase,
            description=description,
        )
        fields = (
            "run_id",
            "name",
            "team",
            "state",
            "rank",
            "scores",
            "warnings",
            "left_today",
            "left_in_all",
            "url",
        )
        return {field: getattr(done, field) for field in fields}

    @made.tool(annotations=TAKES_AWAY)
    def withdraw_run(run_id: int, why: str) -> Json:
        """Withdraw one of the team's runs; the submission still counts towards the limits."""
        return _answer(client.withdraw, run_id, why)

    @made.tool(annotations=READS)
    def my_runs(task: str) -> list[Json]:
        """List the runs of your teams in a task, with state, rank and visible scores."""
        return _rows(client, f"/tasks/{task}/runs", 0, own="true")


def _of_results(made: MCPServer, client: Client) -> None:
    @made.tool(annotations=READS)
    def show_board(task: str, measure: str = "", phase: str = "") -> Json:
        """Show the leaderboard of a task: ranks, scores, rank ranges at 95% confidence, who may be best."""
        board = _answer(client.board, task, measure=measure or None, phase=phase or None)
        return {**board, "rows": board.get("rows", [])[:MOST_ROWS]}

    @made.tool(annotations=READS)
    def show_run(run_id: int) -> Json:
        """Show a run with its state, rank and scores."""
        return _answer(client.run, run_id)

    @made.tool(annotations=READS)
    def explain_run(run_id: int, measure: str = "", start: int = 0) -> list[Json]:
        """Show the scores of a run by topic, to see where it loses; at most 200 from `start` on."""
        return _rows(client, f"/runs/{run_id}/topics", start, measure=measure or None)

    @made.tool(annotations=READS)
    def show_ranking(run_id: int, topic: str, start: int = 0) -> list[Json]:
        """Show the documents that a run ranked for a topic, with visible grades."""
        return _rows(client, f"/runs/{run_id}/topics/{topic}", start, titles="true")

    @made.tool(annotations=READS)
    def compare_runs(task: str, first: int, second: int, measure: str = "") -> Json:
        """Compare two runs: the difference with its 95% interval, significance tests, and both by topic."""
        query = {"first": first, "second": second, "measure": measure or None}
        return dict(_answer(client.ask, "GET", f"/tasks/{task}/pair", query=query))


def _answer(operation: Callable[..., Answer], *values: Any, **named: Any) -> Answer:
    """The answer to an operation; the site's problem becomes an error that the agent can act on."""
    try:
        return operation(*values, **named)
    except ClientError as error:
        problem = {"error": error.message, "remedy": error.remedy, "problems": error.problems[:20]}
        raise ToolError(json.dumps({key: value for key, value in problem.items() if value})) from error


def _rows(client: Client, path: str, start: int, **query: Any) -> list[Json]:
    return _answer(lambda: list(islice(client.rows(path, **query), start, start + MOST_ROWS)))

"""A check gives the verdict that submitting gives: by form, API, client, command and an agent's tool."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from leaderboard_submit import Client, ClientError

from tests.web.api.conftest import Programs
from tests.web.client.conftest import Command
from tests.web.client.test_season import TASK, TOPICS, _ask, _made, _moment
from tests.web.conftest import Site

pytestmark = pytest.mark.trial
LARGEST = 4_000
DEEP, SHALLOW, LARGE = (
    "".join(f"{topic} Q0 d{topic}-{n} {n} {-n} tag\n" for topic in TOPICS for n in range(1, depth))
    for depth in (13, 4, 100)
)


@pytest.fixture
def phases(site: Site, program: Programs) -> None:
    """Two phases that take runs: one is blind and takes deep runs, the other open and takes any."""
    olga = program("Olga", "read", "organise")
    _made(olga)
    _ask(olga, "POST", f"{TASK}/phases", {"name": "open", "closes_at": _moment(5), "visibility": "open"})
    blind = {"name": "main", "visibility": "blind", "closes_at": _moment(5), "largest_bytes": LARGEST}
    _ask(olga, "PUT", f"{TASK}/phases/main", {"phase": blind, "reason": "A later close."})


@contextmanager
def _said(found: list[str]) -> Iterator[None]:
    """Note the rule that refuses, and that nothing does."""
    try:
        yield
        found.append("")
    except ClientError as error:
        found.append(error.problems[0]["rule"] if error.problems else error.message)


def _by_agent(client: Client, path: Path, phase: str) -> str:
    mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from leaderboard_submit.mcp_server import server

    async def asked() -> Any:
        async with mcp.Client(server(client)) as agent:
            return await agent.call_tool("check_run", {"task": "track", "path": str(path), "phase": phase})

    # A browser that this process started before has an event loop in its main thread.
    with ThreadPoolExecutor(1) as other:
        answer = other.submit(lambda: asyncio.run(asked())).result()
    if answer.is_error:
        return str(answer.content[0].text)
    return "".join(problem["rule"] for problem in answer.structured_content["problems"])


@pytest.mark.parametrize(
    ("text", "phase", "rule"),
    [
        (DEEP, "main", ""),
        (SHALLOW, "main", "lists fewer than 10 documents for most topics"),
        (SHALLOW, "open", ""),
        (LARGE, "main", "at most 4,000"),
        (LARGE, "open", ""),
        (DEEP, "", "Several phases of Track are open now"),
        (DEEP, "nothing", "has no phase 'nothing'"),
    ],
)
def test_a_check_says_what_submitting_says(
    text: str, phase: str, rule: str, site: Site, phases: None, client: Client, command: Command
) -> None:
    """Whether the run is deep or large enough for the phase it is for, and which phase that is."""
    path, found = command.file("one.run", text), list[str]()
    with _said(found):
        client.submit("track", path, phase=phase, wait=False)
    with _said(found):
        verdict = client.check("track", path, phase=phase)
        assert verdict.accepted == (not verdict.problems)
    if found[-1] == "" and verdict.problems:
        found[-1] = verdict.problems[0]["rule"]
    form = {"file": (path.open("rb"), path.name), "phase": phase}
    found.append(site.browser("Berta").post("/tasks/track/check", data=form).text)
    options = ("--phase", phase) if phase else ()
    printed = command("check", "track", path, *options)
    found += [printed.output, _by_agent(client, path, phase)]
    if rule:
        assert [rule in said.replace("&#39;", "'") for said in found] == [True] * 5, found
        assert printed.exit_code != 0
    else:
        assert [found[0], found[1], found[4]] == [""] * 3
        assert "would be accepted" in found[2]
        assert printed.exit_code == 0, printed.output


def test_the_form_to_check_names_the_phases(site: Site, phases: None, clients: Callable[..., Client]) -> None:
    """Where several take runs, one is chosen, as in the form that submits."""
    page = site.browser("Berta").get("/tasks/track/check").text
    assert "<option>main</option>" in page
    assert "<option selected>open</option>" in page
    assert "This task is blind" in page

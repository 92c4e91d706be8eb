"""An agent that has nothing but the tools: it finds a blind task, submits a run and reads its score."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from leaderboard_submit import Client, NotAllowed
from sqlalchemy import update

from leaderboard.db.tables import Phase
from tests.make import build, pages, worlds
from tests.web.api.conftest import Programs
from tests.web.client.test_season import _made
from tests.web.conftest import Site

mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")


def _run(made: Coroutine[Any, Any, Any]) -> Any:
    # A browser that this process started before has an event loop in its main thread.
    with ThreadPoolExecutor(1) as other:
        return other.submit(asyncio.run, made).result()


async def _call(agent: Any, tool: str, **arguments: Any) -> Any:
    answer = await agent.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    content = answer.structured_content
    return content["result"] if set(content) == {"result"} else content


async def _takes_part(client: Client, folder: Path) -> dict[str, Any]:
    """From finding the task to reading the score, by tools alone."""
    from leaderboard_submit.mcp_server import server

    async with mcp.Client(server(client)) as agent:
        tools = {tool.name: tool for tool in (await agent.list_tools()).tools}
        task = next(row["task"] for row in await _call(agent, "list_tasks") if row["name"] == "Track")
        rules = await _call(agent, "describe_task", task=task)
        topics = [row["topic"] for row in await _call(agent, "list_topics", task=task)]
        bad, good = folder / "bad.run", folder / "good.run"
        bad.write_text("1 Q0 d1 1 high agent\n")
        lines = (f"{topic} Q0 d{topic}-{n} {n} {-n} agent\n" for topic in topics for n in range(1, 13))
        good.write_text("".join(lines))
        refused = await _call(agent, "check_run", task=task, path=str(bad))
        checked = await _call(agent, "check_run", task=task, path=str(good))
        left = await _call(agent, "remaining_submissions", task=task)
        run = await _call(agent, "submit_run", task=task, path=str(good))
        again = await _call(agent, "submit_run", task=task, path=str(good))
        return {
            "tools": tools,
            "rules": rules,
            "refused": refused,
            "checked": checked,
            "left": left,
            "run": run,
            "again": again,
            "shown": await _call(agent, "show_run", run_id=run["run_id"]),
            "board": await _call(agent, "show_board", task=task),
            "by_topic": await agent.call_tool("explain_run", {"run_id": run["run_id"]}),
            "unknown": await agent.call_tool("describe_task", {"task": "nothing"}),
        }


@pytest.mark.trial
def test_an_agent_takes_part_in_a_blind_task(
    site: Site, program: Programs, client: Client, tmp_path: Path
) -> None:
    """It gets a score over the public topics, and neither scores by topic nor those of hidden topics."""
    _made(program("Olga", "read", "organise"))
    seen = _run(_takes_part(client, tmp_path))
    assert seen["rules"]["visibility"] == "open" or seen["rules"]["phases"][0]["visibility"] == "blind"
    assert not seen["refused"]["accepted"]
    assert seen["refused"]["problems"][0]["line"] == 1
    assert seen["checked"]["accepted"]
    assert seen["left"]["left_in_all"] == 3
    assert seen["run"]["state"] == "done"
    assert seen["again"]["run_id"] == seen["run"]["run_id"]
    assert seen["shown"]["rank"] == 1
    assert [row["run"] for row in seen["board"]["rows"]] == [seen["run"]["name"]]
    assert seen["by_topic"].is_error
    assert "remedy" in json.dumps([part.text for part in seen["unknown"].content])


@pytest.mark.trial
def test_tools_say_what_they_change(client: Client, clients: Callable[..., Client], address: str) -> None:
    """Reading, adding and taking away are told apart; without a token nothing is submitted."""

    async def tools(client: Client) -> tuple[dict[str, Any], Any]:
        from leaderboard_submit.mcp_server import server

        async with mcp.Client(server(client)) as agent:
            listed = {tool.name: tool.annotations for tool in (await agent.list_tools()).tools}
            refused = await agent.call_tool("submit_run", {"task": "robots", "path": __file__})
        return listed, refused

    listed, refused = _run(tools(clients(address)))
    changing = {name for name, hints in listed.items() if not hints.read_only_hint}
    assert changing == {"sign_in", "submit_run", "withdraw_run"}
    assert listed["withdraw_run"].destructive_hint
    assert not listed["submit_run"].destructive_hint
    assert refused.is_error
    assert len(listed) >= 12


def _approve(site: Site, code: str) -> None:
    """What a person does who is shown the code: the page says that an agent asks."""
    browser = site.browser("Berta")
    page = browser.post("/device", data={"code": code})
    assert "It is an agent" in page.text
    form = {**pages.form(page, "/device/answer"), "answer": "approve", "scopes": ["read", "submit"]}
    assert browser.post("/device/answer", data=form).status_code == 200


async def _signs_in_and_submits(site: Site, client: Client, folder: Path, kept: list[str]) -> dict[str, Any]:
    from leaderboard_submit.mcp_server import server

    run = folder / "agent.run"
    run.write_text(worlds.RUN.replace(" tag\n", " agent\n"))
    async with mcp.Client(server(client, kept.append)) as agent:
        asked = await _call(agent, "sign_in")
        waiting = await _call(agent, "sign_in")
        _approve(site, asked["code"])
        done = await _call(agent, "sign_in")
        return {
            "states": [asked["state"], waiting["state"], done["state"]],
            "kind": (await _call(agent, "who_am_i"))["kind"],
            "phases": (await _call(agent, "describe_task", task="robots"))["phases"],
            "run": await _call(agent, "submit_run", task="robots", path=str(run)),
        }


@pytest.mark.trial
def test_an_agent_signs_in_and_its_run_is_held_until_an_organiser_accepts_it(
    site: Site, program: Programs, clients: Callable[..., Client], address: str, tmp_path: Path
) -> None:
    """It asks for an agent's token by itself; the run waits; then it is marked and scored."""
    with site.database.write() as session:
        session.execute(update(Phase).values(agent_review=True, agent_runs_per_day=1))
    kept: list[str] = []
    seen = _run(_signs_in_and_submits(site, clients(address), tmp_path, kept))
    assert seen["states"] == ["waiting", "waiting", "done"]
    assert (seen["kind"], kept[0][:4]) == ("agent", "lb_a")
    assert {(phase["agent_review"], phase["agent_runs_per_day"]) for phase in seen["phases"]} == {(True, 1)}
    run = seen["run"]
    assert (run["state"], run["run_id"], run["left_today"], run["scores"]) == ("held", None, 0, {})
    upload = int(run["url"].rsplit("/", 1)[1])
    with pytest.raises(NotAllowed):
        clients(address, kept[0]).ask("POST", f"/uploads/{upload}/review", {"accept": True})
    organiser = program("Olga", "read", "organise")
    answer = organiser.ask("POST", f"/uploads/{upload}/review", json={"accept": True})
    assert (answer.status_code, answer.json["state"]) == (200, "received")
    build.drain(site.database)
    run_id = organiser.ask("GET", f"/uploads/{upload}").json["run_id"]
    assert organiser.ask("GET", f"/runs/{run_id}").json["agent"] is True
    assert organiser.ask("GET", f"/runs/{run_id}/origin").json["agent"] is True
    assert organiser.ask("GET", f"/runs/{site.world.run}").json["agent"] is False
    assert "Submitted by an agent" in site.browser("Berta").get(f"/runs/{run_id}").text


@pytest.mark.trial
def test_an_organiser_reviews_held_runs_on_the_organise_page(
    site: Site, program: Programs, clients: Callable[..., Client], address: str
) -> None:
    """They stand first, with two buttons; a rejected one names the reason to its team."""
    with site.database.write() as session:
        session.execute(update(Phase).values(agent_review=True))
    agent = clients(address, program("Berta", kind="agent").secret)
    held = [agent.submit("robots", worlds.RUN.encode(), name=name) for name in ("one", "two")]
    olga, there = site.browser("Olga"), "/tasks/robots/organise"
    page = olga.get(there)
    assert "2 runs by agents to review" in page.text
    first, second = (f"{made.url.removeprefix(address)}/review" for made in held)
    rejected = olga.post(first, data={**pages.form(page, first), "why": "A copy."})
    accepted = olga.post(second, data={**pages.form(page, second), "accept": "on"})
    assert [answer.headers["Location"] for answer in (rejected, accepted)] == [there, there]
    build.drain(site.database)
    assert "by agents to review" not in olga.get(there).text
    said = site.browser("Berta").get(first.removesuffix("/review")).text
    assert "Rejected by the organisers after review: A copy." in said
    assert agent.run(int(agent.ask("GET", second.removesuffix("/review"))["run_id"]))["state"] == "done"

"""A judge's own nuggets: sent by form, API and client, and shown beside those of the judgments."""

import tarfile
from datetime import timedelta
from pathlib import Path

import pytest
from leaderboard_submit import Client, precheck
from sqlalchemy import select, update

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import now
from leaderboard.db.tables import Phase, Run, Task
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.tasks.ops import roles
from tests.judges import make as judging
from tests.make import answers, build, pages
from tests.make.servers import HOST, served
from tests.trec.nuggets.argued import answers as answering
from tests.trec.nuggets.argued import argued, sentence
from tests.web.api.conftest import Programs, program
from tests.web.conftest import Site
from tests.web.test_crawl import faults, tree

__all__ = ["program"]
SUBMIT = "/tasks/judged/submit"


@pytest.fixture
def heard(site: Site, tmp_path: Path) -> Site:
    """Olga's task of judges whose reference is the board of a task of answers."""
    judging.answered_task(site.database, tmp_path)
    judging.task(site.database, tmp_path, topics=("1", "2"))
    judging.refer_to(site.database, "said", measure="NuggetRecall(set=all)")
    with site.database.write() as session:
        for slug in ("judged", "said"):
            roles.give(session, OPERATOR, slug, "Olga", "organiser")
    build.drain(site.database)
    return site


def judge(site: Site, path: Path, name: str = "oak") -> str:
    """The address of the labels of a judge that sent this file."""
    made = build.submit(site.database, path, "judged", team_name="Owls", run_request=RunRequest(name))
    assert made.run_id is not None, made.report
    build.drain(site.database)
    return f"/tasks/judged/judges/{made.run_id}/labels"


def test_an_archive_is_one_run_by_the_form_and_comes_back_as_sent(heard: Site, tmp_path: Path) -> None:
    """No batch of its files: the run's page, and the file byte for byte."""
    berta, path = heard.browser("Berta"), judging.archive(tmp_path, **judging.own_parts())
    with path.open("rb") as file:
        fields = pages.form(berta.get(SUBMIT), SUBMIT)
        sent = berta.post(SUBMIT, data={**fields, "name": "oak", "file": (file, path.name)})
    assert sent.status_code == 303
    with heard.database.read() as session:
        of_judges = select(Run.id).join(Task).where(Task.slug == "judged")
        (run_id,) = session.scalars(of_judges)
    assert sent.location == f"/runs/{run_id}"
    kept = berta.get(f"/runs/{run_id}/file")
    assert kept.data == path.read_bytes()
    assert kept.headers["Content-Disposition"].endswith(".zip")


def test_an_archive_goes_by_the_api_checked_first(heard: Site, program: Programs, tmp_path: Path) -> None:
    """What is wrong in one of its files is said with that file's name, by the check and by sending alike."""
    berta = program("Berta")
    parts = judging.own_parts()
    address = f"/tasks/judged/runs/oak?team={heard.world.owls}&file_name=oak.zip"
    good = judging.archive(tmp_path, **parts).read_bytes()
    parts["support"][1]["sentences"][0]["citations"][0]["support"] = "7"
    bad = judging.archive(tmp_path, "bad", **parts).read_bytes()
    for method, path in (("POST", "/tasks/judged/check"), ("PUT", address)):
        answer = berta.ask(method, path, data=bad)
        (problem,) = answer.get_json()["problems"]
        assert problem["rule"].startswith("In support.jsonl: A support label is 2")
        assert (problem["line"], problem["value"]) == (2, "7")
        assert problem["remedy"]
    assert berta.ask("POST", "/tasks/judged/check", data=good).get_json()["state"] == "accepted"
    assert berta.ask("PUT", address, data=good).status_code == 201


@pytest.mark.trial
@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_an_archive_goes_by_the_client(heard: Site, program: Programs, tmp_path: Path, mode: str) -> None:
    """A tar as well, which is no run to look through; the run is called as the file without its endings."""
    path = tmp_path / "oak.tar.gz"
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for part, lines in judging.own_parts().items():
            name = f"{part}.jsonl"
            archive.add(answers.jsonl(tmp_path / name, lines), name)
    assert precheck.problems(path) == []
    with served(heard.app, heard.settings) as running:
        client = Client(f"http://{HOST}:{running.port}", program("Berta").secret)
        made = client.submit("judged", path, wait=False)
    with heard.database.read() as session:
        assert session.get_one(Run, made.run_id).name == "oak"


@pytest.mark.trial
def test_both_sets_of_nuggets_stand_by_topic(heard: Site, tmp_path: Path) -> None:
    """People have v1, v2 and o1, the judge sky and o1: one in the same words, over which labels agree."""
    address = judge(heard, judging.archive(tmp_path, **judging.own_parts()))
    olga = heard.browser("Olga")
    found = olga.get(f"{address}.json").get_json()
    counts = {"judgments": 3, "judgments_vital": 2, "judge": 2, "judge_vital": 1}
    sides = {"same": 1, "judgments_only": 2, "judge_only": 1}
    assert found["nuggets"] == [{"topic": topic, **counts, **sides} for topic in ("1", "2")]
    assert found["nugget_words"][:4] == [
        {"topic": "1", "nugget": "v1", "judgments": "vital", "judge": None},
        {"topic": "1", "nugget": "v2", "judgments": "vital", "judge": None},
        {"topic": "1", "nugget": "o1", "judgments": "okay", "judge": "okay"},
        {"topic": "1", "nugget": "sky", "judgments": None, "judge": "vital"},
    ]
    assert (found["labelled"], found["overall"]["documents"]) == ("nugget", 6)
    lines = olga.get(f"{address}.csv?table=nuggets").text.splitlines()
    assert lines[1:] == ["1,3,2,2,1,1,2,1", "2,3,2,2,1,1,2,1"]
    assert len(olga.get(f"{address}.csv?table=nugget-words").text.splitlines()) == 9
    page = olga.get(address)
    assert list(faults(tree(page.text))) == []
    rows = pages.table(page, "Nuggets of the judgments and of oak")
    assert rows == [["1", "3", "2", "2", "1", "1", "2", "1"], ["2", "3", "2", "2", "1", "1", "2", "1"]]
    fold = tree(page.text).xpath("//details[summary='Text of every nugget']")
    assert len(fold) == 1
    assert not fold[0].get("open")


def test_each_kind_of_labels_has_its_page(heard: Site, tmp_path: Path) -> None:
    """Those that the board is made of first; the others by their name, in links that keep it."""
    address = judge(heard, judging.archive(tmp_path, **judging.own_parts()))
    olga = heard.browser("Olga")
    support = olga.get(f"{address}.json?part=support").get_json()
    assert (support["labelled"], support["overall"]["documents"]) == ("citation", 18)
    assert support["nuggets"] == []
    page = tree(olga.get(f"{address}?part=support").text)
    assert list(faults(page)) == []
    links = [str(link) for link in page.xpath("//main//a/@href") if "/labels/" in str(link)]
    assert links
    assert all("part=support" in link for link in links)
    assert olga.get(f"{address}/1.json?part=support").get_json()["labelled"] == "citation"
    refused = olga.get(f"{address}?part=argue")
    assert refused.status_code == 422
    assert "?part= must be one of assignments, support" in refused.text


def test_labels_by_which_runs_are_scored_come_first(heard: Site, tmp_path: Path) -> None:
    """Under a reference by support the page is of citations, unless nuggets are asked for."""
    judging.refer_to(heard.database, "said", measure="SupportP")
    address = judge(heard, judging.archive(tmp_path, **judging.own_parts()))
    olga = heard.browser("Olga")
    labelled = [olga.get(f"{address}.json{of}").get_json()["labelled"] for of in ("", "?part=assignments")]
    assert labelled == ["citation", "nugget"]


def test_what_auto_argue_finds_is_compared_where_it_has_nuggets(heard: Site, tmp_path: Path) -> None:
    """Its answers to questions that people have too are labels of these; without nuggets there are none."""
    words = dict(judging.IMPORTANCE)
    bank = [
        {"query_id": topic, "nugget_bank": [{"question": one, "importance": words[one]} for one in words]}
        for topic in ("1", "2")
    ]
    lines = [
        argued(topic, sentence("A.", "d1", answering("v1", "yes")), run=run)
        for run in judging.HELD
        for topic in ("1", "2")
    ]
    address = judge(heard, judging.archive(tmp_path, nuggets=bank, argue=lines))
    found = heard.browser("Olga").get(f"{address}.json").get_json()
    assert (found["overall"]["documents"], found["nuggets"][0]["same"]) == (18, 3)
    assert found["overall"]["confusion"]["counts"] == [[7, 0, 0], [2, 0, 2], [3, 0, 4]]


@pytest.fixture
def closed(heard: Site, tmp_path: Path) -> str:
    """The labels of a judge with nuggets of its own, once its task is over."""
    address = judge(heard, judging.archive(tmp_path, **judging.own_parts()))
    with heard.database.write() as session:
        of_task = select(Task.id).where(Task.slug == "judged").scalar_subquery()
        over = now(session) - timedelta(days=1)
        session.execute(update(Phase).where(Phase.task_id == of_task).values(closes_at=over))
    return address


FILES = ("", ".json", ".csv?table=nuggets", ".csv?table=nugget-words", "?part=support")


@pytest.mark.parametrize("rest", FILES)
def test_nuggets_are_shown_to_who_sees_those_of_the_judgments(heard: Site, closed: str, rest: str) -> None:
    """As labels are: not where the task that they are from holds its judgments back."""
    visitor = heard.browser()
    assert visitor.get(f"{closed}{rest}").status_code == 200
    with heard.database.write() as session:
        session.execute(update(Task).where(Task.slug == "said").values(visibility="blind"))
    assert visitor.get(f"{closed}{rest}").status_code == 404


def test_only_nuggets_of_topics_that_are_shown_stand_there(heard: Site, closed: str) -> None:
    """Of both sides, in counts and in words."""
    judging.score_only(heard.database, "said", "1")
    found = heard.browser().get(f"{closed}.json").get_json()
    for what in ("topics", "nuggets", "nugget_words", "differences"):
        assert {row["topic"] for row in found[what]} == {"1"}

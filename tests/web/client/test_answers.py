"""Runs of answers by the client: looked through, sent as lines and as a zip, read with their judgments."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from leaderboard_submit import Client, precheck

from tests.make import answered, answers, build, nuggeted
from tests.web.client.conftest import Command
from tests.web.conftest import Site


@pytest.fixture
def task(site: Site, tmp_path: Path) -> Site:
    """The site with a task of answers."""
    answered.task(site.database, tmp_path, "said")
    return site


def test_lines_and_a_zip_are_sent(task: Site, command: Command, client: Client, tmp_path: Path) -> None:
    """Each is a run of its file's name, and its answers are read."""
    run = answered.run_file(tmp_path, name="one")
    sent = command("submit", "said", run, answered.longeval_zip(tmp_path / "two.zip"), "--format", "json")
    assert sent.exit_code == 0, sent.output
    made = json.loads(sent.stdout)
    assert [row["run"] for row in made] == ["one", "two"]
    found = [client.answer(row["run_id"], "1") for row in made]
    assert found[0]["segments"] == found[1]["segments"]


def test_what_is_no_answer_is_not_sent(task: Site, command: Command) -> None:
    """The line is named; the site is not asked."""
    sent = command("submit", "said", command.file("bad.jsonl", '{"metadata": {}}\n\nnothing\n["a"]\n'))
    assert sent.exit_code == 1
    assert "Every line of answers must be one JSON object." in sent.stderr
    assert [one["line"] for one in precheck.problems(Path("bad.jsonl"))] == [3, 4]


def test_a_part_of_the_judgments_is_downloaded(
    task: Site, command: Command, clients: Callable[..., Client], tmp_path: Path
) -> None:
    """By its name; without one they come all."""
    build.submit(task.database, answered.run_file(tmp_path, name="one"), "said")
    files = nuggeted.files(
        tmp_path, assignments=nuggeted.worked_labels(), support=[answers.supported("1", [2], run="one")]
    )
    nuggeted.revise(task.database, files, slug="said")
    build.drain(task.database)
    counts = {
        part: len(command("qrels", "said", "--part", part).stdout.splitlines())
        for part in ("nuggets", "assignments", "support", "qrels")
    }
    assert counts == {"nuggets": 2, "assignments": 2, "support": 1, "qrels": 5}

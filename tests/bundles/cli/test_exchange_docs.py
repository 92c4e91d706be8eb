"""The commands of docs/exchange.md work as they are written there, one after the other."""

import gzip
import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from leaderboard.bundles.ops.describing import FILES, LEFT_OUT
from leaderboard.bundles.ops.records import FOLDER
from leaderboard.cli import main
from tests import ROOT
from tests.make import build

TEXT = (ROOT / "docs" / "exchange.md").read_text(encoding="utf-8")
RANKINGS = {"1": ["a", "c"], "2": ["d", "a"], "3": ["e", "f"]}


@pytest.mark.trial
def test_the_commands_work_as_written(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a task of that slug and a folder of that name; a site is mirrored that has this task alone."""
    monkeypatch.setenv("LEADERBOARD_DATA", str(data_folder))
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    topics, judged = build.topics_file(tmp_path), build.qrels_file(tmp_path)
    run = build.run_file(tmp_path, RANKINGS)
    (tmp_path / "track").mkdir()
    for path in (topics, judged):
        (tmp_path / "track" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "track" / "input.one.gz").write_bytes(gzip.compress(run.read_bytes()))
    lines = [
        f"leaderboard task create robust --name R --topics {topics} --qrels {judged}",
        f"leaderboard run add robust {run} --team Lab",
        *(line for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()),
    ]
    alone = tmp_path / "alone"
    for number, line in enumerate(lines):
        if number == 2:
            shutil.copytree(data_folder, alone)
        environ = {"LEADERBOARD_DATA": str(alone)} if line.startswith("leaderboard mirror") else {}
        done = runner.invoke(main, shlex.split(line)[1:], env=environ)
        assert done.exit_code == 0, f"{line}\n{done.output}"
    listed = runner.invoke(main, ["task", "list"]).stdout.splitlines()
    assert {line.split("\t")[0] for line in listed} == {
        "robust",
        "robust-named",
        "robust-again",
        "robust-copy",
        "track",
    }


def test_every_file_is_listed() -> None:
    """The table of the document names what the README of an export names."""
    named = {path.split("/")[0] + "/" if "/" in path else path for path in FILES} - {"bundle.json"}
    assert {path for path in named if f"`{path}`" not in TEXT} == set()
    assert f"`{FOLDER}/`" in TEXT
    assert all(what.split(",")[0].split(" ")[0] in TEXT for what in LEFT_OUT)

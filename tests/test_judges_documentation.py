"""The pages on judges show what the commands do: their files, commands, answers and tables."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.judges import CASES, line
from leaderboard.cli import main
from leaderboard.db.engine import Database
from leaderboard.trec.boards.board_files import ORDERS
from tests import ROOT
from tests.judges import make as judging
from tests.make.documents import blocks, commands

DOCUMENT = ROOT / "docs" / "judges.md"
ON_A_SITE = ROOT / "docs" / "judges-on-a-site.md"
MORE = {
    "elm.txt": "".join(
        f"{run} NUGGETS {topic} {value}\n"
        for run, values in {"A": (7, 5), "B": (7, 5), "C": (4, 6), "D": (5, 5), "E": (3, 3)}.items()
        for topic, value in zip(("t1", "t2"), values, strict=True)
    ),
    "runs.csv": "run,team,llm\nA,Trees,GPT-4o\nB,Trees,\nC,Birds,Llama 3\n",
    "judges.csv": "judge,team,llm\noak,Fish,gpt-5\n",
    "qrels.txt": "t1 0 d1 0\nt1 0 d2 1\nt1 0 d3 2\nt2 0 d1 3\n",
    "judged.txt": "t1 Q0 d1 0 .9 oak\nt1 Q0 d2 2 .6 oak\nt1 Q0 d3 2 .8 oak\nt2 Q0 d1 3.0 .9 oak\n",
}
"""Files that the document names and does not show."""


@pytest.fixture
def folder(tmp_path: Path, data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of the document, in the folder where its reader is, and a site with a task of judges."""
    database = Database(f"sqlite:///{data_folder}/leaderboard.sqlite3")
    judging.answered_task(database, tmp_path)
    judging.task(database, tmp_path, "judges", topics=("1", "2"))
    judging.refer_to(database, "said", "judges", "NuggetRecall(set=all)")
    database.dispose()
    monkeypatch.setenv("LEADERBOARD_DATA", str(data_folder))
    shown = re.findall(
        r"^`(\w+\.(?:txt|jsonl))`:\n\n```(?:text|json)\n(.*?)^```",
        "".join(document.read_text(encoding="utf-8") for document in (DOCUMENT, ON_A_SITE)),
        re.MULTILINE | re.DOTALL,
    )
    assert [name for name, _ in shown] == ["reference.txt", "oak.txt", "nuggets.jsonl", "assignments.jsonl"]
    for name, text in (*shown, *MORE.items()):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.trial
def test_its_commands_do_what_they_say(folder: Path) -> None:
    """All of them work, and the first prints what stands below it."""
    assert os.getcwd() == str(folder)
    said = []
    for typed in (*commands(DOCUMENT), *commands(ON_A_SITE)):
        name, *arguments = shlex.split(typed)
        if name == "tar":
            subprocess.run((name, *arguments), check=True)
            continue
        assert name == "leaderboard"
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, f"{typed}\n{result.output}"
        said.append(result.output)
    assert len(said) == 9
    assert "as oak (run 4)" in said[-1]
    assert said[0] in blocks(DOCUMENT, "text")


def test_its_orders_are_those_there_are() -> None:
    """The table of columns is that of the program."""
    rows = re.findall(r"^\| `(\w+)` \| ([a-zQ0 ]+) \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)
    named = {name: len(columns.split()) for name, columns in rows}
    assert named == {name: len(columns) for name, columns in ORDERS.items() if name != "jsonl"}


def test_its_table_has_the_cases_of_the_simulation() -> None:
    """In order; a small board comes out as a row of as many cells."""
    text = DOCUMENT.read_text(encoding="utf-8")
    rows = [
        tuple(row) for row in re.findall(r"^\| (\d+) \| (\d+) \| ([\d.]+) \| [\d.]+ \|", text, re.MULTILINE)
    ]
    assert rows == [(str(case.runs), str(case.topics), f"{case.bias:g}") for case in CASES]
    heads = next(row for row in text.splitlines() if row.startswith("| runs | topics | bias"))
    assert line(CASES[0], number=2, resamples=20).count("|") == heads.count("|")

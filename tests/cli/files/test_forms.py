"""A file that is no run or judgments is named with the same sentence by every command that reads one."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from leaderboard.cli import main

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
ROADS = {
    "check": (("check", "odd"), "a run"),
    "check, qrels": (("check", "run", "--qrels", "odd"), "judgments"),
    "evaluate": (("evaluate", "qrels", "odd"), "a run"),
    "evaluate, qrels": (("evaluate", "odd", "run"), "judgments"),
    "compare": (("compare", "qrels", "run", "odd"), "a run"),
    "compare, qrels": (("compare", "odd", "run", "run"), "judgments"),
    "pool": (("pool", "./odd", "--method", "depth", "--depth", "2"), "a run"),
}


@pytest.mark.parametrize("road", ROADS)
def test_every_command_names_the_form(road: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The form and the step that leads on, once."""
    monkeypatch.chdir(tmp_path)
    Path("odd").write_text(POINTER)
    Path("run").write_text("1 Q0 a 1 2 t\n")
    Path("qrels").write_text("1 0 a 1\n")
    arguments, wanted = ROADS[road]
    done = CliRunner().invoke(main, list(arguments))
    assert done.exit_code == 1, done.output
    sentence = f"This is a Git LFS pointer, which stands for the file, not {wanted}. Run `git lfs pull`"
    assert done.stderr.count(sentence) == 1

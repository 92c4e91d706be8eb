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


def test_check_counts_ids_that_begin_with_a_hash_in_dialect_9(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As evaluate does; in dialect 10 it says how many lines it skipped, of both files."""
    monkeypatch.chdir(tmp_path)
    Path("run").write_text("#a Q0 d 1 2 t\nb Q0 d 1 2 t\n")
    Path("qrels").write_text("#a 0 d 1\nb 0 d 1\n")
    nine = CliRunner().invoke(main, ["check", "run", "--qrels", "qrels", "--trec-eval", "9"])
    assert nine.stdout == "run: accepted\n  tag t, 2 entries, 2 topics, 1 to 1 documents a topic\n"
    ten = CliRunner().invoke(main, ["check", "run", "--qrels", "qrels"])
    assert ten.output.count("1 line that begins with # was skipped as comments.") == 2

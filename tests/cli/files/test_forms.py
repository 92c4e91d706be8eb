"""A file that is no run or judgments is named with the same sentence by every command that reads one."""

import shutil
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
    sentence = f"This is a Git LFS pointer instead of the file itself, not {wanted}. Run `git lfs pull`"
    assert done.stderr.count(sentence) == 1


READERS = {
    "check": ("check", "run", "--qrels", "qrels"),
    "evaluate": ("evaluate", "qrels", "run"),
    "compare": ("compare", "qrels", "run", "other"),
    "pool": ("pool", "./run", "--method", "depth", "--depth", "2", "--qrels", "qrels"),
    "reproduce": ("reproduce", "qrels", "--original", "run", "other", "--reproduced", "run", "other"),
    "suite": ("suite", "suite.toml", "first", "second"),
}
SUITE = 'measure = "AP"\n' + "".join(
    f'[[members]]\nname = "{name}"\nqrels = "{file}"\n'
    for name, file in (("m", "qrels"), ("plain", "numbers"))
)


@pytest.mark.parametrize("road", READERS)
def test_every_command_says_how_it_read_judgments_and_takes_a_mapping(
    road: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, on the error stream: the lines passed over, the words, and what they were made."""
    monkeypatch.chdir(tmp_path)
    Path("run").write_text("".join(f"{topic} Q0 {docno} 1 {score} t\n" for topic, docno, score in ENTRIES))
    Path("other").write_text("".join(f"{topic} Q0 {docno} 1 {-score} o\n" for topic, docno, score in ENTRIES))
    Path("qrels").write_text("# by hand\n1 0 a good\n1 0 b awful\n2 0 a awful\n2 0 b good\n")
    Path("numbers").write_text("1 0 a 1\n1 0 b 0\n2 0 a 0\n2 0 b 1\n")
    Path("suite.toml").write_text(SUITE)
    for folder, run in (("first", "run"), ("second", "other")):
        for member in ("m", "plain"):
            Path(folder, member).mkdir(parents=True)
            shutil.copy(run, Path(folder, member, "run.txt"))
    refused = CliRunner().invoke(main, list(READERS[road]))
    assert (refused.exit_code, "--map awful=NUMBER" in refused.stderr) == (1, True), refused.output
    done = CliRunner().invoke(main, [*READERS[road], "--map", "good=2", "--map", "awful=0"])
    assert done.exit_code == 0, done.output
    for said in ("1 line that begins with # was skipped", "Grade words were read as good=2, awful=0."):
        (line,) = [line for line in done.stderr.splitlines() if said in line]
        assert line.startswith("note: qrels: ")


ENTRIES = (("1", "a", 2.0), ("1", "b", 1.0), ("2", "a", 2.0), ("2", "b", 1.5))


def test_check_counts_ids_that_begin_with_a_hash_in_dialect_9(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As evaluate does; in dialect 10 it says how many lines it skipped, of both files."""
    monkeypatch.chdir(tmp_path)
    Path("run").write_text("#a Q0 d 1 2 t\nb Q0 d 1 2 t\n")
    Path("qrels").write_text("#a 0 d 1\nb 0 d 1\n")
    nine = CliRunner().invoke(main, ["check", "run", "--qrels", "qrels", "--trec-eval", "9"])
    assert nine.stdout == "run: accepted\n  tag t, 2 entries, 2 topics, 1 to 1 documents per topic\n"
    ten = CliRunner().invoke(main, ["check", "run", "--qrels", "qrels"])
    assert ten.output.count("1 line that begins with # was skipped as comments.") == 2

"""The methods paragraph: each number and name in it is the board's own, and each key has its entry."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import update

from leaderboard.boards.page.snapshot import MethodsText, methods
from leaderboard.cli import main
from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.engine import Database
from leaderboard.db.tables import Task
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from tests.make import blind, build
from tests.scoring.ops.statistics.test_standings import board, fill, standing

URL = "https://example.org/tasks/t"


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


def _keys(said: MethodsText) -> set[str]:
    return {key for keys in re.findall(r"\\cite\{([^}]*)\}", said.latex) for key in keys.split(",")}


def _entries(said: MethodsText) -> list[str]:
    return re.findall(r"^@misc\{([^,]+),$", said.bibtex, re.MULTILINE)


def test_it_says_what_the_board_did(database: Database, tmp_path: Path) -> None:
    """Runs, topics, revision, measures with versions, test, correction, levels and what came out."""
    fill(database, tmp_path)
    said, found = methods(board(database), URL), standing(database)
    assert said.plain.startswith(
        "We compare the 4 ranked runs of Task t [t-edition-1] over 10 topics. Scores are based on revision 1 "
        "of the relevance judgments, SHA-256 "
    )
    assert "RR [kantor2000trec] (definition version 1)" in said.plain
    assert "Runs are ranked by mean RR." in said.plain
    assert (
        "All 6 pairs of ranked runs are compared topic by topic by the paired t test [student1908probable] "
        "with Holm correction [holm1979simple]; two runs differ significantly if the adjusted p is below "
        "0.025."
    ) in said.plain
    assert said.plain.endswith(
        f"{found.told_apart} of 6 pairs differ significantly, and {found.may_be_best} runs may be the best.\n"
    )


def test_every_key_has_its_entry_and_every_entry_a_key(database: Database, tmp_path: Path) -> None:
    """Once each, in both forms of the text; the board's own entry has its address."""
    fill(database, tmp_path)
    said = methods(board(database), URL)
    entries = _entries(said)
    assert len(entries) == len(set(entries))
    assert _keys(said) == set(entries)
    assert f"  url = {{{URL}}}," in said.bibtex
    for key in entries:
        assert re.search(rf"\[[^\]]*\b{re.escape(key)}\b", said.plain), key


@pytest.mark.parametrize(
    ("comparison", "words"),
    [
        ("tukey", "by the Tukey HSD [carterette2012multiple];"),
        (
            "randomisation+holm",
            "by the Fisher randomisation test [fisher1935design] with Holm correction [holm1979simple];",
        ),
        ("randomised_tukey", "HSD [carterette2012multiple], with 100,000 resamples; two runs"),
        ("wilcoxon+bh", "about all runs use the Holm correction [holm1979simple] instead."),
    ],
)
def test_it_names_the_method_that_the_task_chose(
    database: Database, tmp_path: Path, comparison: str, words: str
) -> None:
    """Test and correction, or both in one; resamples if drawn; Holm where the choice needs it."""
    fill(database, tmp_path)
    with database.write() as session:
        session.execute(update(Task).values(comparison=comparison))
    said = methods(board(database), URL)
    assert words in said.plain
    assert _keys(said) == set(_entries(said))


def test_what_is_held_back_is_not_in_it(database: Database, tmp_path: Path) -> None:
    """Of a blind task a visitor reads of no comparison, no digest and no measure of what is judged."""
    blind.task(database, tmp_path)
    said = methods(board(database, ANONYMOUS), URL).plain
    assert "over 5 topics" in said
    assert not any(word in said for word in ("SHA-256", "Judged@10", "pairs", "best"))


def test_a_board_without_scores_says_so_and_names_are_escaped(database: Database, tmp_path: Path) -> None:
    """Nothing was done, and the task is cited; letters of names are no commands of LaTeX."""
    build.task(database, tmp_path, judgments=None)
    with database.write() as session:
        session.execute(update(Task).values(name=r"50% \of_it"))
    said = methods(board(database), URL)
    assert (said.plain, _entries(said)) == ("No run of this task is scored yet.\n", ["t"])
    assert r"50\% \textbackslash{}of\_it" in said.bibtex


def test_the_command_writes_the_same(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As text unless LaTeX or BibTeX is asked for."""
    fill(database, tmp_path)
    said = methods(board(database))
    monkeypatch.setenv("LEADERBOARD_DATABASE_URL", database.engine.url.render_as_string(hide_password=False))
    for ways, text in (
        (["--methods"], said.plain),
        (["--methods", "tex"], said.latex),
        (["--methods", "bib"], said.bibtex),
    ):
        done = CliRunner().invoke(main, ["board", "t", *ways])
        assert (done.exit_code, done.output) == (0, text)

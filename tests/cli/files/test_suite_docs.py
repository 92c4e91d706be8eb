"""docs/suites.md and docs/reproductions.md: their commands print what stands below them."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from leaderboard.cli import main
from tests import ROOT
from tests.make import suites

WORLDS = {"suites": suites.of_demo, "reproductions": suites.of_reproduction}
SHOWN = re.compile(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE)
FILES = re.compile(r"^`([\w.-]+)`:\n\n```(?:toml|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(("name", "world"), WORLDS.items())
def test_the_commands_print_what_is_shown(
    name: str, world: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole outputs, letter by letter; files of the document take the place of those of its world."""
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    world(tmp_path)
    for file, content in FILES.findall(text):
        (tmp_path / file).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    examples = SHOWN.findall(text)
    assert sum(bool(output) for _, output in examples) >= 2
    for lines, output in examples:
        done = [CliRunner().invoke(main, shlex.split(line)[1:]) for line in lines.splitlines()]
        assert [one.exit_code for one in done] == [0] * len(done), done[-1].output
        if output:
            assert "".join(one.output for one in done) == output

"""What the documentation says is what the program does."""

import re
import shlex
import subprocess
import sys
from dataclasses import fields
from glob import glob
from pathlib import Path

import pytest
from click.testing import CliRunner

from leaderboard.cli import COMMANDS, GROUPS, main
from leaderboard.scoring.ops.run_facts import RUNTIME
from leaderboard.settings import PREFIX, Settings
from leaderboard.trec.facts import FIELDS
from tests import ROOT
from tests.make import smtp
from tests.make.documents import commands
from tests.make.typed import files_of_commands

README = ROOT / "README.md"
BY_EXAMPLE = ROOT / "docs" / "commands.md"


def test_the_readme_names_the_two_commands_a_fresh_machine_needs() -> None:
    """One line starts the site with the demo, one line runs the tests."""
    lines = commands(README)
    assert "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/leaderboard serve --demo" in lines
    install = 'python3 -m venv .venv && .venv/bin/pip install -e ".[test]"'
    test = f"{install} && .venv/bin/python -m pytest -n auto --dist worksteal"
    assert test in lines
    assert test in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


@pytest.mark.trial
def test_the_commands_of_the_documents_work_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command of the list by example runs, one after the other; then those of the README that it lacks.

    The guides' are typed into a shell. These are so many that each is called in this process.
    """
    files_of_commands(tmp_path)
    listed = commands(BY_EXAMPLE)
    offline = [line for line in commands(README) if line.startswith("leaderboard ") and line not in listed]
    monkeypatch.chdir(tmp_path)
    with smtp.server() as (_, url):
        monkeypatch.setenv("LEADERBOARD_SMTP_URL", url)
        monkeypatch.setenv("LEADERBOARD_MAIL_FROM", smtp.SENDER)
        for line in (*listed, *offline):
            _, *words = shlex.split(line)
            done = CliRunner().invoke(main, [name for word in words for name in sorted(glob(word)) or [word]])
            assert done.exit_code == 0, f"{line}\n{done.output}{done.exception!r}"
    ran = {shlex.split(line)[1] for line in (*listed, *offline)}
    assert ran == set(COMMANDS) - {"serve", "health", "install", "account", "client", "mirror"}


def test_the_settings_are_documented_with_their_defaults() -> None:
    """The table of settings has a line for each, with its default and its help."""
    text = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", text, re.MULTILINE))
    expected = {
        PREFIX + each.name.upper(): f"{_default(each.default)} | {each.metadata['help']}"
        for each in fields(Settings)
    }
    assert rows == expected


def _default(value: object) -> str:
    text = str(int(value)) if isinstance(value, bool) else str(value)
    return f"`{text}`" if text else ""


def test_what_may_be_said_about_a_run_is_documented() -> None:
    """The table of facts has a line for each field, with its option; and one for each cost."""
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (?:`(--[\w-]+)`)? *\|", text, re.MULTILINE))
    assert rows == {each.key: each.option for each in FIELDS} | {RUNTIME.key: ""}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    """Each command says in its help what it does."""
    result = CliRunner().invoke(main, [name, "--help"])
    assert result.exit_code == 0, result.output
    assert len(result.output.splitlines()) > 4


def test_the_list_of_commands_is_quick() -> None:
    """Listing the subcommands tells of each in one short line and imports none of them."""
    code = (
        "import sys; from leaderboard.cli import main; main(['--help'], standalone_mode=False);"
        "sys.exit(str([each for each in sys.modules if each.startswith('leaderboard.cli.')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"
    head, *groups = done.stdout.split("\nFor ")
    assert len(groups) == len(GROUPS)
    assert "-h, --help" in head
    listed = [line for group in groups for line in group.splitlines()[1:] if line]
    assert [line.split()[0] for line in listed] == list(COMMANDS)
    assert max(map(len, listed)) < 80


def test_links_between_documents_lead_somewhere() -> None:
    """Every relative link of the README and the documents names a file that is there."""
    for path in [README, *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
            assert (path.parent / link).exists(), f"{path.name}: {link}"

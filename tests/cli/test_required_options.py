"""What a command needs is marked in its help: every command is tried with what its help calls required."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from leaderboard_submit import cli as client

from leaderboard.cli import main

pytestmark = pytest.mark.trial

NAMED = re.compile(r"--[a-z-]+")


def _leaves(command: click.Command, names: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(command, click.Group):
        with click.Context(command) as context:
            for name in command.list_commands(context):
                found = command.get_command(context, name)
                assert found is not None
                yield from _leaves(found, (*names, name))
    else:
        yield names, command


def _value(parameter: click.Parameter, folder: Path) -> str:
    """A value that the parameter's type takes."""
    kind = parameter.type
    if isinstance(kind, click.Choice):
        return str(kind.choices[0])
    if isinstance(kind, click.Path | click.File):
        return str(folder if getattr(kind, "file_okay", True) is False else folder / "file")
    return "1" if isinstance(kind, click.types.IntParamType | click.types.FloatParamType) else "x"


def _required(command: click.Command, folder: Path) -> list[str]:
    """The words for every parameter that is marked as required without a condition."""
    words: list[str] = []
    for parameter in command.params:
        if parameter.required:
            values = [_value(parameter, folder)] * max(parameter.nargs, 1)
            words += values if isinstance(parameter, click.Argument) else [parameter.opts[0], *values]
    return words


def _help(parameter: click.Parameter) -> str:
    return str(getattr(parameter, "help", "") or "")


@pytest.mark.parametrize("root", [main, client.main])
def test_nothing_is_required_that_help_does_not_call_required(
    root: click.Group, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever option a usage error asks for then says in its help that it, or one of some, is required."""
    (tmp_path / "file").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEADERBOARD_DATA", str(tmp_path / "nothing"))
    faults, refused = [], 0
    for names, command in _leaves(root):
        if names[0] in ("serve", "worker", "mirror"):
            continue
        done = CliRunner().invoke(root, [*names, *_required(command, tmp_path)])
        if done.exit_code != 2 or "Usage:" not in done.output:
            continue
        refused += 1
        said = done.output.partition("Error:")[2]
        asked = set(NAMED.findall(said))
        for parameter in command.params:
            if asked & set(parameter.opts) and "equired" not in _help(parameter):
                faults.append(f"{' '.join(names)}: {said.strip()} ({parameter.name})")
    assert faults == []
    assert refused or root is client.main


@pytest.mark.parametrize("words", ["reference set", "nuggets add", "qrels add"])
def test_a_note_is_required_unless_a_preview_is_asked_for(words: str) -> None:
    """The help says what the command asks."""
    assert "[required unless --preview]" in " ".join(
        CliRunner().invoke(main, [*words.split(), "--help"]).output.split()
    )

"""Rules of the house that a machine can check."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.make.loops import for_every

pytestmark = pytest.mark.trial

BIN = Path(sys.executable).parent
SOURCES = sorted(path for folder in ("leaderboard", "client") for path in (ROOT / folder).rglob("*.py"))
LONGEST_FUNCTION = 60


def _run(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("ruff", "check", "."),
        ("ruff", "format", "--check", "."),
        ("mypy",),
        ("lint-imports",),
        ("djlint", "--lint", "--quiet", "templates"),
    ],
    ids=lambda command: " ".join(command),
)
def test_a_linter_finds_nothing(command: tuple[str, ...]) -> None:
    """Style, types, layers and templates are clean."""
    assert _run(str(BIN / command[0]), *command[1:]) == ""


@for_every("path", SOURCES, lambda path: str(path.relative_to(ROOT)))
def test_functions_stay_short(path: Path) -> None:
    """No function over 60 lines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        assert node.end_lineno is not None
        assert node.end_lineno - node.lineno < LONGEST_FUNCTION, node.name


def test_templates_hold_no_style_script_or_outside_address() -> None:
    """A strict content security policy needs pages without inline style or script."""
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\sstyle=|<style|\son\w+=|javascript:", text), path
        assert not re.search(r"<script(?![^>]*(?:\ssrc=|\stype=\"application/ld\+json\"))", text), path
        assert not re.search(r"(?:src|href)=\"(?:https?:)?//", text), path


def test_errors_carry_a_status_each() -> None:
    """Every error a user can cause has an HTTP status of its own or inherits one."""
    from leaderboard import errors
    from leaderboard.web.errors import status_of

    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.LeaderboardError)
    ]
    assert len(kinds) > 8
    assert all(400 <= status_of(kind("x")) < 600 for kind in kinds)

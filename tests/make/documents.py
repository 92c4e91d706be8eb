"""What the documents show to be typed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.make.copies import once_a_run


def blocks(document: Path, language: str = "sh") -> list[str]:
    """The text of each block of a language, in order."""
    return re.findall(
        rf"^```{language}\n(.*?)^```", document.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def commands(document: Path) -> list[str]:
    """The lines of a document's shell blocks, in order, a command each."""
    return [line for block in blocks(document) for line in block.splitlines() if line.strip()]


def site(temporary: pytest.TempPathFactory) -> Path:
    """The folder of the documentation as a site, which one process of a run builds for all of them.

    Raises AssertionError with the warnings, if any.
    """
    pytest.importorskip("furo", reason="the extra docs is not installed")

    def build(folder: Path) -> None:
        options = ["-q", "-W", "--keep-going", "-c", "docs", ".", str(folder)]
        command = [sys.executable, "-m", "sphinx", *options]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    return once_a_run(temporary, "documentation", build)

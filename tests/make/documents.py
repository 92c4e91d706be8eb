"""What the documents show to be typed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT


def blocks(document: Path, language: str = "sh") -> list[str]:
    """The text of each block of a language, in order."""
    return re.findall(
        rf"^```{language}\n(.*?)^```", document.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )


def commands(document: Path) -> list[str]:
    """The lines of a document's shell blocks, in order, a command each."""
    return [line for block in blocks(document) for line in block.splitlines() if line.strip()]


def site(folder: Path) -> Path:
    """The documentation as a site, in a folder; raises AssertionError with the warnings, if any."""
    pytest.importorskip("furo", reason="the extra docs is not installed")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", ".", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder

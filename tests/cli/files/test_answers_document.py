"""The document on answers: every command runs in order and prints what stands under it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from leaderboard.demo import answers
from leaderboard.trec.answers.dialects import DIALECTS
from tests import ROOT

DOCUMENT = ROOT / "docs" / "answers.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.DOTALL | re.MULTILINE)
ROWS = {
    "the topic's text is not the official one": "topic text",
    "type neither `manual` nor `automatic`": "type",
    "`type`, `narrative` or `prompt` missing": "left out",
    "a reference does not match `--docno-pattern`": "docno pattern",
    "a reference twice": "reference twice",
    "too many references": "too many references",
    "no references at all": "no references",
    "a document cited that is not among the references": "unknown citation",
    "more than 3 citations per segment": "too many citations",
    "a document cited twice in a segment": "cited twice",
    "`response_length` is not the counted length": "response length",
    "empty text": "empty text",
    "topic without an answer": "no answer",
}


@pytest.mark.trial
def test_every_command_prints_what_the_document_says(tmp_path: Path) -> None:
    """In one folder, in order; where no output is shown, the command works."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shutil.copytree(answers.FOLDER, tmp_path / "leaderboard" / "demo" / "answers")
    blocks = BLOCK.findall(DOCUMENT.read_text(encoding="utf-8"))
    assert len(blocks) >= 6
    for script, expected in blocks:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"
        assert not expected or done.stdout == expected, script


def test_the_table_of_findings_is_the_programs() -> None:
    """Each row of one finding says of each dialect what the check does; every dialect has its own row."""
    text = DOCUMENT.read_text(encoding="utf-8")
    for row, finding in ROWS.items():
        (cells,) = re.findall(rf"^\| {re.escape(row)} \| (.*) \|$", text, re.MULTILINE)
        said = [cell.partition(";")[0] for cell in cells.split(" | ")]
        dialects = ("rag24", "rag25", "rag26", "report")
        assert said == [DIALECTS[name].severity(finding) for name in dialects], row  # type: ignore[arg-type]
    assert re.findall(r"^\| `([a-z0-9-]+)` \|", text, re.MULTILINE) == list(DIALECTS)

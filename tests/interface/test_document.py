"""The examples of docs/python.md run from top to bottom and give what it says."""

import ast
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.make.documents import blocks

DOCUMENT = ROOT / "docs" / "python.md"


def _checked(block: str, names: dict[str, Any]) -> int:
    """Run a block; the number of expressions whose values the comments behind them give."""
    lines, values = block.splitlines(), 0
    for statement in ast.parse(block).body:
        code = ast.get_source_segment(block, statement)
        assert code is not None
        _, mark, said = lines[(statement.end_lineno or 0) - 1].rpartition("  # ")
        if isinstance(statement, ast.Expr) and mark:
            assert repr(eval(code, names)) == said, code
            values += 1
        else:
            exec(code, names)
    return values


def test_the_examples_work_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One after the other, in an empty folder."""
    ir_measures = pytest.importorskip("ir_measures")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ir_measures.DefaultPipeline, "providers", [*ir_measures.DefaultPipeline.providers])
    names: dict[str, Any] = {}
    assert sum(_checked(block, names) for block in blocks(DOCUMENT, "python")) >= 15
    assert "Topic q1, document d1: the number is not finite" in capsys.readouterr().out

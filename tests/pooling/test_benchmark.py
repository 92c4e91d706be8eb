"""The benchmark of pools runs."""

import pytest

from benchmarks import pooling


@pytest.mark.trial
def test_it_prints_a_row_a_procedure_and_a_method(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a small board."""
    monkeypatch.setattr(pooling, "RUNS", 8)
    monkeypatch.setattr(pooling, "TOPICS", 2)
    monkeypatch.setattr(pooling, "JUDGED", 50)
    pooling.main(["--repeats", "1", "--topics", "1"])
    rows = [row for row in capsys.readouterr().out.splitlines() if row.startswith("| ")]
    assert rows[0] == "| procedure | milliseconds | target |"
    assert {row.split(" | ")[0].strip("| ") for row in rows} > set(pooling.METHODS)
    assert all(row.count("|") in (4, 7) for row in rows)

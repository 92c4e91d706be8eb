"""Pools of run files on the worked example."""

from pathlib import Path

import pytest

from leaderboard.errors import Invalid
from leaderboard.judging.cli.file_pools import Options, pool_files
from tests.make import build
from tests.make.pooled import GRADES, RUNS


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """The three runs as files."""
    return [build.run_file(tmp_path, {"1": ranking}, name) for name, ranking in RUNS.items()]


def test_a_depth_pool_is_the_union_of_the_tops(runs: list[Path]) -> None:
    """Six places hold four documents."""
    pooled = pool_files(runs, Options({"name": "depth", "depth": 2}))
    assert sorted(document.docno for document in pooled.documents["1"]) == ["d1", "d2", "d8", "d9"]
    assert (pooled.runs, pooled.places, pooled.candidates, pooled.to_judge) == (3, 6, 4, 4)


def test_what_the_qrels_judge_needs_no_judging(runs: list[Path], tmp_path: Path) -> None:
    """It is counted and left out; a topic with nothing left is not there."""
    some = build.qrels_file(tmp_path, {"1": {"d1": 1, "d9": 0, "zz": 1}}, "some")
    pooled = pool_files(runs, Options({"name": "depth", "depth": 2}, some))
    assert [document.docno for document in pooled.documents["1"]] == ["d2", "d8"]
    assert (pooled.judged, pooled.to_judge) == (2, 2)
    whole = build.qrels_file(tmp_path, {"1": GRADES}, "whole")
    assert pool_files(runs, Options({"name": "depth", "depth": 2}, whole)).documents == {}


def test_documents_that_are_left_out_make_room(runs: list[Path], tmp_path: Path) -> None:
    """They are taken out before the top is looked at: the third documents come up."""
    (tmp_path / "out.txt").write_text("1 d1\n")
    pooled = pool_files(runs, Options({"name": "depth", "depth": 2}, left_out=[tmp_path / "out.txt"]))
    tops = [[docno for docno in ranking if docno != "d1"][:2] for ranking in RUNS.values()]
    assert {document.docno for document in pooled.documents["1"]} == {docno for top in tops for docno in top}
    everything = "".join(f"1 {docno}\n" for ranking in RUNS.values() for docno in ranking)
    (tmp_path / "out.txt").write_text(everything)
    nothing = pool_files(runs, Options({"name": "depth", "depth": 2}, left_out=[tmp_path / "out.txt"]))
    assert nothing.documents == {}


def test_an_adaptive_method_follows_the_qrels(runs: list[Path], tmp_path: Path) -> None:
    """Hedge's worked order, cut at its budget; without judgments there is nothing to follow."""
    judged = build.qrels_file(tmp_path, {"1": GRADES})
    pooled = pool_files(runs, Options({"name": "hedge", "budget": 6}, judged))
    assert [document.docno for document in pooled.documents["1"]] == ["d1", "d2", "d8", "d3", "d6", "d9"]
    with pytest.raises(Invalid, match="give --qrels"):
        pool_files(runs, Options({"name": "hedge"}))


@pytest.mark.parametrize("spec", [{"name": "x"}, {"name": "priority", "depth": 2, "priorities": [1]}])
def test_a_spec_that_cannot_be_carried_out_is_refused(runs: list[Path], spec: dict[str, object]) -> None:
    """A method there is not, and priorities that do not fit the runs."""
    with pytest.raises(Invalid):
        pool_files(runs, Options(spec))

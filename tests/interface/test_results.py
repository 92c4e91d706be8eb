"""Scores in Python: one run or several, by any name of a measure, as dictionaries and data frames."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import leaderboard as lb
from leaderboard.cli import main
from tests import ROOT

DEMO = ROOT / "leaderboard" / "demo"
QRELS = DEMO / "qrels-depth8.txt"
BM25, LSI = DEMO / "runs" / "bm25.run.gz", DEMO / "runs" / "lsi.run.gz"


def test_scores_are_those_of_the_command() -> None:
    """To the last bit, means and topics."""
    command = ["evaluate", str(QRELS), str(BM25), "-m", "all_trec", "-q", "--format", "json"]
    (said,) = json.loads(CliRunner().invoke(main, command).stdout)["runs"]
    scores = lb.evaluate(QRELS, BM25, "all_trec")
    assert scores.run == said["run"] == "bm25"
    assert scores.mean == said["scores"]
    assert scores.by_topic == said["per_topic"]


def test_a_measure_is_found_by_its_other_names() -> None:
    """trec_eval's name, an alias, and the name with the level."""
    scores = lb.evaluate(QRELS, BM25, ["map", "P.5,10", "nDCG@10"], level=2)
    assert scores.measures == ("AP(rel=2)", "P(rel=2)@5", "P(rel=2)@10", "nDCG@10")
    assert scores.mean["map"] == scores.mean["AP"] == scores.mean["AP(rel=2)"]
    assert scores.by_topic[scores.topics[0]]["P_5"] == scores.by_topic[scores.topics[0]]["P(rel=2)@5"]
    for name in ("nDCG@20", "nothing of this name"):
        with pytest.raises(KeyError, match="n"):
            scores.mean[name]


def test_several_runs_are_found_by_name() -> None:
    """By their tags, by names of one's own, or by number."""
    both = lb.evaluate(QRELS, [BM25, LSI], "AP")
    assert list(both) == ["bm25", "lsi"]
    assert both["lsi"].mean == lb.evaluate(QRELS, LSI, "AP").mean == both.mean["lsi"]
    named = lb.evaluate(QRELS, {"old": BM25, "new": lb.read_run(LSI)}, "AP")
    assert list(named) == ["old", "new"]
    assert [named[name].mean["AP"] for name in named] == [both[name].mean["AP"] for name in both]
    numbered = lb.evaluate({"1": {"a": 1}}, [{"1": {"a": 1.0}}, {"1": {"b": 1.0}}], "RR")
    assert numbered.mean == {"run 1": {"RR": 1.0}, "run 2": {"RR": 0.0}}
    twice = lb.evaluate(QRELS, [lb.read_run(BM25), lb.read_run(BM25)], "AP")
    assert list(twice) == ["bm25", "bm25 (2)"]


def test_options_are_those_of_the_command() -> None:
    """Depth, unjudged documents, missed topics, size of the collection."""
    qrels, run = {"1": {"a": 1, "b": 0}, "2": {"c": 1}}, {"1": {"x": 3, "b": 2, "a": 1}}
    assert lb.evaluate(qrels, run, "RR").mean["RR"] == 1 / 6
    assert lb.evaluate(qrels, run, "RR", complete=False).mean["RR"] == 1 / 3
    assert lb.evaluate(qrels, run, "RR", judged_only=True, complete=False).mean["RR"] == 1 / 2
    assert lb.evaluate(qrels, run, "RR", depth=2).mean["RR"] == 0
    assert lb.evaluate(qrels, run, "SetFallout", collection_size=10).topics == ("1", "2")
    with pytest.raises(lb.Invalid, match="collection"):
        lb.evaluate(qrels, run, "SetFallout")


def test_plain_values_and_data_frames() -> None:
    """JSON takes the dictionary; the frames have a row for each run and topic."""
    pandas = pytest.importorskip("pandas")
    both = lb.evaluate(QRELS, [BM25, LSI], ["AP", "nDCG@10"])
    plain = json.loads(json.dumps(both.to_dict()))
    assert plain["lsi"]["mean"] == both.mean["lsi"]
    frame = both.to_pandas()
    assert list(frame.columns) == ["run", "query_id", "AP", "nDCG@10"]
    assert len(frame) == 2 * len(both["lsi"].topics)
    means = frame.groupby("run")["AP"].mean()
    assert means["lsi"] == pytest.approx(both.mean["lsi"]["AP"], abs=1e-12)
    assert isinstance(both["lsi"].to_pandas(), pandas.DataFrame)
    assert repr(both) == "<Scores of 2 runs: bm25, lsi>"
    assert repr(both["lsi"]).startswith("<Scores of 'lsi' on 40 topics: AP=0.")


def test_polars_has_the_same_table() -> None:
    """Where polars is installed."""
    pytest.importorskip("polars")
    both = lb.evaluate(QRELS, [BM25, LSI], ["AP", "nDCG@10"])
    assert both.to_polars().to_dicts() == both.to_pandas().to_dict("records")


def test_two_runs_are_compared_as_by_the_command(tmp_path: Path) -> None:
    """The same record, with the same p; what is in memory is compared as files are."""
    command = ["compare", str(QRELS), str(BM25), str(LSI), "-m", "AP", "--format", "json"]
    said = json.loads(CliRunner().invoke(main, command).stdout)
    record = lb.compare(QRELS, BM25, LSI, "AP")
    assert record.interval is not None
    assert {**said, "run_a": "bm25", "run_b": "lsi"} == {
        **record.to_dict(),
        "interval": list(record.interval),
    }
    held = lb.compare(lb.read_qrels(QRELS), lb.read_run(BM25).to_dict(), lb.read_run(LSI), "map")
    assert (held.run_a, held.run_b) == ("run 1", "lsi")
    assert (held.difference, held.tests["t"]) == (record.difference, record.tests["t"])
    assert held == lb.compare(lb.read_qrels(QRELS), lb.read_run(BM25).to_dict(), lb.read_run(LSI), "map")


def test_many_runs_are_compared_as_by_the_command() -> None:
    """All pairs, with a baseline or without."""
    runs = [*sorted((DEMO / "runs").glob("b*.run.gz"))[:3], LSI]
    command = ["compare", str(QRELS), *map(str, runs), "-m", "AP", "--format", "json"]
    said = json.loads(CliRunner().invoke(main, command).stdout)
    record = lb.compare_runs(QRELS, runs, "AP")
    assert record.to_dict() == {name: said[name] for name in record.to_dict()}
    against = lb.compare_runs(
        QRELS, {path.name.partition(".")[0]: path for path in runs}, "AP", baseline="lsi"
    )
    assert against.baseline == "lsi"
    with pytest.raises(lb.Invalid, match="is not one of the runs"):
        lb.compare_runs(QRELS, runs, "AP", baseline="nobody")
    with pytest.raises(lb.Invalid, match="at least two runs"):
        lb.compare_runs(QRELS, [BM25], "AP")
    with pytest.raises(lb.Invalid, match="2 measures: AP, RR. Name one"):
        lb.compare(QRELS, BM25, LSI, ["AP", "RR"])


def test_measures_are_listed() -> None:
    """All, or those that names stand for."""
    assert len(lb.measures()) > 100
    assert [measure.name for measure in lb.measures("official")][:3] == ["NumQ", "NumRet", "NumRel"]
    assert lb.measures("nDCG@10")[0].formula
    with pytest.raises(lb.Invalid, match="did you mean nDCG"):
        lb.measures("nDGC")

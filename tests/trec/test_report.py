"""Scores as text: trec_eval's look, TSV and JSON in full precision."""

import json

import numpy as np

from leaderboard.measures.grammar import parse
from leaderboard.trec.report import RunScores, as_json, trec, tsv


def report(*names: str) -> RunScores:
    """A report of two topics with a third and two thirds (or 3 and 4, for counts) on every measure."""
    scores = {
        measure: np.array([3.0, 4.0]) if measure.measure.aggregate == "sum" else np.array([1 / 3, 2 / 3])
        for measure in map(parse, names)
    }
    return RunScores("tag", ("301", "302"), scores)


def test_trec_lines_look_and_are_ordered_as_trec_evals() -> None:
    """22-wide names, tabs, four decimals, counts as integers, trec_eval's order; measures it lacks follow."""
    lines = list(trec([report("RR@10", "nDCG@20", "nDCG@5", "P@10", "P@5", "AP", "NumRet")]))
    assert lines == [
        "runid                 \tall\ttag\n",
        "num_q                 \tall\t2\n",
        "num_ret               \tall\t7\n",
        "map                   \tall\t0.5000\n",
        "P_5                   \tall\t0.5000\n",
        "P_10                  \tall\t0.5000\n",
        "ndcg_cut_5            \tall\t0.5000\n",
        "ndcg_cut_20           \tall\t0.5000\n",
        "RR@10                 \tall\t0.5000\n",
    ]


def test_trec_lines_per_topic_come_before_the_mean() -> None:
    """With per_topic every topic's lines come first, in topic order."""
    lines = list(trec([report("map", "num_ret")], per_topic=True))
    assert lines[:4] == [
        "num_ret               \t301\t3\n",
        "map                   \t301\t0.3333\n",
        "num_ret               \t302\t4\n",
        "map                   \t302\t0.6667\n",
    ]
    assert lines[-1] == "map                   \tall\t0.5000\n"


def test_trec_lines_keep_trec_evals_names_at_the_level_asked_for() -> None:
    """At level 2 AP(rel=2) is map, as trec_eval -l 2 prints it; AP(rel=3) keeps its own name."""
    lines = list(trec([report("AP(rel=2)", "AP(rel=3)", "set_F_0.25")], level=2))
    assert [line.split()[0] for line in lines[2:]] == ["map", "AP(rel=3)", "SetF(beta=0.5)"]


def test_tsv_has_full_doubles() -> None:
    """Four columns with a heading; each value reads back as the same double."""
    lines = list(tsv([report("AP")], per_topic=True))
    assert lines[0] == "run\tmeasure\ttopic\tvalue\n"
    rows = [line.rstrip("\n").split("\t") for line in lines[1:]]
    assert [row[:3] for row in rows] == [["tag", "AP", "301"], ["tag", "AP", "302"], ["tag", "AP", "all"]]
    assert [float(row[3]) for row in rows] == [1 / 3, 2 / 3, (1 / 3 + 2 / 3) / 2]


def test_json_has_means_and_topics() -> None:
    """One object with the dialect, and per run the means and, if asked, every topic's scores."""
    plain = json.loads(as_json([report("AP")], dialect=9))
    assert plain == {"dialect": "trec_eval 9", "runs": [{"run": "tag", "topics": 2, "scores": {"AP": 0.5}}]}
    full = json.loads(as_json([report("AP")], dialect=9, per_topic=True))
    assert full["runs"][0]["per_topic"] == {"301": {"AP": 1 / 3}, "302": {"AP": 2 / 3}}

"""Scores as text: trec_eval's look, TSV and JSON in full precision."""

import json
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from leaderboard.measures import trec_lines
from leaderboard.measures.binding import bind
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import FloatArray, Judged
from leaderboard.measures.selection import select
from leaderboard.measures.trec_lines import HEAD
from leaderboard.trec.scores.report import RunScores, as_json, trec, tsv
from tests.measures.rankings import Topic, scored


def report(*names: str) -> RunScores:
    """A report of two topics with a third and two thirds (or 3 and 4, for counts) on every measure."""
    scores = {
        measure: np.array([3.0, 4.0]) if measure.measure.aggregate == "sum" else np.array([1 / 3, 2 / 3])
        for measure in map(parse, names)
    }
    return RunScores("tag", ("301", "302"), scores)


def parts_of(judged: Judged, **_: object) -> FloatArray:
    """Relevant documents retrieved and documents retrieved, of every topic."""
    return np.array([judged.relevant_count(1), judged.retrieved], dtype=np.float64)


def lines_of(pieces: Iterable[str]) -> list[str]:
    """The lines of a text that comes in pieces."""
    return "".join(pieces).splitlines(keepends=True)


def printed(report: RunScores, level: int = 1, per_topic: bool = False) -> list[str]:
    """All that a report holds as trec_eval prints it, after the tag and the number of topics."""
    return lines_of(trec([report], trec_lines.lines_of(report.scores, level, HEAD), per_topic=per_topic))


def test_trec_lines_look_and_are_ordered_as_trec_evals() -> None:
    """22-wide names, tabs, four decimals, counts as integers, trec_eval's order; measures it lacks follow."""
    lines = printed(report("RR@10", "nDCG@20", "nDCG@5", "P@10", "P@5", "AP", "NumRet"))
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
    lines = printed(report("map", "num_ret"), per_topic=True)
    assert lines[:4] == [
        "num_ret               \t301\t3\n",
        "map                   \t301\t0.3333\n",
        "num_ret               \t302\t4\n",
        "map                   \t302\t0.6667\n",
    ]
    assert lines[-1] == "map                   \tall\t0.5000\n"


def test_trec_lines_keep_trec_evals_names_at_the_level_asked_for() -> None:
    """At level 2 AP(rel=2) is map, as trec_eval -l 2 prints it; AP(rel=3) keeps its own name."""
    lines = printed(report("AP(rel=2)", "AP(rel=3)", "set_F_0.25"), level=2)
    assert [line.split()[0] for line in lines[2:]] == ["map", "AP(rel=3)", "SetF(beta=0.5)"]


def test_what_trec_eval_prints_for_topics_or_for_all_only_is_printed_there() -> None:
    """Geometric means and the number of topics in the summary, strings of grades for topics, in quotes."""
    run = scored(Topic((1, None, 0)), Topic((0, 12), (1,)))
    measures = select(["num_q", "gm_map", "relstring", "iprec_at_recall.0.1", "map"])
    scores = {measure: measure.compute(run) for measure in measures}
    lines = printed(RunScores("tag", run.judgments.topics, scores), per_topic=True)
    assert lines == [
        "map                   \t0\t1.0000\n",
        "iprec_at_recall_0.10  \t0\t1.0000\n",
        "relstring             \t0\t'1-0'\n",
        "map                   \t1\t0.2500\n",
        "iprec_at_recall_0.10  \t1\t0.5000\n",
        "relstring             \t1\t'0>'\n",
        "runid                 \tall\ttag\n",
        "num_q                 \tall\t2\n",
        "map                   \tall\t0.6250\n",
        "gm_map                \tall\t0.5000\n",
        "iprec_at_recall_0.10  \tall\t0.7500\n",
    ]


def test_measures_trec_eval_lacks_follow_under_their_keys() -> None:
    """In the order given, strings without a line for all topics."""
    run = scored(Topic((1, 2)))
    measures = select(["RR@10", "RelString(judged_only=True)@2", "P.10,5"])
    scores = {measure: measure.compute(run) for measure in measures}
    lines = printed(RunScores("tag", ("0",), scores), per_topic=True)
    assert [line.split("\t")[0].strip() for line in lines] == [
        "P_5",
        "P_10",
        "RR@10",
        "RelString(judged_only=True)@2",
        "runid",
        "num_q",
        "P_5",
        "P_10",
        "RR@10",
    ]


def test_more_topics_than_make_one_piece_are_all_there() -> None:
    """Every topic has its own lines, whatever its name holds, and pieces stay small."""
    topics = tuple(f"{place}%s{{0}}" for place in range(1000))
    scores = {parse("map"): np.arange(1000) / 1000, parse("num_ret"): np.arange(1000.0)}
    pieces = list(trec([RunScores("tag", topics, scores)], trec_lines.lines_of(scores, 1), per_topic=True))
    expected = [
        line
        for place, topic in enumerate(topics)
        for line in (
            f"num_ret               \t{topic}\t{place}\n",
            f"map                   \t{topic}\t{place / 1000:.4f}\n",
        )
    ]
    assert lines_of(pieces)[:2000] == expected
    assert max(map(len, pieces)) < 40_000


def test_parts_decide_where_scores_do_not() -> None:
    """A micro average is the quotient of sums over topics, in all three forms."""
    micro = bind(replace(parse("SetP").measure, name="MicroOfTwo", aggregate="micro", parts=parts_of), {})
    run = scored(Topic((1,)), Topic((0, 0, 0)))
    report = RunScores("tag", ("0", "1"), {micro: micro.compute(run)}, {micro: parts_of(run)})
    assert printed(report)[-1].endswith("\tall\t0.2500\n")
    assert lines_of(tsv([report]))[-1] == "tag\tMicroOfTwo\tall\t0.25\n"
    assert json.loads(as_json([report], dialect=10))["runs"][0]["scores"] == {"MicroOfTwo": 0.25}


def test_strings_have_no_number_for_all_topics() -> None:
    """TSV and JSON show them for topics, and leave them out of the summary."""
    run = scored(Topic((1, 0)))
    measure = parse("RelString@10")
    report = RunScores("tag", ("0",), {measure: measure.compute(run)})
    assert lines_of(tsv([report], per_topic=True))[1:] == ["tag\tRelString@10\t0\t10\n"]
    data = json.loads(as_json([report], dialect=10, per_topic=True))["runs"][0]
    assert data["scores"] == {}
    assert data["per_topic"] == {"0": {"RelString@10": "10"}}


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

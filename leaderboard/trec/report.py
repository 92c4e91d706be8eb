"""Scores as text: as trec_eval prints them, as TSV, as JSON."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import FloatArray
from leaderboard.measures.trec_names import trec_name

TREC_ORDER = (
    *("num_ret", "num_rel", "num_rel_ret", "map", "Rprec", "bpref", "recip_rank", "P", "recall"),
    *("ndcg", "ndcg_cut", "map_cut", "success", "set_P", "set_recall", "set_F"),
)
"""trec_eval's own order of the measures we share with it."""


@dataclass(frozen=True, eq=False)
class RunScores:
    """One run's scores: per measure float64 (topics,), in the order of topics."""

    run: str
    topics: tuple[str, ...]
    scores: dict[BoundMeasure, FloatArray]


def trec(reports: Iterable[RunScores], *, level: int = 1, per_topic: bool = False) -> Iterator[str]:
    """Lines as trec_eval prints them, measures in its order, those it has not after the others.

    level is the one the measures were bound with: trec_eval's names do not show it.
    """
    for report in reports:
        measures = _in_trec_order(report.scores, level)
        if per_topic:
            for place, topic in enumerate(report.topics):
                for name, measure in measures:
                    yield _trec_line(name, topic, _decimals(measure, float(report.scores[measure][place])))
        yield _trec_line("runid", "all", report.run)
        yield _trec_line("num_q", "all", str(len(report.topics)))
        for name, measure in measures:
            yield _trec_line(name, "all", _decimals(measure, measure.aggregate(report.scores[measure])))


def tsv(reports: Iterable[RunScores], *, per_topic: bool = False) -> Iterator[str]:
    """A heading and one line a score: run, measure, topic (`all` for the mean), value in full."""
    yield "run\tmeasure\ttopic\tvalue\n"
    for report in reports:
        for measure, scores in report.scores.items():
            if per_topic:
                for topic, value in zip(report.topics, scores.tolist(), strict=True):
                    yield f"{report.run}\t{measure.key}\t{topic}\t{value!r}\n"
            yield f"{report.run}\t{measure.key}\tall\t{measure.aggregate(scores)!r}\n"


def as_json(reports: Sequence[RunScores], *, dialect: int, per_topic: bool = False) -> str:
    """One JSON object: the dialect, and for every run its scores by measure, per topic if asked."""
    runs = [_run_object(report, per_topic) for report in reports]
    return json.dumps({"dialect": f"trec_eval {dialect}", "runs": runs}, indent=2, ensure_ascii=False) + "\n"


def _run_object(report: RunScores, per_topic: bool) -> dict[str, object]:
    means = {measure.key: measure.aggregate(scores) for measure, scores in report.scores.items()}
    found: dict[str, object] = {"run": report.run, "topics": len(report.topics), "scores": means}
    if per_topic:
        values = {measure.key: scores.tolist() for measure, scores in report.scores.items()}
        found["per_topic"] = {
            topic: {key: values[key][place] for key in values} for place, topic in enumerate(report.topics)
        }
    return found


def _in_trec_order(measures: Iterable[BoundMeasure], level: int) -> list[tuple[str, BoundMeasure]]:
    named = [(trec_name(measure, level), measure) for measure in measures]
    known = [(name, measure) for name, measure in named if name is not None]
    others = [(measure.key, measure) for name, measure in named if name is None]
    return sorted(known, key=lambda each: _trec_place(*each)) + others


def _trec_place(name: str, measure: BoundMeasure) -> tuple[int, float]:
    if name in TREC_ORDER:
        return TREC_ORDER.index(name), 0
    head, _, number = name.rpartition("_")
    return TREC_ORDER.index(head), float(number)


def _decimals(measure: BoundMeasure, value: float) -> str:
    return f"{value:6.{measure.measure.digits}f}" if measure.measure.digits else str(int(value))


def _trec_line(name: str, topic: str, value: str) -> str:
    return f"{name:<22}\t{topic}\t{value}\n"

"""Scores of answers as text: lines as trec_eval prints them, TSV, JSON; not judged is kept apart from 0."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence

from leaderboard.measures.binding import BoundMeasure
from leaderboard.trec.nuggets.scoring import AnswerScores, Missing

NOT_JUDGED = "not_judged"
"""What stands in the place of a score that nobody's judgment gives; null in JSON."""


def trec(scored: Iterable[AnswerScores], *, per_topic: bool = False) -> Iterator[str]:
    """Lines of name, topic and value in four decimals; the topic `all` for the mean."""
    for one in scored:
        if per_topic:
            for measure, topic, score in _cells(one):
                yield _line(measure.key, topic, _rounded(measure, score))
        yield _line("runid", "all", one.run)
        yield _line("num_q", "all", str(len(set().union(*one.topics.values()))))
        for measure in one.scores:
            yield _line(measure.key, "all", _rounded(measure, one.aggregate(measure), 4))


def tsv(scored: Iterable[AnswerScores], *, per_topic: bool = False) -> Iterator[str]:
    """A heading and one line a score: run, measure, topic (`all` for the mean), value in full."""
    yield "run\tmeasure\ttopic\tvalue\n"
    for one in scored:
        if per_topic:
            for measure, topic, score in _cells(one):
                yield f"{one.run}\t{measure.key}\t{topic}\t{_full(score)}\n"
        for measure in one.scores:
            yield f"{one.run}\t{measure.key}\tall\t{_full(one.aggregate(measure))}\n"


def as_json(scored: Sequence[AnswerScores], missing: Missing, *, per_topic: bool = False) -> str:
    """One JSON object: for every run its scores by measure, and on how many of how many topics each rests."""
    runs = [_run_object(one, per_topic) for one in scored]
    data = {"kind": "answers", "missing": missing, "runs": runs}
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _run_object(one: AnswerScores, per_topic: bool) -> dict[str, object]:
    data: dict[str, object] = {
        "run": one.run,
        "scores": {measure.key: one.aggregate(measure) for measure in one.scores},
        "judged": {measure.key: one.judged(measure) for measure in one.scores},
        "topics": {measure.key: len(topics) for measure, topics in one.topics.items()},
    }
    if per_topic:
        cells: dict[str, dict[str, float | None]] = {}
        for measure, topic, score in _cells(one):
            cells.setdefault(topic, {})[measure.key] = None if math.isnan(score) else score
        data["per_topic"] = cells
    return data


def _cells(one: AnswerScores) -> Iterator[tuple[BoundMeasure, str, float]]:
    for measure, topics in one.topics.items():
        for topic, score in zip(topics, one.values(measure).tolist(), strict=True):
            yield measure, topic, score


def _line(name: str, topic: str, value: str) -> str:
    return f"{name:<22}\t{topic}\t{value}\n"


def _rounded(measure: BoundMeasure, score: float | None, digits: int | None = None) -> str:
    if score is None or math.isnan(score):
        return NOT_JUDGED
    return f"{score:.{measure.measure.digits if digits is None else digits}f}"


def _full(score: float | None) -> str:
    return NOT_JUDGED if score is None or math.isnan(score) else repr(score)

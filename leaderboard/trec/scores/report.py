"""Scores as text: as trec_eval prints them, as TSV, as JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import FloatArray
from leaderboard.measures.record import Measure
from leaderboard.measures.trec_lines import Line
from leaderboard.trec.read import kernel
from leaderboard.trec.read.lines import bytes_of, text_of
from leaderboard.trec.scores.in_memory import Missed

_TOPICS_AT_A_TIME = 256
"""Topics whose lines make one piece of text: few enough for flat memory, enough for few writes."""


@dataclass(frozen=True, eq=False)
class RunScores:
    """One run's scores: per measure float64 (topics,), in the order of topics, strings for text.

    parts: what the aggregate is made from, float64 (k, topics), for the measures that have any. missed:
    what trec_eval makes of the topics that the run misses, None where they are left out.
    """

    run: str
    topics: tuple[str, ...]
    scores: dict[BoundMeasure, FloatArray]
    parts: dict[BoundMeasure, FloatArray] = field(default_factory=dict)
    missed: Missed | None = None

    def aggregate(self, measure: BoundMeasure) -> float:
        """The measure's one number for all topics."""
        return measure.aggregate(self.scores[measure], self.parts.get(measure))

    def printed(self, line: Line) -> FloatArray:
        """The scores as trec_eval prints them on that line, (topics,): missed topics as it has them."""
        assert line.measure is not None, "the tag has no scores"
        scores = self.scores[line.measure]
        return scores if self.missed is None else self.missed.scores_of(line, scores)

    @property
    def aggregated(self) -> list[BoundMeasure]:
        """The measures that have such a number."""
        return [measure for measure in self.scores if measure.measure.aggregate != "none"]


def trec(
    reports: Iterable[RunScores], lines: Sequence[Line], *, per_topic: bool = False, summary: bool = True
) -> Iterator[str]:
    """The same as `trec_bytes` as text."""
    return map(text_of, trec_bytes(reports, lines, per_topic=per_topic, summary=summary))


def trec_bytes(
    reports: Iterable[RunScores], lines: Sequence[Line], *, per_topic: bool = False, summary: bool = True
) -> Iterator[bytes]:
    """The lines of every run as trec_eval prints them, several to a piece: those of topics, then of all.

    lines: the printed values, in order; the scores hold a value for the measure of each. summary: not with
    trec_eval's -n.
    """
    by_topic = [each for each in lines if each.per_topic]
    over_all = [each for each in lines if each.summary]
    for report in reports:
        if per_topic:
            yield from _topic_lines(report, by_topic)
        if summary:
            yield bytes_of("".join(_summary_lines(report, over_all)))


def tsv(reports: Iterable[RunScores], *, per_topic: bool = False) -> Iterator[str]:
    """A heading and one line per score: run, measure, topic (`all` for the mean), value in full."""
    yield "run\tmeasure\ttopic\tvalue\n"
    for report in reports:
        for measure, scores in report.scores.items():
            if per_topic:
                for topic, value in zip(report.topics, scores.tolist(), strict=True):
                    text = value if isinstance(value, str) else repr(value)
                    yield f"{report.run}\t{measure.key}\t{topic}\t{text}\n"
            if measure.measure.aggregate != "none":
                yield f"{report.run}\t{measure.key}\tall\t{report.aggregate(measure)!r}\n"


def as_json(
    reports: Sequence[RunScores],
    *,
    dialect: int,
    per_topic: bool = False,
    facts: Mapping[str, object] | None = None,
) -> str:
    """One JSON object: the dialect, and for every run its scores by measure, per topic if asked.

    facts: other statements on all of them.
    """
    import json  # others would wait for it

    runs = [_run_object(report, per_topic) for report in reports]
    whole = {"dialect": f"trec_eval {dialect}", **(facts or {}), "runs": runs}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def _run_object(report: RunScores, per_topic: bool) -> dict[str, object]:
    means = {measure.key: report.aggregate(measure) for measure in report.aggregated}
    data: dict[str, object] = {"run": report.run, "topics": len(report.topics), "scores": means}
    if per_topic:
        values = {measure.key: scores.tolist() for measure, scores in report.scores.items()}
        data["per_topic"] = {
            topic: {key: values[key][place] for key in values} for place, topic in enumerate(report.topics)
        }
    return data


def _topic_lines(report: RunScores, lines: Sequence[Line]) -> Iterator[bytes]:
    heads = [bytes_of(f"{line.name:<22}\t") for line in lines]
    digits = np.array([_measure(line).digits for line in lines], np.int32)
    columns = [report.printed(line) for line in lines]
    topics = list(map(bytes_of, report.topics))
    for start in range(0, len(topics), _TOPICS_AT_A_TIME):
        part = slice(start, start + _TOPICS_AT_A_TIME)
        kept = np.arange(len(topics))[part]
        if report.missed is not None:
            kept = kept[~report.missed.unprinted[part]]
        texts = {
            place: [bytes_of(line.form % value) for value in column[kept].tolist()]
            for place, (line, column) in enumerate(zip(lines, columns, strict=True))
            if _measure(line).text
        }
        values = np.zeros((len(lines), len(kept)))
        for place, column in enumerate(columns):
            if place not in texts:
                values[place] = column[kept]
        yield kernel.printed(heads, [topics[place] for place in kept.tolist()], values, digits, texts)


def _measure(line: Line) -> Measure:
    assert line.measure is not None, "the tag has no lines of topics"
    return line.measure.measure


def _summary_lines(report: RunScores, lines: Iterable[Line]) -> Iterator[str]:
    for line in lines:
        if line.measure is None:
            value = report.run
        elif line.name == "num_q":
            value = str(len(report.topics))
        elif line.name == "num_rel" and report.missed is not None:
            value = str(report.missed.num_rel)
        else:
            scores = report.printed(line)
            value = line.form % line.measure.aggregate(scores, report.parts.get(line.measure))
        yield f"{line.name:<22}\tall\t{value}\n"

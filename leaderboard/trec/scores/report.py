"""Scores as text: as trec_eval prints them, as TSV, as JSON."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import NamedTuple

from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import FloatArray
from leaderboard.measures.trec_families import FAMILIES
from leaderboard.measures.trec_names import printed
from leaderboard.trec.scores.missed import Missed

_TOPICS_AT_A_TIME = 256
"""Topics whose lines make one piece of text: few enough for flat memory, enough for few writes."""

_TOPIC = "\0"
"""Stands for the topic in the template of its lines; no topic and no score holds it."""


@dataclass(frozen=True, eq=False)
class RunScores:
    """One run's scores: per measure float64 (topics,), in the order of topics, strings for text.

    parts: what the aggregate is made of, float64 (k, topics), for the measures that have any. missed:
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

    @property
    def aggregated(self) -> list[BoundMeasure]:
        """The measures that have such a number."""
        return [measure for measure in self.scores if measure.measure.aggregate != "none"]


class _Line(NamedTuple):
    """A line of trec_eval's: its name, and whether it is printed for topics and for all of them."""

    name: str
    measure: BoundMeasure
    per_topic: bool = True
    summary: bool = True

    @property
    def form(self) -> str:
        """How its value is printed, as a % template."""
        measure = self.measure.measure
        return "'%s'" if measure.text else f"%{6 if measure.digits else ''}.{measure.digits}f"


def trec(reports: Iterable[RunScores], *, level: int = 1, per_topic: bool = False) -> Iterator[str]:
    """Lines as trec_eval prints them, several to a piece: measures in its order, then those it has not.

    level is the one the measures were bound with: trec_eval's names do not show it. The lines with
    the run's tag and the number of topics are there whichever measures are.
    """
    for given in reports:
        report = _of_trec_eval(given)
        lines = _in_trec_order(report.scores, level)
        if per_topic:
            yield from _topic_lines(report, [line for line in lines if line.per_topic])
        yield "".join(_summary_lines(report, [line for line in lines if line.summary]))


def tsv(reports: Iterable[RunScores], *, per_topic: bool = False) -> Iterator[str]:
    """A heading and one line a score: run, measure, topic (`all` for the mean), value in full."""
    yield "run\tmeasure\ttopic\tvalue\n"
    for report in reports:
        for measure, scores in report.scores.items():
            if per_topic:
                for topic, value in zip(report.topics, scores.tolist(), strict=True):
                    text = value if isinstance(value, str) else repr(value)
                    yield f"{report.run}\t{measure.key}\t{topic}\t{text}\n"
            if measure.measure.aggregate != "none":
                yield f"{report.run}\t{measure.key}\tall\t{report.aggregate(measure)!r}\n"


def as_json(reports: Sequence[RunScores], *, dialect: int, per_topic: bool = False) -> str:
    """One JSON object: the dialect, and for every run its scores by measure, per topic if asked."""
    runs = [_run_object(report, per_topic) for report in reports]
    return json.dumps({"dialect": f"trec_eval {dialect}", "runs": runs}, indent=2, ensure_ascii=False) + "\n"


def _run_object(report: RunScores, per_topic: bool) -> dict[str, object]:
    means = {measure.key: report.aggregate(measure) for measure in report.aggregated}
    data: dict[str, object] = {"run": report.run, "topics": len(report.topics), "scores": means}
    if per_topic:
        values = {measure.key: scores.tolist() for measure, scores in report.scores.items()}
        data["per_topic"] = {
            topic: {key: values[key][place] for key in values} for place, topic in enumerate(report.topics)
        }
    return data


def _in_trec_order(measures: Iterable[BoundMeasure], level: int) -> list[_Line]:
    known: list[tuple[tuple[int, float], _Line]] = []
    others: list[_Line] = []
    for measure in measures:
        in_trec_eval = printed(measure, level)
        if in_trec_eval is None:
            others.append(_Line(measure.key, measure, summary=measure.measure.aggregate != "none"))
        else:
            family = in_trec_eval.family
            line = _Line(in_trec_eval.name, measure, family.per_topic, family.summary)
            known.append(((FAMILIES.index(family), in_trec_eval.number), line))
    return [line for _, line in sorted(known, key=lambda placed: placed[0])] + others


def _of_trec_eval(report: RunScores) -> RunScores:
    """The scores with those that trec_eval gives to missed topics."""
    return report if report.missed is None else replace(report, scores=report.scores | report.missed.scores)


def _topic_lines(report: RunScores, lines: Sequence[_Line]) -> Iterator[str]:
    template = "".join(f"{line.name.replace('%', '%%'):<22}\t{_TOPIC}\t{line.form}\n" for line in lines)
    shown = [True] * len(report.topics) if report.missed is None else (~report.missed.unprinted).tolist()
    for start in range(0, len(report.topics), _TOPICS_AT_A_TIME):
        part = slice(start, start + _TOPICS_AT_A_TIME)
        rows = zip(*(report.scores[line.measure][part].tolist() for line in lines), strict=True)
        filled = compress(zip(report.topics[part], rows, strict=False), shown[part])
        yield "".join([(template % row).replace(_TOPIC, topic) for topic, row in filled])


def _summary_lines(report: RunScores, lines: Iterable[_Line]) -> Iterator[str]:
    yield f"{'runid':<22}\tall\t{report.run}\n"
    yield f"{'num_q':<22}\tall\t{len(report.topics)}\n"
    for line in lines:
        if line.name == "num_rel" and report.missed is not None:
            yield f"{line.name:<22}\tall\t{report.missed.num_rel}\n"
        elif line.name != "num_q":
            yield f"{line.name:<22}\tall\t{line.form % report.aggregate(line.measure)}\n"

"""The scores of one run, and of several, as dictionaries and data frames."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from leaderboard.errors import UnknownMeasure
from leaderboard.measures.binding import with_level
from leaderboard.measures.grammar import parse
from leaderboard.trec.scores.report import RunScores

if TYPE_CHECKING:
    import pandas
    import polars

Frame = TypeVar("Frame")
Topics = dict[str, dict[str, float]]


class ByMeasure(dict[str, float]):
    """Values by the names of measures, such as nDCG@10; each is found by its other names too, such as map."""

    __slots__ = ("_level",)

    def __init__(self, values: Iterable[tuple[str, float]], level: int) -> None:
        super().__init__(values)
        self._level = level

    def __missing__(self, name: str) -> float:
        """The value under another name of the measure; raises KeyError if unknown."""
        try:
            key = with_level(parse(name), self._level).key
        except UnknownMeasure as error:
            raise KeyError(name) from error
        if key not in self:
            raise KeyError(name)
        return self[key]


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of one run: its mean by measure, and every topic's scores."""

    report: RunScores
    level: int = 1

    @property
    def run(self) -> str:
        """The name of the run."""
        return self.report.run

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that count, in the order of their bytes."""
        return self.report.topics

    @property
    def measures(self) -> tuple[str, ...]:
        """The names of the measures, in the requested order."""
        return tuple(measure.key for measure in self.report.scores)

    @cached_property
    def mean(self) -> dict[str, float]:
        """Measure -> its one value for all topics: the mean, or what it is defined by instead, as a sum."""
        means = ((measure.key, self.report.aggregate(measure)) for measure in self.report.aggregated)
        return ByMeasure(means, self.level)

    @cached_property
    def by_topic(self) -> Topics:
        """Topic -> measure -> score."""
        return {
            topic: ByMeasure(zip(self.measures, row, strict=True), self.level) for topic, row in self._rows()
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: run, topics, mean and by_topic."""
        by_topic = {topic: dict(scores) for topic, scores in self.by_topic.items()}
        return {"run": self.run, "topics": len(self.topics), "mean": dict(self.mean), "by_topic": by_topic}

    def to_pandas(self) -> "pandas.DataFrame":
        """A row for every topic: run, query_id and a column for each measure. Needs pandas."""
        return _pandas([self])

    def to_polars(self) -> "polars.DataFrame":
        """The same as a data frame of polars, which it needs."""
        return _polars([self])

    def __repr__(self) -> str:
        """The name and the means."""
        means = ", ".join(f"{name}={value:.4f}" for name, value in self.mean.items())
        return f"<Scores of {self.run!r} on {len(self.topics)} topics: {means}>"

    def _rows(self) -> Iterator[tuple[str, tuple[float, ...]]]:
        columns = (scores.tolist() for scores in self.report.scores.values())
        return zip(self.topics, zip(*columns, strict=True), strict=True)


class ScoresByRun(Mapping[str, Scores]):
    """Scores of several runs by name, in the order given."""

    def __init__(self, scores: Iterable[Scores]) -> None:
        self._scores = {each.run: each for each in scores}

    def __getitem__(self, run: str) -> Scores:
        """The scores of a run."""
        return self._scores[run]

    def __iter__(self) -> Iterator[str]:
        """The names of the runs."""
        return iter(self._scores)

    def __len__(self) -> int:
        """The number of runs."""
        return len(self._scores)

    @property
    def mean(self) -> dict[str, dict[str, float]]:
        """Run -> measure -> its one value for all topics."""
        return {run: scores.mean for run, scores in self.items()}

    @property
    def by_topic(self) -> dict[str, Topics]:
        """Run -> topic -> measure -> score."""
        return {run: scores.by_topic for run, scores in self.items()}

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Run -> plain values for JSON."""
        return {run: scores.to_dict() for run, scores in self.items()}

    def to_pandas(self) -> "pandas.DataFrame":
        """A row for every run and topic: run, query_id and a column for each measure. Needs pandas."""
        return _pandas(self.values())

    def to_polars(self) -> "polars.DataFrame":
        """The same as a data frame of polars, which it needs."""
        return _polars(self.values())

    def __repr__(self) -> str:
        """The runs."""
        return f"<Scores of {len(self)} runs: {', '.join(self)}>"


def _columns(runs: Iterable[Scores]) -> dict[str, list[Any]]:
    """The columns of the table of all runs and topics."""
    table: dict[str, list[Any]] = {"run": [], "query_id": []}
    for scores in runs:
        table["run"] += [scores.run] * len(scores.topics)
        table["query_id"] += scores.topics
        for measure, values in scores.report.scores.items():
            table.setdefault(measure.key, []).extend(values.tolist())
    return table


def _pandas(runs: Iterable[Scores]) -> "pandas.DataFrame":
    import pandas

    return pandas.DataFrame(_columns(runs))


def _polars(runs: Iterable[Scores]) -> "polars.DataFrame":
    import polars

    return polars.DataFrame(_columns(runs))

"""A measure as the head of a column: what every page of scores starts from."""

from dataclasses import dataclass
from functools import lru_cache

from leaderboard.measures.grammar import BoundMeasure
from leaderboard.measures.naming import parse


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """A measure as a column's head: its canonical key, a longer title, and how its values are shown."""

    key: str
    title: str
    direction: str
    digits: int
    version: int
    aggregate: str
    """mean or sum: what a run's value is of its topics' scores."""

    @property
    def lower_is_better(self) -> bool:
        """Whether a lower value is the better one."""
        return self.direction == "lower"

    @property
    def sign(self) -> int:
        """What values are multiplied by so that more is better: -1 where lower is better, else 1."""
        return -1 if self.lower_is_better else 1


def column(bound: BoundMeasure) -> MeasureColumn:
    """A measure as a column's head."""
    measure = bound.measure
    return MeasureColumn(
        bound.key, measure.title, measure.direction, measure.digits, measure.version, measure.aggregate
    )


@lru_cache(maxsize=1024)
def column_of(key: str) -> MeasureColumn:
    """The measure of a key as a column's head; kept, as a key always means the same."""
    return column(parse(key))


def ranked_by(by: MeasureColumn) -> str:
    """A run's value by the measure in words, such as `mean AP`."""
    words = {"mean": f"mean {by.key}", "sum": f"{by.key}, summed over topics"}
    words["geometric"] = f"{by.key}, the geometric mean over topics"
    words["micro"] = f"{by.key}, all topics pooled"
    return words.get(by.aggregate, by.key)

"""A measure as the head of a column: what every page of scores starts from."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from leaderboard.measures.grammar import BoundMeasure
from leaderboard.measures.naming import parse
from leaderboard.tables.record import Place, Shown


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """A measure as a column's head: its canonical key, a longer title, and how its values are shown."""

    key: Annotated[str, Shown(key="measure")]
    title: str
    direction: Annotated[str, Shown(shown=Place.DATA)]
    digits: int
    version: Annotated[int, Shown(shown=Place.DATA)]
    aggregate: str
    """mean or sum: what a run's value is of its topics' scores."""

    @property
    def short(self) -> str:
        """Its name where there is little room, which is its key unless that has a shorter one."""
        return short_name(self.key)

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


@lru_cache(maxsize=1024)
def short_name(key: str) -> str:
    """What a measure of answers with parameters is called for short; the key where it has no such name.

    >>> short_name("NuggetRecall(set='vital',strict=1)"), short_name("P(rel=2)@5")
    ('V_strict', 'P(rel=2)@5')
    """
    if "(" not in key:
        return key
    called = getattr(parse(key).measure, "called", ())
    return next((name for name, form in called if parse(form).key == key), key)


def ranked_by(by: MeasureColumn) -> str:
    """A run's value by the measure in words, such as `mean AP`."""
    words = {"mean": f"mean {by.short}", "sum": f"{by.short}, summed over topics"}
    words["geometric"] = f"{by.short}, the geometric mean over topics"
    words["micro"] = f"{by.short}, all topics pooled"
    return words.get(by.aggregate, by.short)

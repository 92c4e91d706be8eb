"""How the runs of a board moved since the edition that was shown before it.

Neither a day's board nor one on chosen topics is what an edition showed, so these have no moves. Ranks are
counted among the runs that have one in both editions, so that a run which came or went in between moves
nobody; the page of a revision counts them so too.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from leaderboard.db.tables import Edition
from leaderboard.services.boards.rows import Row
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.evaluations.shown import ShownEdition


@dataclass(frozen=True, slots=True)
class EditionBefore:
    """The edition that a board is held against, and what became of the ranks since."""

    number: int
    revision: int
    moved: Mapping[int, int | None]
    """Ranked run -> by how many ranks it went up (below 0: down); None: it had no rank then."""

    @property
    def both(self) -> int:
        """How many runs have a rank in both."""
        return sum(places is not None for places in self.moved.values())

    @property
    def movers(self) -> int:
        """How many of these have another rank now."""
        return sum(bool(places) for places in self.moved.values())


def comparable(shown: ShownEdition, by: MeasureColumn) -> tuple[Edition, str] | None:
    """The edition before and the measure's key; None where there is none that had this very measure."""
    if shown.before is None or shown.edition is None:
        return None
    version = {measure["key"]: measure["version"] for measure in shown.before.measures}.get(by.key)
    return (shown.before, by.key) if version == by.version else None


def since_before(shown: ShownEdition, rows: Iterable[Row], by: MeasureColumn) -> EditionBefore | None:
    """What became of the ranked rows, by their values then and now; None where none was ranked then."""
    if shown.before is None:
        return None
    ranked = [row for row in rows if row.rank is not None]
    then = {row.run_id: by.sign * row.earlier for row in ranked if row.earlier is not None}
    if not then:
        return None
    values = {row.run_id: row.scores[by.key] for row in ranked}
    now = {
        run_id: by.sign * value for run_id, value in values.items() if run_id in then and value is not None
    }
    old, new = shared_ranks(then), shared_ranks(now)
    moved = {run_id: old[run_id] - new[run_id] if run_id in old else None for run_id in values}
    return EditionBefore(shown.before.number, shown.before_revision, moved)


def shared_ranks(values: Mapping[int, float]) -> dict[int, int]:
    """The rank of every run, higher being better; equal values share one.

    >>> shared_ranks({7: 0.5, 8: 0.9, 9: 0.5, 4: 0.1})
    {7: 2, 8: 1, 9: 2, 4: 4}
    """
    ordered = sorted(values.values(), reverse=True)
    first = {value: place for place, value in reversed(list(enumerate(ordered, start=1)))}
    return {run_id: first[value] for run_id, value in values.items()}

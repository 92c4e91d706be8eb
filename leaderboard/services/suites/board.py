"""The board of a site's suite: computed once for the same scores and the same question."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from leaderboard.errors import Invalid
from leaderboard.memory import Kept
from leaderboard.services.suites import rows as suite_rows
from leaderboard.services.suites.records import KnownSuite
from leaderboard.services.suites.rows import BoardRow, ChangeRow, PairRow, SuiteBoard, SuiteBoardRequest
from leaderboard.services.suites.seen import SeenRun, SeenSuite
from leaderboard.stats.suites.board import MEANS
from leaderboard.trec.suites.scoring import SuiteRun, SuiteScores
from leaderboard.trec.suites.suite_files import GROUPS, Member, Suite, meant

# A board of 100 runs over 18 members takes part of a second, mostly its pairs, and never changes.
_kept: "Kept[KeptBoard]" = Kept(__name__)


@dataclass(slots=True, eq=False)
class KeptBoard:
    """The ranked runs' board, the rows of all runs; changes and pairs once somebody asked for them.

    of is None where no run is ranked.
    """

    of: SuiteBoard | None
    all: SuiteBoard | None
    rows: tuple[BoardRow, ...]
    _changes: list[ChangeRow] | None = None
    _pairs: list[PairRow] | None = None

    @property
    def changes(self) -> list[ChangeRow]:
        """The changes of all runs from the reference."""
        if self._changes is None:
            self._changes = [] if self.all is None else suite_rows.change_rows(self.all)
        return self._changes

    @property
    def pairs(self) -> list[PairRow]:
        """All pairs of ranked runs that have all members."""
        if self._pairs is None:
            self._pairs = [] if self.of is None else suite_rows.pair_rows(self.of)
        return self._pairs


def kept_board(known: KnownSuite, seen: SeenSuite, asked: SuiteBoardRequest) -> KeptBoard:
    """The board of what is seen of a suite; raises Invalid as `rows.suite_board` does."""
    key = (seen.sha256, asked)
    return _kept.get(key) or _kept.put(key, _made(known, seen, asked))


def _made(known: KnownSuite, seen: SeenSuite, asked: SuiteBoardRequest) -> KeptBoard:
    ordered = sorted(seen.runs, key=lambda run: not run.is_ranked)
    ranked = [run for run in ordered if run.is_ranked]
    if asked.baseline and asked.baseline not in {run.name for run in ordered}:
        names = tuple(run.name for run in ordered)
        raise Invalid(f"{asked.baseline[:64]} is none of the runs. {meant(asked.baseline, names)}")
    if not seen.members or not ordered:
        return KeptBoard(None, None, ())
    everything = scores_of(known, seen, ordered)
    whole = suite_rows.suite_board(everything, replace(asked, by="mean", drawn="topics", baseline=""))
    whole = replace(whole, asked=asked)
    if not ranked:
        return KeptBoard(None, whole, tuple(_without_rank(row) for row in _rows(whole, ordered)))
    of = suite_rows.suite_board(scores_of(known, seen, ranked), replace(asked, baseline=""))
    of = replace(of, asked=asked)
    others = [row for row in _rows(whole, ordered) if row.run_id not in {run.id for run in ranked}]
    order = (*of.order, *(place for place in whole.order if place >= len(ranked)))
    return KeptBoard(
        of, replace(whole, order=order), (*_rows(of, ranked), *(_without_rank(row) for row in others))
    )


def scores_of(known: KnownSuite, seen: SeenSuite, runs: Sequence[SeenRun]) -> SuiteScores:
    """What is seen of a suite in the form that boards of files are made of."""
    names = {one.name for one in seen.members}
    suite = known.suite
    grouped = all(suite.macro in one.groups for one in seen.members)
    return SuiteScores(
        suite=Suite(
            name=suite.title,
            members=tuple(Member(one.name, None, one.measure.key, one.groups) for one in seen.members),
            reference=suite.reference if suite.reference in names else "",
            baseline=suite.baseline,
            macro=suite.macro if suite.macro in GROUPS and grouped else "",
            shared_topics=suite.shared_topics,
            missing_is_empty=suite.missing_is_empty,
            metadata_is_required=suite.metadata_is_required,
        ),
        runs=tuple(SuiteRun(run.name, dict(run.scores), run.missing) for run in runs),
        measures={one.name: one.measure for one in seen.members},
        topics={one.name: one.topics for one in seen.members},
        notes=(),
    )


def _rows(of: SuiteBoard, runs: Sequence[SeenRun]) -> list[BoardRow]:
    """The rows of a board, best first, with whose runs they are."""
    return [
        replace(row, run_id=run.id, team=run.team, kind=run.kind, is_own=run.is_own)
        for row, run in zip(suite_rows.board_rows(of), (runs[place] for place in of.order), strict=True)
    ]


def _without_rank(row: BoardRow) -> BoardRow:
    """A run that takes no part in ranks: its means only, as points and ranks are among those that do."""
    values = {name: value if name in MEANS else None for name, value in row.values.items()}
    return replace(row, rank=None, low=None, high=None, may_be_best=False, values=values)

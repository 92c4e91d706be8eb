"""What a board did, as a paragraph for a paper: its numbers and names are the board's own."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from leaderboard.measures.naming import kind_of, parse
from leaderboard.pages.boards import citations
from leaderboard.services import kinds
from leaderboard.services.boards.board import Board
from leaderboard.services.evaluations.shown import Basis, computed_as
from leaderboard.services.statistics.sentences import too_few_topics
from leaderboard.services.statistics.standings import ALPHA, Standing
from leaderboard.stats.pairs.corrections import LEVEL
from leaderboard.stats.pairs.methods import BOTH_IN_ONE, CORRECTIONS, Method
from leaderboard.stats.standing.standing import SOURCE
from leaderboard.tables.bibtex import CitedWork, cited_works
from leaderboard.tables.latex import escaped
from leaderboard.tables.words import counted

ORIGINS = {"machine": "made by a machine", "click": "taken from clicks"}
HOLM = CORRECTIONS["holm"]


@dataclass(frozen=True, slots=True)
class _Said:
    """Words, and the keys that stand behind them."""

    words: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MethodsText:
    """The paragraph, written when it is asked for: a board's page shows plain text alone."""

    said: tuple[_Said, ...]
    works: tuple[CitedWork, ...]
    """All that it cites."""
    board: Board
    url: str

    @property
    def plain(self) -> str:
        """The paragraph in plain text."""
        return "".join(map(_plain, self.said)).strip() + "\n"

    @property
    def latex(self) -> str:
        """The paragraph in LaTeX."""
        return "".join(map(_latex, self.said)).strip() + "\n"

    @property
    def bibtex(self) -> str:
        """The BibTeX entries of the board and of all that is cited by key."""
        return "\n".join((citations.of_board(self.board, self.url), *(work.entry for work in self.works)))


def methods(shown: Board, url: str = "") -> MethodsText:
    """What was done for a board; url is where it can be read again, empty where that is not known."""
    works: dict[str, CitedWork] = {}
    said = [_Said("No run of this task is scored yet.")] if shown.basis is None else _all(shown, works)
    return MethodsText(tuple(said), tuple(works.values()), shown, url)


def _all(shown: Board, works: dict[str, CitedWork]) -> list[_Said]:
    assert shown.basis is not None, "only a board with scores did anything"
    said = [*_of_whom(shown, shown.basis), *_by_what(shown, works)]
    standing = shown.standing
    if isinstance(standing, Standing) and standing.pairs and standing.topics > 1:
        said += [*_compared(standing, works), *_found(standing)]
    return said


def _of_whom(shown: Board, basis: Basis) -> Iterable[_Said]:
    ranked = sum(row.rank is not None for row in shown.rows)
    group = f" of the group {shown.group.name}" if shown.group else ""
    yield _Said(f"We compare the {counted(ranked, 'ranked run')}{group} of {shown.task}", _key(shown))
    phase = f" ({basis.phase} phase)" if basis.phase else ""
    moment = f", as of {shown.at:%Y-%m-%d %H:%M} UTC" if shown.at else ""
    chosen = " chosen" if shown.chosen_topics else ""
    topics = f"{basis.topics:,}{chosen} {'topic' if basis.topics == 1 else 'topics'}"
    yield _Said(f"{phase} over {topics}{moment}. ")
    yield _Said(f"Scores rest on revision {basis.revision} of the relevance judgments{_judged(basis)}. ")
    if basis.left_out:
        yield _Said(f"Before scoring, documents were taken out of the rankings by topic: {basis.left_out}. ")


def _key(shown: Board) -> tuple[str, ...]:
    return (citations.board_key(shown),)


def _judged(basis: Basis) -> str:
    origin = ORIGINS.get(basis.origin, "")
    by = f", {origin}{f' ({basis.origin_name})' if basis.origin_name else ''}" if origin else ""
    digest = f", SHA-256 {basis.revision_sha256}" if basis.revision_sha256 else ""
    return f"{by}{digest}"


def _by_what(shown: Board, works: dict[str, CitedWork]) -> Iterable[_Said]:
    assert shown.basis is not None, "only a board with scores has measures"
    yield _Said("The measures are ")
    for place, measure in enumerate(shown.measures):
        cited = cited_works(parse(measure.key).measure.citation)
        yield _Said(f"{_between(place, len(shown.measures))}{measure.key}", _keys(works, cited))
        yield _Said(f" (definition version {measure.version})")
    if not shown.basis.dialect:
        yield _Said(kinds.of(kind_of(parse(shown.sorted_by).measure)).missing)
        yield _Said(f"Runs are ranked by {shown.ranked_by}. ")
        return
    yield _Said(f"{computed_as(shown.basis.dialect)}: ")
    yield _Said("documents in the order of their scores, ties by document id in descending byte order. ")
    yield _Said("A topic that a run misses scores as an empty ranking. ")
    yield _Said(f"Runs are ranked by {shown.ranked_by}. ")


def _compared(standing: Standing, works: dict[str, CitedWork]) -> Iterable[_Said]:
    by = standing.method
    yield _Said(f"All {counted(standing.pairs, 'pair')} of ranked runs are compared topic by topic by ")
    yield from _named(by, works)
    if standing.table.resamples:
        yield _Said(f", with {standing.table.resamples:,} resamples")
    yield _Said(f"; two runs are told apart where the adjusted p is below {LEVEL:g}. ")
    if not by.correction.is_over_all_pairs:
        yield _Said(
            "What is said of all runs at once rests on the correction by Holm", _cite(works, HOLM.citation)
        )
        yield _Said(" in its place. ")
    if not standing.verdicts.too_few:
        yield _Said("A run may be the best where no run beats it and none is better by a one-sided test at ")
        yield _Said(f"{LEVEL:g}/(n - 1) for n runs", _cite(works, SOURCE))
        yield _Said(". ")
    yield _Said(f"All of this holds at once with {1 - ALPHA:.0%} confidence. ")
    yield _Said(f"Intervals of differences are paired t intervals at {1 - ALPHA:.0%}, of each pair alone. ")


def _named(by: Method, works: dict[str, CitedWork]) -> Iterable[_Said]:
    """The test and the correction by name."""
    if by.test is None:
        assert by.correction.name in BOTH_IN_ONE, "every other correction has a test"
        yield _Said(f"the {by.correction.title}", _cite(works, by.correction.citation))
        return
    yield _Said(f"the {by.test.title} test", _cite(works, by.test.citation))
    yield _Said(f" with the correction by {by.correction.title}", _cite(works, by.correction.citation))


def _found(standing: Standing) -> Iterable[_Said]:
    apart = f"{standing.told_apart:,} of {counted(standing.pairs, 'pair')}"
    if standing.verdicts.too_few:
        too_few = too_few_topics(f"{len(standing.run_ids):,} runs", standing.topics, standing.topics_to_order)
        yield _Said(f"{apart} can be told apart. {too_few}")
        return
    yield _Said(f"{apart} can be told apart, and {counted(standing.may_be_best, 'run')} may be the best.")


def _between(place: int, of: int) -> str:
    return "" if place == 0 else " and " if place == of - 1 else ", "


def _cite(works: dict[str, CitedWork], citation: str) -> tuple[str, ...]:
    return _keys(works, cited_works(citation))


def _keys(works: dict[str, CitedWork], cited: Sequence[CitedWork]) -> tuple[str, ...]:
    """The keys of works, which are noted for the list of entries."""
    for work in cited:
        works.setdefault(work.key, work)
    return tuple(work.key for work in cited)


def _plain(said: _Said) -> str:
    return f"{said.words} [{', '.join(said.keys)}]" if said.keys else said.words


def _latex(said: _Said) -> str:
    words = escaped(said.words)
    return rf"{words}~\cite{{{','.join(said.keys)}}}" if said.keys else words

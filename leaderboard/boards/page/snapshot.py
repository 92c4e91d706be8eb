"""The page of a snapshot: the frozen board, and differences from the current one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.boards.ops import board, snapshots
from leaderboard.boards.ops.board import Board
from leaderboard.boards.ops.rows import PLACE_FACTS, place_facts
from leaderboard.boards.ops.snapshots import OpenedSnapshot
from leaderboard.core import kinds
from leaderboard.core.policy import ANONYMOUS, Viewer
from leaderboard.measures.naming import kind_of, parse
from leaderboard.scoring.ops.evaluations.shown import Basis, computed_as, rests_on
from leaderboard.scoring.ops.run_facts import RunName
from leaderboard.scoring.ops.scored_topics import MeasureColumn
from leaderboard.scoring.ops.statistics.standings import ALPHA, Standing, too_few_topics
from leaderboard.scoring.ops.statistics.standings import Place as RankPlace
from leaderboard.stats.pairs.corrections import LEVEL
from leaderboard.stats.pairs.methods import BOTH_IN_ONE, CORRECTIONS, Method
from leaderboard.stats.standing import SOURCE
from leaderboard.tables.latex import CitedWork, bibtex, cited_works, escaped, misc
from leaderboard.tables.record import Column, Place, Table, columns_from, counted

NAMES_AT_MOST = 5
WINS_AND_LOSSES = (("beats", "Wins"), ("beaten_by", "Losses"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenRow(RunName):
    """A run of a frozen board; place is None for runs that were not compared."""

    rank: int | None
    scores: dict[str, float | None]
    is_scored: bool
    place: RankPlace | None


@dataclass(frozen=True, slots=True)
class SnapshotPage:
    """A frozen board."""

    address: str
    sha256: str
    size: int
    """Size in bytes of the hashed text."""
    created_at: datetime
    task: str
    slug: str
    visibility: str
    edition: int
    revision: int
    revision_note: str
    revision_sha256: str
    left_out: str
    origin: str
    origin_name: str
    dialect: int
    topics: int
    measures: tuple[MeasureColumn, ...]
    sorted_by: str
    ranked_by: str
    comparison: str
    """The test and correction with its level, as text; empty if runs were not compared."""
    sentences: tuple[str, ...]
    evaluators: tuple[str, ...]
    decimals: int | None
    rows: tuple[FrozenRow, ...]
    phase: str = ""
    """The phase of the board; empty if the task had only one."""
    since: tuple[str, ...] = ()
    """Differences of the current board, as sentences; empty if it is the same."""

    @property
    def is_placed(self) -> bool:
        """Whether the snapshot compares its runs."""
        return any(row.place is not None for row in self.rows)


def page(session: Session, viewer: Viewer, address: str, *, compared: bool = True) -> SnapshotPage:
    """The snapshot at an address, optionally compared with the current public board.

    Raises NotFound as snapshots.opened does.
    """
    frozen = snapshots.opened(session, viewer, address)
    return _page(frozen, _since(session, frozen) if compared else ())


def table(page: SnapshotPage) -> Table[FrozenRow]:
    """Table of the frozen board; print has ranks, names and scores."""
    return Table(
        f"{page.slug}-{page.address}",
        _caption(page),
        columns_from(
            FrozenRow,
            "rank name run_id team kind",
            *(_count_column(name, head) for name, head in WINS_AND_LOSSES if page.is_placed),
            *(_measure_column(page, measure) for measure in page.measures),
            *(_place_column(name) for name in PLACE_FACTS),
        ),
        page.rows,
    )


def _measure_column(page: SnapshotPage, measure: MeasureColumn) -> Column[FrozenRow]:
    key = measure.key
    return Column(
        key,
        lambda row: row.scores.get(key),
        title=f"{measure.title}; definition version {measure.version}",
        digits=page.decimals or measure.digits,
        lower_is_better=measure.lower_is_better,
        group="sorted" if key == page.sorted_by else "measure",
    )


def _count_column(name: str, head: str) -> Column[FrozenRow]:
    """Column with the number of significant wins or losses of a run, on the page."""
    verdict = "is better" if name == "beats" else "is worse"
    return Column(
        name,
        lambda row: place_facts(row.place)[name],
        head,
        title=f"Runs that this run {verdict} than (significantly)",
        digits=0,
        shown=Place.PAGE,
    )


def _place_column(name: str) -> Column[FrozenRow]:
    return Column(name, lambda row: place_facts(row.place)[name], shown=Place.DATA)


def _caption(page: SnapshotPage) -> str:
    judged = rests_on(page.revision, page.topics, page.dialect, page.left_out)
    return (
        f"{page.task}: runs by {page.ranked_by}, {judged}. "
        f"Snapshot {page.address} of {page.created_at:%Y-%m-%d}."
    )


def _page(frozen: OpenedSnapshot, since: tuple[str, ...]) -> SnapshotPage:
    facts = frozen.facts
    return SnapshotPage(
        address=frozen.address,
        sha256=frozen.sha256,
        size=len(frozen.body),
        created_at=frozen.created_at,
        task=facts["name"],
        slug=facts["task"],
        visibility=facts["visibility"],
        edition=facts["edition"],
        revision=facts["revision"],
        revision_note=facts["revision_note"],
        revision_sha256=facts["revision_sha256"] or "",
        left_out=facts.get("left_out", ""),
        origin=facts["origin"],
        origin_name=facts["origin_name"],
        dialect=facts["dialect"],
        topics=facts["topics"],
        measures=tuple(MeasureColumn(**measure) for measure in facts["measures"]),
        sorted_by=facts["sorted_by"],
        ranked_by=facts["ranked_by"],
        comparison=_method(facts["comparison"]),
        sentences=tuple(facts["sentences"]),
        evaluators=tuple(facts["evaluators"]),
        decimals=facts["decimals"],
        rows=tuple(_row(row) for row in facts["rows"]),
        phase=facts.get("phase", ""),
        since=since,
    )


def _row(facts: dict[str, Any]) -> FrozenRow:
    # Snapshots from before 0.2.0 name every run that beats a run.
    place = {name: facts[name] for name in PLACE_FACTS if name != "named"}
    place["named"] = facts.get("named", facts["beaten_by"])
    return FrozenRow(
        rank=facts["rank"],
        run_id=facts["run_id"],
        name=facts["run"],
        team=facts["team"],
        kind=facts["kind"],
        scores=facts["scores"],
        is_scored=facts["scored"],
        place=None if place["beats"] is None else RankPlace(**place),
    )


def _method(comparison: dict[str, Any] | None) -> str:
    return "" if comparison is None else f"{comparison['title']}, {comparison['alpha']:.0%}"


def _since(session: Session, frozen: OpenedSnapshot) -> tuple[str, ...]:
    """Differences of the current public board from the frozen one, as sentences."""
    shown = board.board(session, ANONYMOUS, frozen.facts["task"])
    if shown.basis is None:
        return ("The current board shows no scores.",)
    if snapshots.body_of(session, shown) == frozen.body:
        return ()
    sentences = (*_editions(frozen.facts, shown), *_runs(frozen.facts, shown), *_scores(frozen.facts, shown))
    return sentences or ("Names, notes or the comparison of runs differ; runs and scores are the same.",)


def _editions(facts: dict[str, Any], shown: Board) -> list[str]:
    assert shown.basis is not None, "only a board with an edition is compared"
    sentences = []
    if facts["edition"] != shown.basis.edition:
        sentences.append(
            f"It shows edition {shown.basis.edition} under qrels revision {shown.basis.revision} "
            f"(here: edition {facts['edition']}, revision {facts['revision']})."
        )
    if [measure["key"] for measure in facts["measures"]] != [measure.key for measure in shown.measures]:
        sentences.append(f"Its measures are {', '.join(measure.key for measure in shown.measures)}.")
    if facts["visibility"] == "blind" and facts["details"] != shown.access.details:
        sentences.append("The task has closed: the board shows all topics at full precision.")
    return sentences


def _runs(facts: dict[str, Any], shown: Board) -> list[str]:
    before = {row["run_id"]: row["run"] for row in facts["rows"]}
    after = {row.run_id: row.run for row in shown.rows}
    added = [name for run_id, name in after.items() if run_id not in before]
    gone = [name for run_id, name in before.items() if run_id not in after]
    sentences = []
    if added:
        sentences.append(f"{_count(added)} {'was' if len(added) == 1 else 'were'} added: {_names(added)}.")
    if gone:
        sentences.append(f"{_count(gone)} {'was' if len(gone) == 1 else 'were'} withdrawn: {_names(gone)}.")
    return sentences


def _scores(facts: dict[str, Any], shown: Board) -> list[str]:
    key = facts["sorted_by"]
    before = {row["run_id"]: row["scores"].get(key) for row in facts["rows"]}
    changed = [
        row.run for row in shown.rows if row.run_id in before and before[row.run_id] != row.scores.get(key)
    ]
    if not changed:
        return []
    return [
        f"{_count(changed)} {'has' if len(changed) == 1 else 'have'} a different {key}: {_names(changed)}."
    ]


def _count(names: Sequence[str]) -> str:
    return "1 run" if len(names) == 1 else f"{len(names):,} runs"


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMES_AT_MOST])
    return shown if len(names) <= NAMES_AT_MOST else f"{shown} and {len(names) - NAMES_AT_MOST:,} more"


def of_task(name: str, slug: str, url: str, published: datetime | None) -> str:
    """The BibTeX entry of a task."""
    return _entry(slug, f"{name}: a shared task", name, published, url, "")


def of_board(shown: Board, url: str) -> str:
    """The BibTeX entry of a board under the shown edition, or of the task without one."""
    basis = shown.basis
    if basis is None:
        return of_task(shown.task, shown.slug, url, None)
    note = f"Edition {basis.edition}, {rests_on(basis.revision, basis.topics, basis.dialect, basis.left_out)}"
    if shown.at is not None:
        note += f". As of {shown.at:%Y-%m-%d %H:%M} UTC"
    of = f" of the group {shown.group.name}" if shown.group else ""
    title = f"{shown.task}: board of runs{of} by {shown.ranked_by}"
    return _entry(board_key(shown), title, shown.task, shown.at or basis.shown_from, url, note)


def board_key(shown: Board) -> str:
    """The BibTeX key of a board."""
    return shown.slug if shown.basis is None else f"{shown.slug}-edition-{shown.basis.edition}"


def of_snapshot(page: SnapshotPage, url: str) -> str:
    """The BibTeX entry of a frozen board, with its digest."""
    note = (
        f"Snapshot of {page.created_at:%Y-%m-%d %H:%M} UTC, SHA-256 {page.sha256}. Edition {page.edition}, "
        f"{rests_on(page.revision, page.topics, page.dialect, page.left_out)}"
    )
    title = f"{page.task}: board of runs by {page.ranked_by}"
    return _entry(f"{page.slug}-{page.address}", title, page.task, page.created_at, url, note)


def _entry(key: str, title: str, task: str, at: datetime | None, url: str, note: str) -> str:
    """One BibTeX entry; no person is named as author, since an organiser need not be an author."""
    fields = {
        "title": f"{{{bibtex(title)}}}",
        "author": f"{{{bibtex(f'Organisers of {task}')}}}",
        "year": f"{at:%Y}" if at else "",
        "url": url,
        "note": bibtex(note),
    }
    return misc(key, fields)


ORIGINS = {"machine": "made by a machine", "click": "derived from clicks"}
HOLM = CORRECTIONS["holm"]


@dataclass(frozen=True, slots=True)
class _Text:
    """A piece of text with the keys cited after it."""

    words: str
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MethodsText:
    """The methods paragraph, formatted on demand: a board's page shows plain text only."""

    pieces: tuple[_Text, ...]
    works: tuple[CitedWork, ...]
    """All cited works."""
    board: Board
    url: str

    @property
    def plain(self) -> str:
        """The paragraph in plain text."""
        return "".join(map(_plain, self.pieces)).strip() + "\n"

    @property
    def latex(self) -> str:
        """The paragraph in LaTeX."""
        return "".join(map(_latex, self.pieces)).strip() + "\n"

    @property
    def bibtex(self) -> str:
        """The BibTeX entries of the board and of all cited works."""
        return "\n".join((of_board(self.board, self.url), *(work.entry for work in self.works)))


def methods(shown: Board, url: str = "") -> MethodsText:
    """The methods paragraph of a board; url: its permanent address, empty if unknown."""
    works: dict[str, CitedWork] = {}
    sentences = [_Text("No run of this task is scored yet.")] if shown.basis is None else _all(shown, works)
    return MethodsText(tuple(sentences), tuple(works.values()), shown, url)


def _all(shown: Board, works: dict[str, CitedWork]) -> list[_Text]:
    assert shown.basis is not None, "only a board with scores did anything"
    sentences = [*_of_whom(shown, shown.basis), *_by_what(shown, works)]
    standing = shown.standing
    if isinstance(standing, Standing) and standing.pairs and standing.topics > 1:
        sentences += [*_compared(standing, works), *_found(standing)]
    return sentences


def _of_whom(shown: Board, basis: Basis) -> Iterable[_Text]:
    ranked = sum(row.rank is not None for row in shown.rows)
    group = f" of the group {shown.group.name}" if shown.group else ""
    yield _Text(f"We compare the {counted(ranked, 'ranked run')}{group} of {shown.task}", _key(shown))
    phase = f" ({basis.phase} phase)" if basis.phase else ""
    moment = f", as of {shown.at:%Y-%m-%d %H:%M} UTC" if shown.at else ""
    chosen = " selected" if shown.chosen_topics else ""
    topics = f"{basis.topics:,}{chosen} {'topic' if basis.topics == 1 else 'topics'}"
    yield _Text(f"{phase} over {topics}{moment}. ")
    yield _Text(f"Scores are based on revision {basis.revision} of the relevance judgments{_judged(basis)}. ")
    if basis.left_out:
        yield _Text(f"Before scoring, documents were removed from the rankings by topic: {basis.left_out}. ")


def _key(shown: Board) -> tuple[str, ...]:
    return (board_key(shown),)


def _judged(basis: Basis) -> str:
    origin = ORIGINS.get(basis.origin, "")
    by = f", {origin}{f' ({basis.origin_name})' if basis.origin_name else ''}" if origin else ""
    digest = f", SHA-256 {basis.revision_sha256}" if basis.revision_sha256 else ""
    return f"{by}{digest}"


def _by_what(shown: Board, works: dict[str, CitedWork]) -> Iterable[_Text]:
    assert shown.basis is not None, "only a board with scores has measures"
    yield _Text("The measures are ")
    for place, measure in enumerate(shown.measures):
        cited = cited_works(parse(measure.key).measure.citation)
        yield _Text(f"{_between(place, len(shown.measures))}{measure.key}", _keys(works, cited))
        yield _Text(f" (definition version {measure.version})")
    if not shown.basis.dialect:
        yield _Text(kinds.of(kind_of(parse(shown.sorted_by).measure)).missing)
        yield _Text(f"Runs are ranked by {shown.ranked_by}. ")
        return
    yield _Text(f"{computed_as(shown.basis.dialect)}: ")
    yield _Text("documents are ordered by score, ties by document id in descending byte order. ")
    yield _Text("A topic missing from a run is scored as an empty ranking. ")
    yield _Text(f"Runs are ranked by {shown.ranked_by}. ")


def _compared(standing: Standing, works: dict[str, CitedWork]) -> Iterable[_Text]:
    by = standing.method
    yield _Text(f"All {counted(standing.pairs, 'pair')} of ranked runs are compared topic by topic by ")
    yield from _named(by, works)
    if standing.table.resamples:
        yield _Text(f", with {standing.table.resamples:,} resamples")
    yield _Text(f"; two runs differ significantly if the adjusted p is below {LEVEL:g}. ")
    if not by.correction.is_over_all_pairs:
        yield _Text(
            "Simultaneous statements about all runs use the Holm correction", _cite(works, HOLM.citation)
        )
        yield _Text(" instead. ")
    if not standing.verdicts.too_few:
        yield _Text(
            "A run may be the best if no run is significantly better and none is better by a one-sided test "
        )
        yield _Text(f"at {LEVEL:g}/(n - 1) for n runs", _cite(works, SOURCE))
        yield _Text(". ")
    yield _Text(f"All of these statements hold simultaneously with {1 - ALPHA:.0%} confidence. ")
    yield _Text(f"Intervals of differences are paired t intervals at {1 - ALPHA:.0%}, for each pair alone. ")


def _named(by: Method, works: dict[str, CitedWork]) -> Iterable[_Text]:
    """The names of test and correction, with citations."""
    if by.test is None:
        assert by.correction.name in BOTH_IN_ONE, "every other correction has a test"
        yield _Text(f"the {by.correction.title}", _cite(works, by.correction.citation))
        return
    yield _Text(f"the {by.test.title} test", _cite(works, by.test.citation))
    yield _Text(f" with {by.correction.title} correction", _cite(works, by.correction.citation))


def _found(standing: Standing) -> Iterable[_Text]:
    apart = f"{standing.told_apart:,} of {counted(standing.pairs, 'pair')}"
    if standing.verdicts.too_few:
        too_few = too_few_topics(f"{len(standing.run_ids):,} runs", standing.topics, standing.topics_to_order)
        yield _Text(f"{apart} differ significantly. {too_few}")
        return
    yield _Text(f"{apart} differ significantly, and {counted(standing.may_be_best, 'run')} may be the best.")


def _between(place: int, of: int) -> str:
    return "" if place == 0 else " and " if place == of - 1 else ", "


def _cite(works: dict[str, CitedWork], citation: str) -> tuple[str, ...]:
    return _keys(works, cited_works(citation))


def _keys(works: dict[str, CitedWork], cited: Sequence[CitedWork]) -> tuple[str, ...]:
    """The keys of cited works, which are added to works."""
    for work in cited:
        works.setdefault(work.key, work)
    return tuple(work.key for work in cited)


def _plain(text: _Text) -> str:
    return f"{text.words} [{', '.join(text.keys)}]" if text.keys else text.words


def _latex(text: _Text) -> str:
    words = escaped(text.words)
    return rf"{words}~\cite{{{','.join(text.keys)}}}" if text.keys else words

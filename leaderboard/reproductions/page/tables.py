"""Reproductions as plain values and as tables: all of a task, and one level by level."""

from collections.abc import Callable
from dataclasses import asdict
from operator import attrgetter
from typing import Any

from leaderboard.comparisons.page.pair_tables import short_p
from leaderboard.reproductions.page.show import (
    DifferingFact,
    NamedRun,
    PairRow,
    ReproductionHead,
    ReproductionPage,
    ReproductionsPage,
    TopicScores,
)
from leaderboard.scoring.ops.evaluations.shown import rests_on
from leaderboard.stats.reproductions.effects import Effect, mean_of_both
from leaderboard.stats.reproductions.levels import Levels, RunLevels
from leaderboard.stats.reproductions.numbers import NO_BASELINE, UNDEFINED, LevelRow
from leaderboard.tables.record import Column, Files, Place, Table, columns_from

WAITING = "being computed"
OTHER_TOPICS = "other topics"
_NUMBERS = {"ktu": ("KTU", 2), "nrmse": ("nRMSE", 3), "er": ("ER", 2), "p": ("p", 3)}
"""Key of a number that decides a rating -> its name and decimals next to the rating."""


def reproductions(page: ReproductionsPage) -> Table[PairRow]:
    """One row per reproduction: of each level the word and the number that decides it."""
    return Table(
        f"{page.slug}-reproductions",
        f"{page.task}: reproductions by {page.measure.key}, {_under(page)}.",
        columns_from(
            PairRow,
            "run.name run.run_id run.team",
            Column("original", lambda row: row.original.name, "Reproduces", group="original"),
            Column("original_id", lambda row: row.original.run_id, shown=Place.DATA),
            "original.slug",
            Column("kind", kind, "Kind", shown=~Place.PAGE),
            *_level("documents", "Documents", "ktu", documents_word, ktu),
            *_level("topics", "Topics", "nrmse", topics_word, nrmse),
            *_level("effects", "Effects", "er", effects_word, er),
            Column("dri", dri, shown=Place.DATA),
            *_level("test", "Test", "p", word_of_test, p),
            Column("not_compared", lambda row: row.why or row.why_no_baseline, shown=Place.DATA),
        ),
        page.rows,
        legend=" ".join(f"{line}." for line in page.threshold_lines),
    )


def levels(page: ReproductionPage) -> Table[LevelRow]:
    """One row per number, by level, as in `leaderboard reproduce`."""
    run = page.row.run.name
    has_baseline = page.row.levels is not None and page.row.levels.baseline is not None
    of_two = Place.EVERYWHERE if has_baseline else Place.DATA
    advanced = "Advanced" if has_baseline else "Value"
    return Table(
        f"{run}-levels",
        f"{page.measure.key} of {page.row.original.name}, reproduced by {run}, {_under(page)}.",
        [
            Column("level", attrgetter("level"), "Level"),
            Column("number", attrgetter("number"), "Number"),
            Column("baseline", attrgetter("baseline"), "Baseline", digits=4, shown=of_two),
            Column("advanced", attrgetter("advanced"), advanced, digits=4),
            Column("both", attrgetter("both"), "Both", digits=4, shown=of_two),
            Column("word", attrgetter("word"), "Rating"),
        ],
        page.levels,
    )


def topics(page: ReproductionPage) -> Table[TopicScores]:
    """The scores of the original and of the run on every topic."""
    return _of_topics(page, page.topics, "topics")


def largest(page: ReproductionPage) -> Table[TopicScores]:
    """The topics that differ most."""
    return _of_topics(page, page.largest, "largest")


def metadata(page: ReproductionPage) -> Table[DifferingFact]:
    """The metadata differences of both runs."""
    original, reproduction = page.row.original.name, page.row.run.name
    return Table(
        f"{reproduction}-metadata",
        f"Metadata differences between {original} and {reproduction}.",
        [
            Column("key", attrgetter("key"), "Key"),
            Column("original", attrgetter("original"), original),
            Column("reproduction", attrgetter("other"), reproduction),
        ],
        page.metadata,
    )


def elsewhere(page: ReproductionPage) -> Table[PairRow]:
    """Every collection that the original was tried on."""
    return Table(
        f"{page.row.original.name}-collections",
        f"{page.row.original.name} on every collection with a reproduction, by {page.measure.key}.",
        columns_from(
            PairRow,
            "run.task run.name run.run_id",
            Column("kind", kind, "Kind"),
            Column("dri", dri, "DRI", digits=4),
            Column("er", er, "ER", digits=4),
            Column("mean_of_both", _mean_of_both, "Mean of both", digits=4),
            Column("difference", _difference, "Difference", digits=4),
            Column("p", _p_of_advanced, "p", digits=4),
        ),
        page.elsewhere,
    )


def facts(page: ReproductionsPage) -> dict[str, Any]:
    """All reproductions of a task as plain values at full precision."""
    return {**_head_facts(page), "reproductions": reproductions(page).facts()}


def page_facts(page: ReproductionPage) -> dict[str, Any]:
    """One reproduction as plain values at full precision."""
    row = page.row
    return {
        **_head_facts(page),
        "run": _run_facts(row.run),
        "original": _run_facts(row.original),
        "baseline": row.baseline and _run_facts(row.baseline),
        "original_baseline": row.original_baseline and _run_facts(row.original_baseline),
        "kind": kind(row),
        "not_compared": row.why or row.why_no_baseline,
        "is_complete": row.is_known,
        "words": {
            "documents": documents_word(row),
            "topics": topics_word(row),
            "effects": effects_word(row),
            "test": word_of_test(row),
        },
        "levels": levels(page).facts(),
        "topics": topics(page).facts(),
        "metadata": metadata(page).facts(),
        "other_collections": elsewhere(page).facts(),
    }


ALL_FILES: Files[ReproductionsPage] = Files(facts=facts, tables={"reproductions": reproductions})
FILES: Files[ReproductionPage] = Files(
    facts=page_facts,
    tables={
        "levels": levels,
        "topics": topics,
        "largest": largest,
        "metadata": metadata,
        "elsewhere": elsewhere,
    },
)


def kind(row: PairRow) -> str:
    """The kind of a reproduction: replicated if it is on the topics of another task."""
    return "replicated" if row.is_replication else "reproduced"


def documents_word(row: PairRow) -> str:
    """The word of the order of documents, or why it has none."""
    if row.levels is None or row.is_replication:
        return OTHER_TOPICS if row.levels else ""
    return WAITING if row.waiting else row.levels.documents_word or UNDEFINED


def topics_word(row: PairRow) -> str:
    """The word of the scores by topic, or why it has none."""
    if row.levels is None or row.is_replication:
        return OTHER_TOPICS if row.levels else ""
    return row.levels.topics_word or UNDEFINED


def effects_word(row: PairRow) -> str:
    """The word of the gain over the baseline, or why it has none."""
    if row.levels is None:
        return ""
    return NO_BASELINE if row.levels.baseline is None else row.levels.effects_word or UNDEFINED


def word_of_test(row: PairRow) -> str:
    """The word of the test, or why it has none."""
    return "" if row.levels is None else row.levels.test_word or UNDEFINED


def ktu(row: PairRow) -> float | None:
    """The smaller KTU of both runs; None where it is not known or not defined."""
    values = [run.documents.ktu for run in _runs(row.levels) if run.documents is not None]
    return None if row.waiting else min((value for value in values if value is not None), default=None)


def nrmse(row: PairRow) -> float | None:
    """The larger nRMSE of both runs; None where it is not defined."""
    return max((run.nrmse for run in _runs(row.levels) if run.nrmse is not None), default=None)


def er(row: PairRow) -> float | None:
    """ER; None without a baseline and where it is not defined."""
    effect = _effect(row)
    return None if effect is None else effect.er


def dri(row: PairRow) -> float | None:
    """DRI; None without a baseline and where it is not defined."""
    effect = _effect(row)
    return None if effect is None else effect.dri


def p(row: PairRow) -> float | None:
    """The smaller p of both runs that have the word of the test; None where it is not defined."""
    if row.levels is None:
        return None
    word = row.levels.test_word
    deciding = [run for run in _runs(row.levels) if row.levels.thresholds.test_word(run.change) == word]
    return min((run.change.p for run in deciding if run.change.p is not None), default=None)


def _level(
    key: str, head: str, number: str, word: Callable[[PairRow], str], value: Callable[[PairRow], float | None]
) -> list[Column[PairRow]]:
    """The word of a level with its number, for readers in one cell."""
    return [
        Column(key, word, head, words=lambda row: _in_words(word(row), number, value(row)), group="level"),
        Column(number, value, shown=Place.DATA),
    ]


def _in_words(word: str, number: str, value: float | None) -> str:
    if value is None:
        return word
    head, digits = _NUMBERS[number]
    written = short_p(value) if number == "p" else f"{value:.{digits}f}".replace("-", "−")
    return f"{word} ({head} {written})"


def _of_topics(page: ReproductionPage, rows: tuple[TopicScores, ...], name: str) -> Table[TopicScores]:
    original, reproduction, digits = page.row.original.name, page.row.run.name, page.measure.digits
    return Table(
        f"{reproduction}-{name}",
        f"{page.measure.key} of {original} and {reproduction} by topic.",
        [
            Column("topic", attrgetter("topic_id"), "Topic"),
            Column("title", attrgetter("title"), "Title", shown=~Place.PRINT),
            Column("original", attrgetter("original"), original, digits=digits, group="original"),
            Column("reproduction", attrgetter("other"), reproduction, digits=digits, group="other"),
            Column("difference", attrgetter("difference"), "Difference", digits=digits),
        ],
        rows,
    )


def _runs(of: Levels | None) -> list[RunLevels]:
    return [] if of is None else [run for run in (of.baseline, of.advanced) if run is not None]


def _effect(row: PairRow) -> Effect | None:
    return None if row.levels is None else row.levels.effect


def _mean_of_both(row: PairRow) -> float | None:
    if row.levels is None:
        return None
    return mean_of_both(row.levels.advanced.mean_original, row.levels.advanced.mean_other)


def _difference(row: PairRow) -> float | None:
    return None if row.levels is None else row.levels.advanced.change.mean


def _p_of_advanced(row: PairRow) -> float | None:
    return None if row.levels is None else row.levels.advanced.change.p


def _under(page: ReproductionHead) -> str:
    if page.basis is None:
        return "without judgments yet"
    return f"under {rests_on(page.basis.revision, page.basis.topics, page.basis.dialect)}"


def _head_facts(page: ReproductionHead) -> dict[str, Any]:
    return {
        "task": page.slug,
        "measure": page.measure.key,
        "measure_version": page.measure.version,
        "revision": page.basis and page.basis.revision,
        "dialect": page.basis and page.basis.dialect,
        "thresholds": asdict(page.thresholds),
    }


def _run_facts(run: NamedRun) -> dict[str, Any]:
    return {"run": run.name, "run_id": run.run_id, "team": run.team, "task": run.slug}

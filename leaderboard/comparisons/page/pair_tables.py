"""Comparison of two runs as plain values and tables: means, tests, topics, rankings, precision."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leaderboard.boards.page.scores.table import ScoreTable
from leaderboard.comparisons.page.pair import COMPAT, RECALLS, PairPage, TopicPair, margin_facts
from leaderboard.judging.page import side_by_side
from leaderboard.scoring.ops.evaluations.shown import rests_on
from leaderboard.scoring.ops.statistics.requests import WaitingResult
from leaderboard.scoring.ops.statistics.standings import Standing
from leaderboard.stats import standing as standing_stats
from leaderboard.stats.pairs.baseline import AgainstBaseline
from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.pairs.corrections import LEVEL
from leaderboard.stats.pairs.methods import BOTH_IN_ONE, TESTS
from leaderboard.stats.standing import ROPE
from leaderboard.tables.record import Column, Files, Place, Table

MANY_TOPICS = 1000
"""Number of topics from which effect sizes say more than p."""
MOST_NAMED = 5


def remarks(
    table: ScoreTable,
    standing: Standing | WaitingResult,
    baseline: int | None,
    against: AgainstBaseline | None,
) -> tuple[str, ...]:
    """Sentences above a comparison, runs in table order; fewer until it is computed."""
    sentences = [_one_topic(table)]
    if isinstance(standing, Standing):
        if against is not None and baseline is not None:
            sentences.append(_against(table, standing, against))
        sentences.append(_pairs(standing))
        sentences += [*_alike(table, standing), _many_topics(table, standing)]
    return tuple(filter(None, sentences))


def short_p(p: float) -> str:
    """A p value to three decimals, never rounded to 0.

    >>> short_p(0.0123), short_p(1e-9), short_p(0.0), short_p(1.0)
    ('.012', '< .001', '0', '1')
    """
    if p in (0, 1):
        return f"{p:.0f}"
    return "< .001" if p < 0.0005 else f"{p:.3f}".removeprefix("0")


def span(low: float | None, high: float | None, digits: int) -> str | None:
    """The limits of an interval of a difference as text; None without one."""
    return None if low is None or high is None else f"{low:+.{digits}f} to {high:+.{digits}f}"


def _one_topic(table: ScoreTable) -> str:
    if len(table.topics) > 1:
        return ""
    return "With one topic no significance test is possible, and a difference has no confidence interval."


def _title(standing: Standing) -> str:
    drawn = f", {standing.table.resamples:,} resamples" if standing.table.resamples else ""
    return f"{standing.method.title}{drawn}, {LEVEL:.1%}"


def _pairs(standing: Standing) -> str:
    if standing.topics == 1:
        return ""
    title = _title(standing)
    if not standing.table.reachable:
        return (
            f"This test ({title}) cannot find any pair significantly different here, whatever the scores: "
            "its smallest possible p on these topics is too large for this number of pairs. Use the paired "
            "t-test."
        )
    told_apart = int(np.count_nonzero(standing.signs > 0))
    if standing.pairs == 1:
        return f"The two runs are {'' if told_apart else 'not '}significantly different ({title})."
    share = told_apart / standing.pairs
    return f"{told_apart:,} of {standing.pairs:,} pairs ({share:.0%}) are significantly different ({title})."


def _against(table: ScoreTable, standing: Standing, against: AgainstBaseline) -> str:
    if standing.topics == 1 or standing.pairs == 1:
        return ""
    name = table.runs[against.baseline].name
    if not against.reachable:
        return (
            f"This test ({_title(standing)}) cannot find any run significantly different from {name}, "
            "whatever the scores. Use the paired t-test."
        )
    better, worse = (int(np.count_nonzero(against.verdicts == sign)) for sign in (1, -1))
    over = f"{standing.table.runs - 1:,} pairs"
    if standing.method.correction.name in BOTH_IN_ONE:
        over = f"{standing.pairs:,} pairs, because Tukey's test corrects for all"
    return (
        f"Of the other {standing.table.runs - 1:,} runs, {better:,} {_are(better)} significantly better than "
        f"{name} and {worse:,} {_are(worse)} significantly worse ({_title(standing)}, corrected over {over})."
    )


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _alike(table: ScoreTable, standing: Standing) -> list[str]:
    """Sentences on pairs with constant differences, whose t is 0 or infinite."""
    if standing.topics == 1:
        return []
    flat = np.flatnonzero(standing.table.low == standing.table.high)
    first, second = pairs(standing.table.runs)
    names = [run.name for run in table.runs]
    same = [(names[first[at]], names[second[at]]) for at in flat if standing.table.difference[at] == 0]
    certain = [at for at in flat if standing.table.difference[at] != 0 and standing.table.p[at] == 0]
    shifted = [(names[first[at]], names[second[at]]) for at in certain]
    sentences = []
    if same:
        sentences.append(
            f"The same score on every topic: {_named(same)}. They do not differ by this measure."
        )
    if shifted:
        sentences.append(
            f"The same difference on every topic: {_named(shifted)}. Without any variance, t is infinite "
            "and p is 0."
        )
    return sentences


def _named(pairs_of_runs: Sequence[tuple[str, str]]) -> str:
    named = [f"{first} and {second}" for first, second in pairs_of_runs[:MOST_NAMED]]
    more = len(pairs_of_runs) - len(named)
    return "; ".join([*named, *([f"and {more:,} more pairs"] if more else [])])


def _many_topics(table: ScoreTable, standing: Standing) -> str:
    if len(table.topics) < MANY_TOPICS or not standing.table.reachable:
        return ""
    return (
        f"With {len(table.topics):,} topics even tiny differences are significant: look at the differences "
        "and effect sizes first."
    )


EFFECTS = {
    "d_z": ("Effect size d_z", "Mean difference over the standard deviation of the differences"),
    "g_z": ("g_z", "d_z corrected for few topics (Hedges)"),
    "d_av": ("d_av", "Mean difference over the mean standard deviation of the two runs"),
    "superiority": ("Superiority", "Share of topics on which the first run is better; ties count half"),
}
"""Effect size -> head and title of its column."""
MEANINGS = (
    ("overlap", "Share of the top documents in common"),
    ("ao", "Average overlap: mean of the overlaps at depth 1 and beyond"),
    ("rbo_ext", "Rank-biased overlap, extrapolated: 1 for the same ranking"),
    ("rbo_min", "Lower bound of RBO, for any continuation of the rankings"),
    ("rbo_max", "Upper bound of RBO"),
    ("rbo_res", "Upper bound minus lower bound"),
    (
        "footrule_slide",
        "Mean number of ranks by which a document in either top moves: footrule distance per document",
    ),
    ("footrule_fagin", "Sum of the moves, with missing documents at the next rank: Fagin’s footrule"),
    (
        "kendall_slide",
        "Share of pairs in opposite order, with missing documents at the next rank: normalised Kendall "
        "distance",
    ),
    (
        "kendall_fagin",
        "Pairs in opposite order; pairs that one ranking does not order count half: Fagin’s Kendall distance",
    ),
)
"""Prefix of a coefficient's name -> its meaning."""
OF_TIES = (
    ("ties=a", "rbo_ext with equal scores as ties in unknown order"),
    ("ties=w", "rbo_ext with tied documents sharing a rank"),
    ("ties=b", "Like ties=a, but a ranking agrees fully with itself"),
)
OF_COMPAT = "Similarity to the best rankings that the judgments allow, from 0 to 1"


@dataclass(frozen=True, slots=True)
class RankingLikeness:
    """Similarity of two rankings by a coefficient; if run is set, of its ranking and the ideal."""

    name: str
    value: float
    meaning: str
    run: str = ""


def facts(page: PairPage) -> dict[str, Any]:
    """The comparison as plain values at full precision."""
    alike = page.rankings.comparison
    return {
        "task": page.slug,
        "a": {"run": page.first.name, "run_id": page.first.run_id, "team": page.first.team},
        "b": {"run": page.second.name, "run_id": page.second.run_id, "team": page.second.team},
        "revision": page.basis.revision,
        "dialect": page.basis.dialect,
        "measure_version": page.measure.version,
        **standing_stats.two_runs_facts(page.scores, alike, page.measure.key),
        "on_board": page.on_board
        and {
            "verdict": page.on_board.word,
            "ranked_runs": page.on_board.runs,
            "topics_needed": page.on_board.needed,
        },
        "gate": None if page.gated is None else margin_facts(page.gated),
        "effect_sizes": dict(page.scores.effects),
        "resamples": dict(page.scores.resamples),
        "bootstrap_interval": page.scores.bootstrap,
        "likely": {"rope": ROPE, "worse_equal_better": page.scores.likely},
        "people": None if page.people is None else side_by_side.results_facts(page.people),
        "rankings_of_topics": len(page.rankings.topics),
        "rankings_with_ties": {key: float(values.mean()) for key, values in page.rankings.with_ties.items()},
        "compat": {
            side: float(values.mean()) if len(values) else None
            for side, values in zip("ab", page.rankings.compat, strict=True)
        },
        "overlap_by_depth": [] if alike is None else alike.overlap_by_depth.tolist(),
        "precision_at_recall": {
            f"{recall:g}": [first, second] for recall, first, second in _recall_rows(page)
        },
        "by_topic": {
            topic.topic_id: {"a": topic.first, "b": topic.second, "rankings": topic.alike}
            for topic in page.topics
        },
    }


def topics(page: PairPage) -> Table[TopicPair]:
    """Table of both scores by topic, by decreasing difference, with similarity of rankings."""
    first, second, digits = page.first.name, page.second.name, page.measure.digits
    alike = page.rankings.comparison
    keys = [*(alike.by_topic if alike is not None else ()), *page.rankings.with_ties]
    return Table(
        f"{first}-{second}",
        (
            f"{page.task}: {page.measure.key} of {first} and {second} by topic, under {_under(page)}; "
            f"{page.measure.direction} is better."
        ),
        [
            Column("topic", lambda row: row.topic_id, "Topic"),
            Column("title", lambda row: row.title, "Title", shown=~Place.PRINT),
            Column(first, lambda row: row.first, digits=digits, group="first"),
            Column(second, lambda row: row.second, digits=digits, group="second"),
            Column("difference", lambda row: row.difference, "Difference", digits=digits),
            *(_of_rankings(page, key) for key in keys),
            *(_compat(name, at) for at, name in enumerate((first, second))),
        ],
        page.topics,
    )


def means(page: PairPage) -> Table[PairPage]:
    """Table of the two means and their difference, in one row."""
    digits, scores = page.measure.digits, page.scores
    return Table(
        f"{page.first.name}-{page.second.name}-means",
        f"Mean {page.measure.key}, under {_under(page)}; {page.measure.direction} is better.",
        [
            Column(page.first.name, lambda _: scores.first, digits=digits, group="first"),
            Column(page.second.name, lambda _: scores.second, digits=digits, group="second"),
            Column("difference", lambda _: scores.difference, "Difference", digits=digits),
            Column("low", lambda _: scores.low, shown=Place.DATA),
            Column("high", lambda _: scores.high, shown=Place.DATA),
            Column(
                "interval",
                lambda _: None,
                "95% interval",
                words=lambda _: span(scores.low, scores.high, digits),
                digits=digits,
                shown=~Place.DATA,
            ),
            *(_effect(key) for key in EFFECTS),
        ],
        [page],
    )


def tests(page: PairPage) -> Table[str]:
    """Table of the tests with their p values."""
    p, resamples = page.scores.tests, page.scores.resamples
    return Table(
        f"{page.first.name}-{page.second.name}-tests",
        (
            f"Tests of the difference in {page.measure.key} between {page.first.name} and "
            f"{page.second.name}, uncorrected, under {_under(page)}."
        ),
        [
            Column("test", lambda test: test, "Test", words=lambda test: TESTS[test].title),
            Column("p", lambda test: p[test], words=lambda test: _p(p[test]), digits=4),
            Column("question", lambda test: TESTS[test].question, "Question"),
            Column("resamples", lambda test: resamples[test], "Resamples", digits=0),
        ],
        list(TESTS),
    )


def rankings(page: PairPage) -> Table[RankingLikeness]:
    """Table of ranking similarity, as means over topics with at least one ranking."""
    alike = page.rankings.comparison
    with_ties = {name: float(values.mean()) for name, values in page.rankings.with_ties.items()}
    coefficients = {} if alike is None else {**alike.means, **with_ties}
    names = (page.first.name, page.second.name)
    compat = [
        RankingLikeness(COMPAT, float(values.mean()), OF_COMPAT, run)
        for run, values in zip(names, page.rankings.compat, strict=True)
        if len(values)
    ]
    return _likenesses(
        [*_read(coefficients.items()), *(compat if alike is not None else ())],
        name=f"{page.first.name}-{page.second.name}-rankings",
        caption=f"Rankings of {names[0]} and {names[1]}: means over {len(page.rankings.topics)} topics.",
        head="Mean",
    )


def rankings_of_topic(topic: TopicPair) -> Table[RankingLikeness]:
    """Table of ranking similarity on one topic."""
    return _likenesses(
        _read(topic.alike.items()),
        name=f"rankings-{topic.topic_id}",
        caption=f"Rankings of topic {topic.topic_id}",
        head="Value",
    )


def recall(page: PairPage) -> Table[tuple[float, float, float]]:
    """Table of mean interpolated precision at eleven recall levels."""
    return Table(
        f"{page.first.name}-{page.second.name}-recall",
        (
            "Interpolated precision at eleven recall levels, means over "
            f"{len(page.rankings.topics)} topics, relevant is grade {page.level} and above."
        ),
        [
            Column("recall", lambda row: row[0], "Recall", digits=1),
            Column(page.first.name, lambda row: row[1], digits=4),
            Column(page.second.name, lambda row: row[2], digits=4),
        ],
        _recall_rows(page),
    )


FILES = Files(
    facts=facts,
    tables={"topics": topics, "means": means, "tests": tests, "rankings": rankings, "recall": recall},
)


def _under(page: PairPage) -> str:
    return rests_on(page.basis.revision, page.basis.topics, page.basis.dialect, page.basis.left_out)


def _of_rankings(page: PairPage, key: str) -> Column[TopicPair]:
    alike = page.rankings.comparison
    is_shown = alike is not None and key in alike.by_topic and key.startswith(("overlap", "rbo_ext"))
    return Column(
        key, lambda row: row.alike.get(key), digits=3, shown=~Place.PRINT if is_shown else Place.DATA
    )


def _compat(run: str, side: int) -> Column[TopicPair]:
    return Column(
        f"{COMPAT} of {run}", lambda row: None if row.compat is None else row.compat[side], shown=Place.DATA
    )


def _effect(key: str) -> Column[PairPage]:
    head, title = EFFECTS[key]
    return Column(key, lambda page: page.scores.effects[key], head, title=title, digits=3)


def _likenesses(
    rows: Iterable[RankingLikeness], *, name: str, caption: str, head: str
) -> Table[RankingLikeness]:
    return Table(
        name,
        caption,
        [
            Column("what", lambda row: f"{row.name} of {row.run}" if row.run else row.name, "What"),
            Column(head.lower(), lambda row: row.value, head, digits=4),
            Column("meaning", lambda row: row.meaning, "Meaning"),
        ],
        list(rows),
    )


def _read(values: Iterable[tuple[str, float]]) -> list[RankingLikeness]:
    return [RankingLikeness(name, value, _meaning(name)) for name, value in values]


def _meaning(name: str) -> str:
    of_ties = (text for part, text in OF_TIES if part in name)
    return next(of_ties, "") or next((text for part, text in MEANINGS if name.startswith(part)), "")


def _recall_rows(page: PairPage) -> list[tuple[float, float, float]]:
    first, second = (points.tolist() for points in page.rankings.precision)
    return list(zip(RECALLS, first, second, strict=True))


def _p(p: float | None) -> str | None:
    if p is None:
        return None
    return f"{p:.4f}" if p >= 0.0001 or p == 0 else f"{p:.1e}"

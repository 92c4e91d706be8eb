"""Two runs compared, as plain values and as tables: means, tests, topics, rankings, precision by recall."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from leaderboard.pages.comparisons.pair import PairPage, TopicPair
from leaderboard.pages.comparisons.paired_rankings import COMPAT, RECALLS
from leaderboard.pages.comparisons.words import span
from leaderboard.pages.side_by_side import results
from leaderboard.services.evaluations.shown import rests_on
from leaderboard.stats.pairs.methods import TESTS
from leaderboard.stats.standing import two_runs
from leaderboard.stats.standing.two_runs import ROPE
from leaderboard.tables.record import Column, Files, Place, Table

EFFECTS = {
    "d_z": ("Effect size d_z", "Mean difference over the standard deviation of the differences"),
    "g_z": ("g_z", "d_z corrected for few topics (Hedges)"),
    "d_av": ("d_av", "Mean difference over the mean standard deviation of the two runs"),
    "superiority": ("Superiority", "Share of topics on which the first is better, ties counting half"),
}
"""Effect size -> head and title of its column."""
MEANINGS = (
    ("overlap", "Share of the top documents that both have"),
    ("ao", "Average overlap: mean of the overlaps at depths from 1 on"),
    ("rbo_ext", "Rank-biased overlap, extrapolated: 1 for the same ranking"),
    ("rbo_min", "The least it can be, whatever follows the last documents"),
    ("rbo_max", "The most it can be"),
    ("rbo_res", "The difference of these two"),
    (
        "footrule_slide",
        "Ranks a document is moved by, per document of either top: the lecture’s footrule distance",
    ),
    ("footrule_fagin", "Sum of the moves, documents one lacks at the next rank: Fagin’s footrule"),
    (
        "kendall_slide",
        "Share of pairs ordered oppositely, absent documents at the next rank: the lecture’s Kendall "
        "distance",
    ),
    (
        "kendall_fagin",
        "Pairs ordered oppositely, those one says nothing of counting half: Fagin’s Kendall distance",
    ),
)
"""How the name of a coefficient of two rankings begins -> how to read it."""
OF_TIES = (
    ("ties=a", "rbo_ext with equal scores as ties: their order is not known"),
    ("ties=w", "rbo_ext with documents of equal score sharing a rank"),
    ("ties=b", "As with ties=a, but a ranking agrees fully with itself"),
)
OF_COMPAT = "How alike its rankings are to the best that the judgments allow, from 0 to 1"


@dataclass(frozen=True, slots=True)
class RankingLikeness:
    """How alike two rankings are by a coefficient; of one run's to the best possible where it names one."""

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
        **two_runs.facts(page.scores, alike, page.measure.key),
        "on_board": page.on_board
        and {
            "verdict": page.on_board.word,
            "ranked_runs": page.on_board.runs,
            "topics_needed": page.on_board.needed,
        },
        "effect_sizes": dict(page.scores.effects),
        "resamples": dict(page.scores.resamples),
        "bootstrap_interval": page.scores.bootstrap,
        "likely": {"rope": ROPE, "worse_equal_better": page.scores.likely},
        "people": None if page.people is None else results.facts(page.people),
        "rankings_of_topics": len(page.rankings.topics),
        "rankings_with_ties": {key: float(values.mean()) for key, values in page.rankings.with_ties.items()},
        "compat": {
            side: float(values.mean()) if len(values) else None
            for side, values in zip("ab", page.rankings.compat, strict=True)
        },
        "overlap_by_depth": [] if alike is None else alike.overlap_by_depth.tolist(),
        "precision_at_recall": {f"{recall:g}": [one, two] for recall, one, two in _recall_rows(page)},
        "by_topic": {
            topic.topic_id: {"a": topic.first, "b": topic.second, "rankings": topic.alike}
            for topic in page.topics
        },
    }


def topics(page: PairPage) -> Table[TopicPair]:
    """Both scores of every topic, best of the first run first, and how alike the rankings are."""
    one, two, digits = page.first.name, page.second.name, page.measure.digits
    alike = page.rankings.comparison
    keys = [*(alike.by_topic if alike is not None else ()), *page.rankings.with_ties]
    return Table(
        f"{one}-{two}",
        (
            f"{page.task}: {page.measure.key} of {one} and {two} by topic, under {_under(page)}; "
            f"{page.measure.direction} is better."
        ),
        [
            Column("topic", lambda row: row.topic_id, "Topic"),
            Column("title", lambda row: row.title, "Title", shown=~Place.PRINT),
            Column(one, lambda row: row.first, digits=digits, group="first"),
            Column(two, lambda row: row.second, digits=digits, group="second"),
            Column("difference", lambda row: row.difference, "Difference", digits=digits),
            *(_of_rankings(page, key) for key in keys),
            *(_compat(name, at) for at, name in enumerate((one, two))),
        ],
        page.topics,
    )


def means(page: PairPage) -> Table[PairPage]:
    """The two means and what is said of their difference, in one row."""
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
    """The tests by key, each with its p."""
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
            Column("question", lambda test: TESTS[test].question, "What it asks"),
            Column("resamples", lambda test: resamples[test], "Resamples", digits=0),
        ],
        list(TESTS),
    )


def rankings(page: PairPage) -> Table[RankingLikeness]:
    """How alike the rankings are, as means over the topics for which either run has one."""
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
    """How alike the rankings of one topic are."""
    return _likenesses(
        _read(topic.alike.items()),
        name=f"rankings-{topic.topic_id}",
        caption=f"The two rankings of topic {topic.topic_id}",
        head="Value",
    )


def recall(page: PairPage) -> Table[tuple[float, float, float]]:
    """Mean interpolated precision of both at eleven levels of recall."""
    return Table(
        f"{page.first.name}-{page.second.name}-recall",
        (
            "Interpolated precision at eleven levels of recall, means over "
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
            Column("meaning", lambda row: row.meaning, "How to read it"),
        ],
        list(rows),
    )


def _read(values: Iterable[tuple[str, float]]) -> list[RankingLikeness]:
    return [RankingLikeness(name, value, _meaning(name)) for name, value in values]


def _meaning(name: str) -> str:
    of_ties = (text for part, text in OF_TIES if part in name)
    return next(of_ties, "") or next((text for part, text in MEANINGS if name.startswith(part)), "")


def _recall_rows(page: PairPage) -> list[tuple[float, float, float]]:
    one, two = (points.tolist() for points in page.rankings.precision)
    return list(zip(RECALLS, one, two, strict=True))


def _p(p: float | None) -> str | None:
    if p is None:
        return None
    return f"{p:.4f}" if p >= 0.0001 or p == 0 else f"{p:.1e}"

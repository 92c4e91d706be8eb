"""The numbers of a reproduction as rows, level by level, and its thresholds as lines of text."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated

from leaderboard.stats.reproductions.effects import relative_change
from leaderboard.stats.reproductions.levels import Levels, RunLevels, Thresholds
from leaderboard.tables.record import Shown

UNDEFINED = "not defined"
NO_BASELINE = "no baseline named"
_ORDERS = {
    "KTU": "ktu",
    "KTU(repro_eval)": "ktu_by_spelling",
    "RBO(p=0.95), as far as seen": "rbo",
    "RBO(p=0.95), least": "rbo_min",
    "RBO(p=0.95), likely": "rbo_ext",
    "RBO(p=0.95), most": "rbo_max",
    "RBO(repro_eval)": "rbo_repro_eval",
}
"""Similarity of two orders of documents -> its name in DocumentOrder."""


@dataclass(frozen=True, slots=True)
class LevelRow:
    """One number; both is for what is one number of both runs together, word only for the deciding number.

    baseline is None if none is named.
    """

    level: Annotated[str, Shown("level")]
    number: Annotated[str, Shown("number")]
    baseline: Annotated[float | None, Shown("baseline")]
    advanced: Annotated[float | None, Shown("advanced")]
    both: Annotated[float | None, Shown("both")]
    word: Annotated[str, Shown("word")]


def level_rows(levels: Levels) -> list[LevelRow]:
    """One row per number: documents and topics where both runs have the same topics, effects, test."""
    return [*_documents(levels), *_topics(levels), *_effects(levels), *_test(levels)]


def threshold_lines(thresholds: Thresholds, *, same_topics: bool) -> list[str]:
    """Thresholds of the words, one line per number; same_topics: whether documents and topics have words."""
    ktu, alpha, margin = thresholds.ktu, thresholds.alpha, thresholds.margin
    far = {
        **({"nRMSE": thresholds.nrmse} if same_topics else {}),
        "DRI, above or below 0": thresholds.dri,
        "ER, above or below 1": thresholds.er,
    }
    test = f"off below p {alpha:g}, close otherwise, same if all scores are equal"
    within = "" if margin is None else f" or the difference is within {margin:g} either way (TOST, {alpha:g})"
    order = f"KTU: same from {1 - ktu.same:g}, close from {1 - ktu.close:g}, else off"
    return [
        *([order] if same_topics else []),
        *(
            f"{name}: same up to {threshold.same:g}, close up to {threshold.close:g}, else off"
            for name, threshold in far.items()
        ),
        f"test: {test}{within}",
    ]


def _documents(levels: Levels) -> list[LevelRow]:
    if levels.advanced.documents is None:
        return []
    word = levels.documents_word or UNDEFINED
    return [
        _of_runs(levels, "documents", number, attrgetter(f"documents.{name}"), word if name == "ktu" else "")
        for number, name in _ORDERS.items()
    ]


def _topics(levels: Levels) -> list[LevelRow]:
    if levels.advanced.rmse is None:
        return []
    return [
        _of_runs(levels, "topics", "RMSE", attrgetter("rmse")),
        _of_runs(levels, "topics", "nRMSE", attrgetter("nrmse"), levels.topics_word or UNDEFINED),
    ]


def _effects(levels: Levels) -> list[LevelRow]:
    effect = levels.effect
    rc = _of_runs(levels, "effects", "RC", lambda run: relative_change(run.mean_original, run.mean_other))
    if effect is None:
        return [_of_both("ER", None, NO_BASELINE), rc]
    return [
        _of_both("RI, original", effect.ri_original),
        _of_both("RI, again", effect.ri_other),
        _of_both("DRI", effect.dri),
        _of_both("ER", effect.er, levels.effects_word or UNDEFINED),
        rc,
    ]


def _test(levels: Levels) -> list[LevelRow]:
    rows = [
        _of_runs(levels, "test", "mean, original", attrgetter("mean_original")),
        _of_runs(levels, "test", "mean, again", attrgetter("mean_other")),
        _of_runs(levels, "test", "difference", attrgetter("change.mean")),
        _of_runs(levels, "test", "95% interval, low", lambda run: _interval(run)[0]),
        _of_runs(levels, "test", "95% interval, high", lambda run: _interval(run)[1]),
        _of_runs(levels, "test", "p", attrgetter("change.p"), levels.test_word or UNDEFINED),
    ]
    margin = levels.thresholds.margin
    if margin is not None:
        within = f"p within {margin:g} (TOST)"
        rows.append(_of_runs(levels, "test", within, lambda run: run.change.p_within(margin)))
    return rows


def _interval(run: RunLevels) -> tuple[float, float] | tuple[None, None]:
    return run.change.interval() or (None, None)


def _of_runs(
    levels: Levels, level: str, number: str, value: Callable[[RunLevels], float | None], word: str = ""
) -> LevelRow:
    baseline = None if levels.baseline is None else value(levels.baseline)
    return LevelRow(level, number, baseline, value(levels.advanced), None, word)


def _of_both(number: str, value: float | None, word: str = "") -> LevelRow:
    return LevelRow("effects", number, None, None, value, word)

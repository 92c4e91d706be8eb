"""Runs scored in Python: one or several, by any measures, as `leaderboard evaluate` scores files."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, overload

import numpy as np

from leaderboard.interface.columns import table_of
from leaderboard.interface.inputs import DataFrame, File, QrelsInput, Run, RunInput, qrels_from, run_from
from leaderboard.interface.results import Scores, ScoresByRun
from leaderboard.trec.scores.scoring import Inputs, Options, Ranked, Scorer

OneRun: TypeAlias = File | Run | Mapping[str, Mapping[str, float]] | DataFrame
"""A run in a form that several may be given in."""
Measures: TypeAlias = str | Iterable[object]
"""The name of a measure, or several, or what reads as one, such as the measures of ir_measures."""


@overload
def evaluate(  # type: ignore[overload-overlap]
    qrels: QrelsInput,
    runs: OneRun,
    measures: Measures = ...,
    *,
    level: int = ...,
    dialect: int = ...,
    depth: int | None = ...,
    judged_only: bool = ...,
    complete: bool = ...,
    collection_size: int | None = ...,
) -> Scores: ...
@overload
def evaluate(  # type: ignore[overload-overlap]
    qrels: QrelsInput,
    runs: Sequence[OneRun] | Mapping[str, OneRun],
    measures: Measures = ...,
    *,
    level: int = ...,
    dialect: int = ...,
    depth: int | None = ...,
    judged_only: bool = ...,
    complete: bool = ...,
    collection_size: int | None = ...,
) -> ScoresByRun: ...
@overload
def evaluate(
    qrels: QrelsInput,
    runs: RunInput,
    measures: Measures = ...,
    *,
    level: int = ...,
    dialect: int = ...,
    depth: int | None = ...,
    judged_only: bool = ...,
    complete: bool = ...,
    collection_size: int | None = ...,
) -> Scores: ...
def evaluate(
    qrels: QrelsInput,
    runs: Any,
    measures: Measures = ("nDCG@10", "AP"),
    *,
    level: int = 1,
    dialect: int = 10,
    depth: int | None = None,
    judged_only: bool = False,
    complete: bool = True,
    collection_size: int | None = None,
) -> Scores | ScoresByRun:
    """The scores of a run, or of several by their names.

    qrels, runs: a path or an open file in any form that `leaderboard evaluate` reads, also compressed; what
    `read_qrels` or `read_run` gave; topic -> docno -> number; a data frame of pandas or polars; columns; or
    named tuples. Several runs are a list of them, or a dictionary of them by name. measures: names such as
    nDCG@10, map, P.5,10 or all_trec. level: the lowest relevant grade, for measures that take one. dialect:
    whose, trec_eval 9 or 10. depth: how many documents of a topic count. judged_only: unjudged documents are
    left out. complete: a judged topic that a run misses counts as an empty ranking, otherwise not at all.
    Raises Invalid, with line, value, rule and remedy where there are any.
    """
    options = Options(names_of(measures), level, dialect, depth, judged_only, complete)
    scorer = Scorer(Inputs(qrels_from(qrels), collection_size), options)
    several = several_of(runs)
    if several is None:
        return Scores(scorer.scores(run_from(runs)), level)
    return ScoresByRun(Scores(report, level) for report in scorer.all(several))


def names_of(measures: Measures) -> tuple[str, ...]:
    """The names of measures; if none is given, the two that most people ask for."""
    return (measures,) if isinstance(measures, str) else tuple(map(str, measures))


def several_of(runs: Any) -> list[Ranked] | None:
    """The runs of a list or of a dictionary by name, where it is one of runs; else None: it is one run."""
    if isinstance(runs, Mapping):
        first = next((each for each in runs.values() if not _is_empty(each)), None)
        # A run maps topics to dictionaries of numbers, several runs map names to runs.
        is_run = isinstance(first, Mapping) and not isinstance(next(iter(first.values())), Mapping)
        if is_run or not _is_run(first):
            return None
        return [run_from(run, str(name)) for name, run in runs.items()]
    if not isinstance(runs, list | tuple) or hasattr(runs, "_fields") or not runs:
        return None
    if not _is_run(runs[0]) and not isinstance(runs[0], list):
        return None
    return [run_from(run, name_of(run, number)) for number, run in enumerate(runs, 1)]


def _is_empty(each: object) -> bool:
    return isinstance(each, Mapping) and not each


def _is_run(each: object) -> bool:
    """Whether something may be one of several runs: a path, a file, a dictionary or a table."""
    if isinstance(each, str | os.PathLike | Run | Mapping) or hasattr(each, "read"):
        return True
    return not isinstance(each, np.generic) and table_of(each) is not None


def name_of(run: object, number: int) -> str:
    """Name of one of several runs; files and runs that were read have names of their own."""
    has_name = isinstance(run, str | os.PathLike | Run) or hasattr(run, "read")
    return "" if has_name else f"run {number}"

"""This program's measures as a provider of ir_measures, which this module needs."""

from collections.abc import Iterable, Iterator
from typing import Any

import ir_measures
from ir_measures import providers
from ir_measures.util import Metric

from leaderboard.errors import UnknownMeasure
from leaderboard.interface.inputs import qrels_from, run_from
from leaderboard.measures.binding import BoundMeasure, with_level
from leaderboard.measures.grammar import parse
from leaderboard.trec.scores.scoring import Inputs, Options, Scorer

DIALECT = 9
"""The trec_eval that ir_measures' usual provider, pytrec_eval, is compiled from."""


class LeaderboardProvider(providers.Provider):
    """Computes measures of rankings with graded judgments."""

    NAME = "leaderboard"

    def supports(self, measure: Any) -> bool:
        """Whether a measure means the same here."""
        measure.validate_params()
        return _bound(measure) is not None

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> "LeaderboardEvaluator":
        return LeaderboardEvaluator(list(measures), qrels)


class LeaderboardEvaluator(providers.Evaluator):
    """Scores runs against one set of judgments."""

    def __init__(self, measures: list[Any], qrels: Any) -> None:
        self._bound = {measure: _required(measure) for measure in measures}
        names = [bound.key for bound in self._bound.values()]
        self._scorer = Scorer(Inputs(qrels_from(qrels)), Options(names, dialect=DIALECT, complete=False))
        super().__init__(measures, set(self._scorer.topics))

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        report = self._scorer.scores_if_common(run_from(run))
        if report is None:
            return
        for measure, bound in self._bound.items():
            for topic, value in zip(report.topics, report.scores[bound].tolist(), strict=True):
                yield Metric(query_id=topic, measure=measure, value=value)


def register(*, first: bool = True) -> LeaderboardProvider:
    """Make the provider known to ir_measures; first: its functions then ask it before all others."""
    ir_providers: Any = providers
    provider: LeaderboardProvider | None = ir_providers.registry.get(LeaderboardProvider.NAME)
    if provider is None:
        provider_class: Any = LeaderboardProvider
        provider = ir_providers.register(provider_class())
    assert provider is not None, "it was registered"
    pipeline = ir_measures.DefaultPipeline.providers
    if first and provider not in pipeline:
        pipeline.insert(0, provider)
    return provider


def _bound(measure: Any) -> BoundMeasure | None:
    """The measure here that is the same; None if absent."""
    try:
        bound = with_level(parse(str(measure)), 1)
    except UnknownMeasure:
        return None
    return bound if bound.measure.needs <= {"graded"} else None


def _required(measure: Any) -> BoundMeasure:
    bound = _bound(measure)
    if bound is None:
        raise ValueError(f"unsupported measure {measure}")
    return bound

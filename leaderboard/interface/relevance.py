"""pytrec_eval's evaluator on this program's kernel: the same signature, the same names."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from leaderboard.interface.evaluating import names_of
from leaderboard.interface.inputs import Qrels, Run, qrels_from, run_from
from leaderboard.measures.binding import LEAST_SCORE, BoundMeasure
from leaderboard.measures.selection import select
from leaderboard.measures.trec_families import BY_NAME
from leaderboard.measures.trec_lines import lines_of
from leaderboard.trec.scores.report import RunScores
from leaderboard.trec.scores.scoring import Inputs, Options, Scorer

DIALECT = 9
"""The trec_eval that pytrec_eval is compiled from."""
_SEVERAL = re.compile(r"(?P<family>.+)_(?P<given>[\d.]+(,[\d.]+)+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Named:
    """A measure under the name that pytrec_eval has for it."""

    name: str
    measure: BoundMeasure


class RelevanceEvaluator:
    """Evaluates runs against judgments as pytrec_eval.RelevanceEvaluator does.

    measures: trec_eval's names, with parameters after a dot or an underscore (map, ndcg_cut.10, P_5,10), its
    groups such as official, and every name of `evaluate`, such as nDCG@10.
    """

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, int]] | Qrels,
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool | int = False,
    ) -> None:
        chosen = select(list(map(_dotted, names_of(measures))), DIALECT)
        options = Options(
            [measure.key for measure in chosen],
            relevance_level,
            DIALECT,
            judged_only=bool(judged_docs_only_flag),
        )
        self._scorer = Scorer(Inputs(qrels_from(query_relevance)), options)
        self._judged = frozenset(self._scorer.topics)
        self._named = [
            _Named(line.name, line.measure)
            for line in lines_of(self._scorer.measures, relevance_level)
            if line.measure is not None and not line.measure.measure.text
        ]

    def evaluate(self, scores: Mapping[str, Mapping[str, float]] | Run) -> dict[str, dict[str, float]]:
        """Topic -> name -> score, for the topics that the run has and the judgments have.

        A run without such a topic gives an empty dictionary. Raises Invalid for a score that is not a finite
        number.
        """
        run: Run | Mapping[str, Mapping[str, float]] = scores
        if isinstance(scores, Run):
            topics = self._judged & set(scores.topics)
        else:
            run = {topic: documents for topic, documents in scores.items() if str(topic) in self._judged}
            topics = self._judged & set(map(str, run))
        if not topics:
            return {}
        report = self._scorer.scores_if_common(run_from(run)) or self._scorer.empty()
        names = [named.name for named in self._named]
        rows = zip(*(_values(report, named.measure) for named in self._named), strict=True)
        return {
            topic: dict(zip(names, row, strict=True))
            for topic, row in zip(report.topics, rows, strict=True)
            if topic in topics
        }


def _values(report: RunScores, measure: BoundMeasure) -> list[float]:
    """The scores of every topic; for a geometric mean their logarithms, as pytrec_eval has them."""
    scores: list[float] = report.scores[measure].tolist()
    if measure.measure.aggregate == "geometric":
        return [math.log(max(score, LEAST_SCORE)) for score in scores]
    return scores


def _dotted(name: str) -> str:
    """Several parameters after an underscore, as pytrec_eval takes them, as trec_eval writes them.

    >>> _dotted("P_5,10"), _dotted("ndcg_cut_10"), _dotted("iprec_at_recall_0.10,0.20")
    ('P.5,10', 'ndcg_cut_10', 'iprec_at_recall.0.10,0.20')
    """
    match = _SEVERAL.fullmatch(name)
    return f"{match['family']}.{match['given']}" if match and match["family"] in BY_NAME else name

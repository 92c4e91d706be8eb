"""Registry of pooling methods: names, parameters, purpose and source."""

from collections.abc import Mapping
from dataclasses import dataclass

from leaderboard.pooling.parameters import (
    BETA,
    BUDGET,
    CREDIT,
    FIRST_CITATIONS,
    FIRST_REFERENCES,
    FUSION,
    POOL_DEPTH,
    PRIORITIES,
    STAGE_DEPTH,
    STRATA,
    TOP,
    K,
    P,
    Parameter,
)


@dataclass(frozen=True, slots=True)
class Method:
    """A method for selecting and ordering the documents of a topic to judge."""

    name: str
    title: str
    question: str
    """The documents it selects, in one sentence."""
    citation: str
    parameters: tuple[Parameter, ...]
    adaptive: bool = False
    """Whether the next document depends on the judgments so far."""
    samples: bool = False
    """Whether documents are sampled, so that measures must be estimated from the sample."""
    random: bool = False
    """Whether it is random, by a seed."""
    needs_scores: bool = False
    """Whether it needs the runs' scores in addition to their rankings."""
    staged: bool = False
    """Whether another method follows, under `then`."""
    of_answers: bool = False
    """Whether it pools citations of answers instead of rankings of runs."""

    @property
    def usual(self) -> bool:
        """Whether a form offers it among the first."""
        return self.of_answers or self.name in ("staged", "depth", "rrf", "mtf", "hedge")

    def parameter(self, name: str) -> Parameter | None:
        """The parameter with a name."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


_LOSADA = (
    "Losada, Parapar and Barreiro, Multi-armed bandits for adjudicating documents in pooling-based "
    "evaluation of information retrieval systems, Information Processing & Management 53(5), 2017"
)

METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method(
            "staged",
            "Depth, then another method",
            "First the top ranks of every run, so that no run is left out; then another method up to the "
            "budget.",
            "",
            (STAGE_DEPTH, BUDGET),
            staged=True,
        ),
        Method(
            "depth",
            "Depth-k",
            "The union of the top ranks of every run.",
            "Spärck Jones and van Rijsbergen, Report on the Need for and Provision of an 'Ideal' Information "
            "Retrieval Test Collection, 1975",
            (TOP,),
        ),
        Method(
            "priority",
            "Depth-k by priority of runs",
            "The top ranks of runs with the highest priority, then of the others; some runs may add nothing.",
            "",
            (TOP, PRIORITIES, BUDGET),
        ),
        Method(
            "take",
            "Take@N",
            "Goes rank by rank over all runs until the budget is spent.",
            "Lipani, Zuccon, Lupu, Koopman and Hanbury, The Impact of Fixed-Cost Pooling Strategies on Test "
            "Collection Bias, ICTIR 2016",
            (POOL_DEPTH, BUDGET),
        ),
        Method(
            "fair_take",
            "Fair take@N",
            "Runs take turns; each adds its best document that is not yet in the pool.",
            "",
            (POOL_DEPTH, BUDGET),
        ),
        Method(
            "borda",
            "Take@N by Borda count",
            "The documents with the most points; each run gives its first document n points and each later "
            "one a point less.",
            "Aslam and Montague, Models for Metasearch, SIGIR 2001",
            (POOL_DEPTH, BUDGET),
        ),
        Method(
            "rrf",
            "Take@N by reciprocal rank fusion",
            "The documents with the largest sum of 1 / (k + rank) over runs.",
            "Cormack, Clarke and Büttcher, Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank "
            "Learning Methods, SIGIR 2009",
            (K, POOL_DEPTH, BUDGET),
        ),
        Method(
            "combmnz",
            "Take@N by CombMNZ",
            "The documents with the largest sum of scores, each run's scaled to 0 to 1, times the number of "
            "runs that have them.",
            "Fox and Shaw, Combination of Multiple Searches, TREC-2, 1994",
            (POOL_DEPTH, BUDGET),
            needs_scores=True,
        ),
        Method(
            "rbp",
            "Take@N by RBP weight",
            "The documents with the most weight in the rank-biased precision of all runs.",
            "Moffat, Webber and Zobel, Strategic System Comparisons via Targeted Relevance Judgments, "
            "SIGIR 2007",
            (P, POOL_DEPTH, BUDGET),
        ),
        Method(
            "dcg",
            "Take@N by DCG weight",
            "The documents with the largest sum of 1 / log2(1 + rank) over runs.",
            "",
            (POOL_DEPTH, BUDGET),
        ),
        Method(
            "mtf",
            "Move-to-front",
            "Follows one run while its documents are relevant; a miss moves it behind the runs with fewer "
            "misses.",
            "Cormack, Palmer and Clarke, Efficient Construction of Large Test Collections, SIGIR 1998",
            (POOL_DEPTH, BUDGET),
            adaptive=True,
        ),
        Method(
            "hedge",
            "Hedge",
            "The document ranked highest by the runs that were most accurate so far.",
            "Aslam, Pavlu and Savell, A Unified Model for Metasearch, Pooling, and System Evaluation, "
            "CIKM 2003",
            (BETA, POOL_DEPTH, BUDGET),
            adaptive=True,
        ),
        Method(
            "maxmean",
            "Bandit, MaxMean",
            "The next document of the run with the largest share of relevant documents so far.",
            _LOSADA,
            (CREDIT, POOL_DEPTH, BUDGET),
            adaptive=True,
        ),
        Method(
            "mm_ns",
            "Bandit, MaxMean non-stationary (MM-NS)",
            "The next document of a run whose last document was relevant; older judgments are forgotten.",
            _LOSADA,
            (CREDIT, POOL_DEPTH, BUDGET),
            adaptive=True,
        ),
        Method(
            "thompson",
            "Bandit, Thompson sampling",
            "The next document of the run with the largest share of relevant documents in a draw from its "
            "posterior.",
            _LOSADA,
            (CREDIT, POOL_DEPTH, BUDGET),
            adaptive=True,
            random=True,
        ),
        Method(
            "stratified",
            "Stratified sample",
            "A sample of the documents, denser where runs agree, for estimating average precision with "
            "xinfAP, statAP and infAP.",
            "Yilmaz, Kanoulas and Aslam, A Simple and Efficient Sampling Method for Estimating AP and NDCG, "
            "SIGIR 2008",
            (STRATA, FUSION, POOL_DEPTH),
            samples=True,
            random=True,
        ),
        Method(
            "random",
            "Random order",
            "The candidates in random order: a baseline that any other method should beat.",
            "",
            (POOL_DEPTH, BUDGET),
            random=True,
        ),
    )
}
"""All methods, by name."""

OF_ANSWERS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method(
            "citations",
            "First citations of each segment",
            "The first citations of all segments of every answer, then the second ones, and so on.",
            "",
            (FIRST_CITATIONS, BUDGET),
            of_answers=True,
        ),
        Method(
            "references",
            "First references of each answer",
            "The first references that every answer lists, cited or not.",
            "",
            (FIRST_REFERENCES, BUDGET),
            of_answers=True,
        ),
    )
}
"""Methods for answer tasks, by name."""

DEFAULT_OF_ANSWERS: Mapping[str, object] = {"name": "citations", "first": 1}
"""Default for answers: in TREC 2024 only the first citation was judged."""
DEFAULT: Mapping[str, object] = {"name": "staged", "depth": 10, "budget": 200, "then": {"name": "rrf"}}
"""Default for rankings: a stage that is fair to every run, then the documents that most runs agree on."""

"""The methods by which documents are pooled: names, parameters, what each is for and whose it is."""

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
    """A way to choose the documents of a topic that are judged, and their order."""

    name: str
    title: str
    question: str
    """What it judges, in one sentence."""
    citation: str
    parameters: tuple[Parameter, ...]
    adaptive: bool = False
    """Whether the next document depends on the judgments so far."""
    samples: bool = False
    """Whether documents are drawn, so that measures have to be estimated from the sample."""
    random: bool = False
    """Whether it draws at random, by a seed."""
    needs_scores: bool = False
    """Whether it needs the runs' scores beside their rankings."""
    staged: bool = False
    """Whether another method follows, under `then`."""
    of_answers: bool = False
    """Whether it pools what answers cite, which takes the place of rankings, instead of what runs rank."""

    def parameter(self, name: str) -> Parameter | None:
        """Its parameter of that name."""
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
            "The top ranks of every run first, so that no run is left out, then another method up to the "
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
            "The top ranks of the runs that come first, then those of the others; some runs may add nothing.",
            "",
            (TOP, PRIORITIES, BUDGET),
        ),
        Method(
            "take",
            "Take@N",
            "Rank by rank over all runs until the budget is spent.",
            "Lipani, Zuccon, Lupu, Koopman and Hanbury, The Impact of Fixed-Cost Pooling Strategies on Test "
            "Collection Bias, ICTIR 2016",
            (POOL_DEPTH, BUDGET),
        ),
        Method(
            "fair_take",
            "Fair take@N",
            "The runs in turn: each adds its best document that is not in the pool yet.",
            "",
            (POOL_DEPTH, BUDGET),
        ),
        Method(
            "borda",
            "Take@N by Borda count",
            "The documents with the most points, where a run gives its first document n points and the next "
            "one point less.",
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
            "The documents that weigh most in the rank-biased precision of all runs.",
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
            "One run as long as its documents are relevant; a miss sends it back behind the runs with fewer "
            "misses.",
            "Cormack, Palmer and Clarke, Efficient Construction of Large Test Collections, SIGIR 1998",
            (POOL_DEPTH, BUDGET),
            adaptive=True,
        ),
        Method(
            "hedge",
            "Hedge",
            "The document that the runs which were right so far rank highest.",
            "Aslam, Pavlu and Savell, A Unified Model for Metasearch, Pooling, and System Evaluation, "
            "CIKM 2003",
            (BETA, POOL_DEPTH, BUDGET),
            adaptive=True,
        ),
        Method(
            "maxmean",
            "Bandit, MaxMean",
            "The next document of the run with the largest share of relevant ones so far.",
            _LOSADA,
            (CREDIT, POOL_DEPTH, BUDGET),
            adaptive=True,
        ),
        Method(
            "mm_ns",
            "Bandit, MaxMean non-stationary (MM-NS)",
            "The next document of a run whose last one was relevant; older judgments are forgotten.",
            _LOSADA,
            (CREDIT, POOL_DEPTH, BUDGET),
            adaptive=True,
        ),
        Method(
            "thompson",
            "Bandit, Thompson sampling",
            "The next document of the run whose share of relevant ones is largest in a draw from what is "
            "known of it.",
            _LOSADA,
            (CREDIT, POOL_DEPTH, BUDGET),
            adaptive=True,
            random=True,
        ),
        Method(
            "stratified",
            "Stratified sample",
            "A sample of the documents, denser where runs agree, from which xinfAP, statAP and infAP "
            "estimate average precision.",
            "Yilmaz, Kanoulas and Aslam, A Simple and Efficient Sampling Method for Estimating AP and NDCG, "
            "SIGIR 2008",
            (STRATA, FUSION, POOL_DEPTH),
            samples=True,
            random=True,
        ),
        Method(
            "random",
            "Random order",
            "The candidates in a random order: what any other method should do better than.",
            "",
            (POOL_DEPTH, BUDGET),
            random=True,
        ),
    )
}
"""All there are, by name."""

OF_ANSWERS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method(
            "citations",
            "First citations of each segment",
            "What the segments of every answer cite first, then what they cite second, and so on.",
            "",
            (FIRST_CITATIONS, BUDGET),
            of_answers=True,
        ),
        Method(
            "references",
            "First references of each answer",
            "What every answer lists first among its references, cited or not.",
            "",
            (FIRST_REFERENCES, BUDGET),
            of_answers=True,
        ),
    )
}
"""Those of tasks of answers, by name."""

DEFAULT_OF_ANSWERS: Mapping[str, object] = {"name": "citations", "first": 1}
"""What an organiser of answers is offered first: of the citations of TREC 2024 only the first was judged."""
DEFAULT: Mapping[str, object] = {"name": "staged", "depth": 10, "budget": 200, "then": {"name": "rrf"}}
"""What an organiser is offered first: a stage that is fair to every run, then what most runs agree on."""

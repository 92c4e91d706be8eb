"""The families that the catalogue of measures is divided into."""

from dataclasses import dataclass

from leaderboard.measures.record import Measure

PACKAGE = "leaderboard.measures."


@dataclass(frozen=True, slots=True)
class Family:
    """Measures of one kind: those whose functions are in these modules of the package of measures."""

    name: str
    lead: str
    modules: tuple[str, ...]

    @property
    def anchor(self) -> str:
        """The anchor of its section on a page.

        >>> Family("Sets and filtering", "", ()).anchor
        'sets-and-filtering'
        """
        return self.name.lower().replace(" ", "-")


FAMILIES: tuple[Family, ...] = (
    Family(
        "Ranked retrieval",
        "Ranks of relevant documents, with binary relevance.",
        (
            "average_precision",
            "geometric",
            "inferred",
            "reciprocal_rank",
            "search_length",
            "precision",
            "recall",
            "f_measures",
            "bpref",
            "roc",
        ),
    ),
    Family(
        "Curves of precision and recall",
        "Points on the precision-recall curve, and the area under it.",
        ("interpolated", "exact_recall", "recall_points", "precision_recall_area"),
    ),
    Family(
        "Graded relevance",
        "Gain of the ranked documents, with graded relevance.",
        ("ndcg", "discounted_gain", "graded_gain", "compatibility"),
    ),
    Family(
        "Models of a reader",
        "Expected gain of a reader who continues or stops with a stated probability.",
        ("expected_reciprocal_rank", "rank_biased", "trec_eval.rbp", "cwl", "near_err"),
    ),
    Family(
        "Sets and classification",
        "The retrieved set, regardless of ranks.",
        ("sets", "classification", "averaging", "utility"),
    ),
    Family(
        "Diversity",
        "Coverage of the subtopics of a topic, or dissimilarity of the ranked documents.",
        ("diversity.novelty", "diversity.intent_aware", "diversity.at_k"),
    ),
    Family(
        "Preferences",
        "Agreement of a ranking with preferences between two documents.",
        ("preferences.fulfilled", "preferences.at_rank"),
    ),
    Family(
        "Bounds",
        "Possible values of a measure if more documents were judged or retrieved.",
        ("bounds.scores", "bounds.ndcg", "bounds.missed"),
    ),
    Family(
        "Counts and coverage",
        "Numbers of retrieved, relevant and judged documents.",
        ("coverage", "trec_eval.relstring"),
    ),
)
"""In the order shown."""

MOST_USED = ("nDCG", "AP", "RR", "P", "R", "Rprec", "Bpref", "RBP", "ERR", "Judged")
"""What boards of shared tasks usually show."""

OTHER = Family("Other measures", "Measures of no family.", ())

_BY_MODULE = {PACKAGE + module: family for family in FAMILIES for module in family.modules}


def family_of(measure: Measure) -> Family:
    """The family of a measure, by the module its function is in; OTHER where no family has it."""
    return _BY_MODULE.get(measure.compute.__module__, OTHER)

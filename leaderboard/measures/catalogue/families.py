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
        "How high relevant documents rank, where a document is relevant or not.",
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
        "Points of the curve of precision by recall, and the area under it.",
        ("interpolated", "exact_recall", "recall_points", "precision_recall_area"),
    ),
    Family(
        "Graded relevance",
        "What the documents of a ranking are worth, where some are more relevant than others.",
        ("ndcg", "discounted_gain", "graded_gain", "compatibility"),
    ),
    Family(
        "Models of a reader",
        "What a reader gains who reads on, or stops, with a probability that the measure states.",
        ("expected_reciprocal_rank", "rank_biased", "trec_eval.rbp", "cwl", "near_err"),
    ),
    Family(
        "Sets and classification",
        "What was retrieved and what was not; the ranks do not matter.",
        ("sets", "classification", "averaging", "utility"),
    ),
    Family(
        "Diversity",
        "Whether a ranking covers the several things a topic can mean, or differs in itself.",
        ("diversity.novelty", "diversity.intent_aware", "diversity.at_k"),
    ),
    Family(
        "Preferences",
        "How far a ranking agrees with judgments of which of two documents is the better one.",
        ("preferences.fulfilled", "preferences.at_rank"),
    ),
    Family(
        "Bounds",
        "What a measure could be if more documents were judged, or had been retrieved.",
        ("bounds.scores", "bounds.ndcg", "bounds.missed"),
    ),
    Family(
        "Counts and coverage",
        "How many documents were retrieved, relevant and judged.",
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

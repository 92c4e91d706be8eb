"""Utility of the retrieved set."""

from leaderboard.errors import MissingInput
from leaderboard.measures.judged import FloatArray, Judged
from leaderboard.measures.record import JUDGED_ONLY, REL, Measure, Parameter, TrecName


def utility(
    judged: Judged, *, rel: int = 1, p1: float = 1.0, p2: float = -1.0, p3: float = 0.0, p4: float = 0.0
) -> FloatArray:
    """The weighted sum of the counts of the contingency table, float64 (topics,), unbounded.

    p1 for each relevant document retrieved, p2 for each other one retrieved, p3 for each relevant one
    missed, p4 for each other one of the collection. Raises MissingInput where p4 is not 0 and the
    collection's size is not known. Source: trec_eval `utility`.

    One relevant document among four retrieved: 1 - 3.

    >>> from leaderboard.measures.richer_examples import judged
    >>> utility(judged({1: 1, 2: 0}, missed=[1], retrieved=4))
    array([-2.])
    """
    hit_count, total = judged.relevant_count(rel), judged.judgments.relevant(rel)
    size = judged.judgments.collection_size
    if p4 and size is None:
        raise MissingInput(
            "Utility with p4 other than 0 needs the number of documents in the collection.",
            need="collection size",
        )
    others = (size or 0) + hit_count - judged.retrieved - total
    of_retrieved = p1 * hit_count + p2 * (judged.retrieved - hit_count)
    scores: FloatArray = of_retrieved + p3 * (total - hit_count) + p4 * others
    return scores


def _weight(name: str, of: str, default: float) -> Parameter:
    return Parameter(name, "number", f"The value of each {of}.", -1e9, 1e9, default=default)


UTILITY = Measure(
    name="Utility",
    title="Utility of the retrieved set",
    formula="with a relevant of n retrieved: p1 · a + p2 · (n − a) + p3 · (R − a) + p4 · (N + a − n − R)",
    citation="Hull and Robertson, The TREC-8 Filtering Track Final Report, TREC-8, 1999",
    compute=utility,
    parameters=(
        REL,
        _weight("p1", "relevant document retrieved", 1.0),
        _weight("p2", "other document retrieved", -1.0),
        _weight("p3", "relevant document not retrieved", 0.0),
        _weight("p4", "other document not retrieved", 0.0),
        JUDGED_ONLY,
    ),
    trec_names=(TrecName("utility"),),
    range=(float("-inf"), float("inf")),
    note=(
        "The mean over topics is taken, as in trec_eval; the sum is the other usual choice. trec_eval takes "
        "a collection of 0 documents where no size is given, and with -c counts one document for a missing "
        "topic when p1 to p4 are written out."
    ),
)

"""What holds for all forms of precision, recall, F and search length, whatever the topics."""

from hypothesis import given
from hypothesis import strategies as st

from leaderboard.measures.grammar import parse
from tests.make.loops import for_every
from tests.measures.rankings import Topic, drawn, scored

NAMES = (
    "APRetrieved", "APRetrieved(rel=2)@5", "APTrapezoid", "APTrapezoid@5", "APTrapezoidPoints",
    "APTrapezoidPoints(rel=2)@5", "APEnvelope", "APEnvelope@5", "BreakEven", "BreakEven(rel=2)",
    "IPrecExact@0", "IPrecExact@0.33", "IAP", "IAP(rel=2,step=0.3)", "IAP11Exact", "PAtRecall@0.5",
    "F@5", "F(beta=2)@5", "FAlpha", "FAlpha(alpha=0.25)@5", "BestF", "BestF(beta=2)", "BestFRank",
    "PCeiling@5", "SearchLength", "SearchLength@5", "SearchLengthCooper@5", "Accuracy", "Accuracy@5",
    "ROCAUC", "ROCAUC(rel=2)", "EER", "EER(rel=2)", "SetFallout", "SetSpecificity", "SetAccuracy",
    "SetDice", "MicroP", "MicroR", "MicroF(beta=2)", "FOfMeans(beta=2)",
    "APEnvelope(judged_only=True)", "IAP(judged_only=True)", "BestF(judged_only=True)",
)  # fmt: skip
SIZE = 100


@given(topics=st.lists(drawn(), min_size=1, max_size=5))
@for_every("name", NAMES)
def test_a_topic_scores_alike_alone_and_among_others(name: str, topics: list[Topic]) -> None:
    """The same double, within the measure's range, for topics of every kind, empty ones too."""
    bound = parse(name)
    together = bound.compute(scored(*topics, collection_size=SIZE))
    assert together.tolist() == [bound.compute(scored(topic, collection_size=SIZE))[0] for topic in topics]
    low, high = bound.measure.range
    assert all(low <= score <= high + 1e-12 for score in together.tolist())


@for_every("name", NAMES)
def test_no_topics_have_no_scores(name: str) -> None:
    """Judgments without a topic are not an error."""
    assert parse(name).compute(scored(collection_size=SIZE)).tolist() == []


@for_every("name", NAMES)
def test_names_are_canonical(name: str) -> None:
    """The names above are the keys they read back as."""
    assert parse(name).key == name

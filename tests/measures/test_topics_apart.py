"""What holds for all measures of readers, gains and bounds: ranges, and topics that do not meet."""

from hypothesis import given
from hypothesis import strategies as st

from leaderboard.measures.grammar import parse
from tests.make.loops import for_every
from tests.measures.rankings import Topic, drawn, scored

NAMES = (
    "ERR", "ERR@5", "ERR(max_rel=2)", "nERR", "nERR@5", "RBP", "RBP(rel=2,p=0.95)@5", "gRBP(max_rel=3)",
    "RBPResid", "RBPResid(p=0.5)@5", "INST(max_rel=3)", "INST(max_rel=3,T=0.5,depth=7)", "INSQ(max_rel=3)",
    "SDCG(max_rel=3)@5", "BPM(max_rel=3)@5", "NERR8(max_rel=3)@5", "NERR9(max_rel=3)@5",
    "NERR10(max_rel=3)", "NERR11(max_rel=3)", "Compat", "Compat(p=0.5,depth=5)", "CG@5", "DCG@5",
    "DCG(dcg='jk')", "DCG(dcg='exp-ln')", "IDCG", "nDCG(dcg='exp-log2')@5", "nDCG(ideal='retrieved')",
    "Pmax@5", "RRmax", "RRmax@3", "APmin", "APmin@5", "APmax(rel=2)", "APmax@5", "APnext", "APlast",
    "nDCGmin(max_rel=3)", "nDCGmin(max_rel=2)@5", "nDCGmax(max_rel=3)", "nDCGmax(max_rel=2)@5",
    "ERR(judged_only=True)@5", "RBP(judged_only=True)", "Compat(judged_only=True)",
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
    assert parse(parse(name).key) == parse(name)

"""Real runs, qrels and topics are read as their makers meant them."""

import gzip
from collections import Counter
from pathlib import Path

import pytest

from leaderboard.errors import Invalid
from leaderboard.trec.qrels.qrels import read_qrels
from leaderboard.trec.runs.check import Rules, read_and_check
from leaderboard.trec.runs.runs import read_run
from leaderboard.trec.topics.topics import read_topics
from tests.make.loops import some

RUNS = {
    "robust03/runs/rutcor03100.gz": (100_000, 100, "rutcor03100"),
    "touche2020-beir/runs/RetroMAE_BEIR.gz": (49_000, 49, "RetroMAE_BEIR"),
    "touche2020-beir/runs/SPLADEv2.gz": (49_049, 49, "Anserini"),
    "cedr-robust-wt/runs/robust04-title.all5.gz": (36_928, 250, "run"),
    "cedr-robust-wt/runs/wt12.gz": (4_707, 50, "run"),
    "clef-tar2017/runs/amc.run.gz": (117_548, 30, "12"),
    "clef-tar2017/runs/ecnu.run2.gz": (30_000, 30, "2"),
    "clef-tar2017/runs/uos.sis.AL30Q_BM25.gz": (117_550, 30, "AL30"),
    "cast2021/runs/org_manual_bm25.gz": (18_570, 239, "org_manual_bm25.run"),
    "tilde-dl19/runs/run.trec2019-bm25.gz": (43_000, 43, "ielab"),
    "ir_measures-compat/compat.run.gz": (1_927, 2, "run"),
    "trec_eval-suite/results.test.gz": (1_500, 3, "STANDARD"),
    "trec_eval-suite/results.comment.test.gz": (30_100, 301, "comment.test"),
}
QRELS = {
    "robust03/qrels.txt.gz": (100, {0: 122722, 1: 5667, 2: 407}),
    "cedr-robust-wt/qrels.web.151-200.txt.gz": (50, {-2: 858, 0: 11674, 1: 2208, 2: 405, 3: 52, 4: 858}),
    "cedr-robust-wt/qrels.trec8-adhoc.401-450.txt.gz": (50, {0: 82102, 1: 4728}),
    "clef-tar2017/qrels.abs.txt.gz": (30, {0: 115705, 1: 1857}),
    "msmarco-passage-dev/qrels.txt.gz": (6980, {1: 7437}),
    "touche2020-beir/qrels.txt.gz": (49, {1: 296, 2: 636}),
    "trec_eval-suite/qrels.rel_level.gz": (3, {-1: 304, 0: 2818, 1: 462, 2: 14, 3: 77, 4: 6}),
    "trec_eval-suite/qrels.test.with-comments.gz": (3, {0: 3120, 1: 561}),
}
TOPICS = {
    "robust03/topics.robust04-superset.trec.gz": (250, "301", "International Organized Crime"),
    "cedr-robust-wt/topics.trec8-adhoc.401-450.trec.gz": (50, "401", "foreign minorities, Germany"),
    "msmarco-passage-dev/topics.tsv.gz": (6980, "1048585", "what is paula deen's brother"),
    "tilde-dl19/topics.tsv.gz": (200, "1108939", "what slows down the flow of blood"),
    "touche2020-beir/topics.tsv.gz": (49, "1", "Should teachers get tenure?"),
}


@pytest.mark.parametrize(
    "name", some(RUNS, [name for name, (entries, *_) in RUNS.items() if entries < 20_000])
)
def test_real_run_is_read(name: str, shared_data: Path) -> None:
    """Entries, topics and tag are those of the file, strictly and leniently read."""
    for strict in (True, False):
        run = read_run(shared_data / name, strict=strict)
        assert (run.entries, len(run.rankings), run.tag) == RUNS[name]
        assert sum(len(ranking.docnos) for ranking in run.rankings.values()) == run.entries


@pytest.mark.trial
@pytest.mark.parametrize("name", ["robust03/runs/THUIRr0301.gz", "clef-tar2017/runs/amc.run.gz"])
def test_every_entry_of_a_real_run_is_kept(name: str, shared_data: Path) -> None:
    """Against splitting the file line by line: the same topics, docnos and scores."""
    with gzip.open(shared_data / name) as file:
        expected = Counter(
            (fields[0], fields[2], float(fields[4])) for fields in map(bytes.split, file) if fields
        )
    run = read_run(shared_data / name)
    assert expected == Counter(
        (topic.encode(), docno, score)
        for topic, ranking in run.rankings.items()
        for docno, score in zip(ranking.docnos.tolist(), ranking.scores.tolist(), strict=True)
    )


def test_real_run_with_doubled_documents_is_refused(shared_data: Path) -> None:
    """The run trec_eval refuses is refused, with the lines it does not name."""
    with pytest.raises(Invalid) as caught:
        read_run(shared_data / "clef-tar2017/runs/uos.sis.TMAL30Q_BM25.gz", strict=False)
    assert str(caught.value.problems[0]) == (
        "line 2: docno '8855462': Topic CD007431 has this document already on line 1. "
        "Keep one of the two lines."
    )


def test_fields_after_the_sixth_pass_only_leniently(shared_data: Path) -> None:
    """trec_eval's own file with more than six fields is read leniently and refused for upload."""
    path = shared_data / "trec_eval-suite/results.trunc.gz"
    assert read_run(path, strict=False).entries == 584
    with pytest.raises(Invalid, match="An entry has 6 fields"):
        read_run(path)


def test_rank_zero_everywhere_is_no_contradiction(shared_data: Path) -> None:
    """A file with the rank 0 on every line gets no warning."""
    run = read_run(shared_data / "touche2020-beir/runs/RetroMAE_BEIR.gz")
    assert run.notes == ()


@pytest.mark.trial
def test_real_oddities_are_warned_of(shared_data: Path) -> None:
    """Ties, several tags, missing topics and contradicting ranks of real runs are found."""
    warnings = {
        "robust03/runs/rutcor03100.gz": "99.6% of neighbouring documents have equal scores.",
        "clef-tar2017/runs/amc.run.gz": "The file has more than one tag (1, 13, 6, ",
        "clef-tar2017/runs/padua.iafapc_m10p5f0t0p2m10.cost.gz": "The rank contradicts the score",
        "clef-tar2017/runs/ecnu.run2.gz": "The second column is not Q0.",
    }
    for name, text in warnings.items():
        report = read_and_check(shared_data / name, Rules(depth=None))[1]
        assert report.accepted
        assert any(text in str(warning) for warning in report.warnings), (name, report.warnings)


@pytest.mark.parametrize("name", some(QRELS, [name for name, (topics, _) in QRELS.items() if topics == 3]))
def test_real_qrels_are_read(name: str, shared_data: Path) -> None:
    """Topics and grades are those of the file; negative grades are kept."""
    qrels = read_qrels(shared_data / name)
    assert (len(qrels.judgments), qrels.grades(), qrels.kind) == (*QRELS[name], "graded")


@pytest.mark.parametrize("name", TOPICS)
def test_real_topics_are_read(name: str, shared_data: Path) -> None:
    """Number of topics, and id and title of the first, are those of the file; none lacks a title."""
    topics = read_topics(shared_data / name)
    assert (len(topics), topics[0].topic_id, topics[0].title) == TOPICS[name]
    assert all(topic.title for topic in topics)
    if name.endswith("trec.gz"):
        assert all(topic.description and topic.narrative for topic in topics)

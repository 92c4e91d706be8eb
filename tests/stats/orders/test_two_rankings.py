"""Two runs' rankings over topics: the keys, the means, topics that a run misses."""

import gzip
from pathlib import Path

import pytest

from leaderboard.stats.orders import top_lists
from leaderboard.stats.orders.rbo import rbo, rbo_with_ties
from leaderboard.stats.orders.two_rankings import compare_rankings, compare_tied_rankings

ONE, TWO = "abcdefghij", "bacdkeflgm"
PUBLISHED = {
    "overlap@10",
    "ao@10",
    "rbo_ext(p=0.9)",
    "rbo_min(p=0.9)",
    "rbo_res(p=0.9)",
    "footrule_slide@10",
    "footrule_fagin@10",
    "kendall_slide@10",
    "kendall_fagin(p=0.5)@10",
}


def test_worked_example() -> None:
    """Two top tens with seven documents in common, worked out by hand."""
    assert compare_rankings([ONE], [TWO]).means == pytest.approx(
        {
            "overlap@10": 0.7,
            "ao@10": 0.771825,
            "rbo_ext(p=0.9)": 0.731695,
            "rbo_min(p=0.9)": 0.630605,
            "rbo_max(p=0.9)": 0.827344,
            "rbo_res(p=0.9)": 0.196739,
            "footrule_slide@10": 1.692308,
            "footrule_fagin@10": 22,
            "kendall_slide@10": 0.179487,
            "kendall_fagin(p=0.5)@10": 17,
        },
        abs=5e-7,
    )


def test_keys_follow_the_parameters() -> None:
    """Nobody takes a depth or a p for another."""
    assert compare_rankings([ONE], [TWO]).means.keys() == PUBLISHED | {"rbo_max(p=0.9)"}
    comparison = compare_rankings([ONE], [TWO], k=5, p=0.98, penalty=0)
    assert comparison.means["overlap@5"] == 0.8
    assert comparison.means["rbo_ext(p=0.98)"] == pytest.approx(0.712520, abs=5e-7)
    assert comparison.means["kendall_fagin(p=0)@5"] == top_lists.kendall(ONE, TWO, 5)


def test_means_are_over_the_topics_either_run_has() -> None:
    """A topic of one run counts as if the other had found nothing; a topic of neither is left out."""
    comparison = compare_rankings([ONE, "", ONE], [TWO, "", ""], k=10)
    assert comparison.topics.tolist() == [0, 2]
    assert comparison.by_topic["overlap@10"].tolist() == [0.7, 0.0]
    assert comparison.means["overlap@10"] == pytest.approx(0.35)
    assert comparison.overlap_by_depth[:10].tolist() == (top_lists.overlap_curve(ONE, TWO, 10) / 2).tolist()


def test_an_empty_ranking() -> None:
    """Nothing shared, all still possible, every document from rank 11, and no pair in opposite order."""
    assert compare_rankings([ONE], [""]).means == pytest.approx(
        {
            "overlap@10": 0,
            "ao@10": 0,
            "rbo_ext(p=0.9)": 0,
            "rbo_min(p=0.9)": 0,
            "rbo_max(p=0.9)": 1,
            "rbo_res(p=0.9)": 1,
            "footrule_slide@10": 5.5,
            "footrule_fagin@10": 55,
            "kendall_slide@10": 0,
            "kendall_fagin(p=0.5)@10": 22.5,
        }
    )


def test_tied_scores_change_the_overlap() -> None:
    """The first two documents of one run have one score; a topic of neither run is left out."""
    overlaps = compare_tied_rankings(
        ["abc", "", "ab"], ["bac", "", ""], [[2, 2, 1], [], [1, 0]], [[3, 2, 1], [], []]
    )
    assert overlaps.keys() == {f"rbo_ext(p=0.9,ties={ties})" for ties in "awb"}
    for ties in ("a", "w", "b"):
        tied = rbo_with_ties(["ab", "c"], ["b", "a", "c"], 0.9, ties).ext
        assert overlaps[f"rbo_ext(p=0.9,ties={ties})"].tolist() == [tied, 0.0]
    assert rbo("abc", "bac").ext < overlaps["rbo_ext(p=0.9,ties=a)"][0] < rbo("bac", "bac").ext


def test_refusals() -> None:
    """Other topics, or none at all."""
    with pytest.raises(ValueError, match="1 topics cannot be compared with those of 2"):
        compare_rankings([ONE], [TWO, TWO])
    with pytest.raises(ValueError, match="neither run"):
        compare_rankings(["", ""], ["", ""])
    with pytest.raises(ValueError, match="neither run"):
        compare_tied_rankings([], [], [], [])


def documents(path: Path, topics: int) -> list[list[str]]:
    """A run's documents by score on its first topics."""
    lists: dict[str, list[tuple[float, str]]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            topic, _, document, _, score, _ = line.split()
            if topic not in lists and len(lists) == topics:
                break
            lists.setdefault(topic, []).append((-float(score), document))
    return [[document for _, document in sorted(ranked)] for ranked in lists.values()]


def test_real_runs_agree_with_the_definitions(shared_data: Path) -> None:
    """Rank-biased overlap summed depth by depth, overlap by sets, for two rankings of 1,000 documents."""
    runs = [
        documents(shared_data / "robust03" / "runs" / name, 10) for name in ("THUIRr0301.gz", "aplrob03a.gz")
    ]
    comparison = compare_rankings(*runs, curve_depth=1000)
    assert len(comparison.topics) == 10
    for topic, (one, two) in enumerate(zip(*runs, strict=True)):
        agreement = [len(set(one[:d]) & set(two[:d])) / d for d in range(1, 301)]
        overlap = sum(0.1 * 0.9**rank * share for rank, share in enumerate(agreement))
        assert comparison.by_topic["rbo_ext(p=0.9)"][topic] == pytest.approx(overlap, abs=1e-12)
        assert comparison.by_topic["overlap@10"][topic] == agreement[9]
        assert comparison.by_topic["ao@10"][topic] == pytest.approx(sum(agreement[:10]) / 10)
    assert comparison.overlap_by_depth[9] == pytest.approx(comparison.means["overlap@10"])

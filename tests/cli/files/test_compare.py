"""`leaderboard compare` from the outside: two runs, many, LaTeX, errors."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy.stats import ttest_rel, wilcoxon

from leaderboard.cli import main
from leaderboard.stats.pairs.corrections import holm

TOPICS = tuple(str(number) for number in range(1, 11))
RANKS = {
    "one": (1, 1, 2, 1, 1, 3, 1, 1, 2, 1),
    "two": (2, 1, 3, 2, 4, 3, 2, 1, 3, 2),
    "three": (9, 8, 9, 7, 9, 9, 8, 9, 9, 9),
}
"""Run -> the rank of each topic's one relevant document."""
RANKINGS = (
    "overlap@10", "ao@10", "rbo_ext(p=0.9)", "rbo_min(p=0.9)", "rbo_res(p=0.9)",
    "footrule_slide@10", "footrule_fagin@10", "kendall_slide@10", "kendall_fagin(p=0.5)@10",
)  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a qrels file and three runs."""
    (tmp_path / "qrels").write_text("".join(f"{topic} 0 r 1\n{topic} 0 n 0\n" for topic in TOPICS))
    for name, ranks in RANKS.items():
        write(tmp_path / name, name, dict(zip(TOPICS, ranks, strict=True)))
    return tmp_path


def write(path: Path, tag: str, ranks: dict[str, int]) -> None:
    """A run of nine documents per topic that has the relevant one at a rank."""
    lines = []
    for topic, rank in ranks.items():
        docnos = [f"d{number}" for number in range(1, 9)]
        docnos.insert(rank - 1, "r")
        lines += [f"{topic} Q0 {docno} {at} {100 - at} {tag}\n" for at, docno in enumerate(docnos, start=1)]
    path.write_text("".join(lines))


def call(*arguments: object) -> Result:
    """What the command does with these arguments."""
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


def of(folder: Path, *names: str) -> list[Path]:
    """The qrels and these runs."""
    return [folder / "qrels", *(folder / name for name in names)]


def rr(name: str) -> np.ndarray:
    """A run's scores by RR."""
    return 1 / np.array(RANKS[name])


def test_two_runs_have_every_test_and_distance(files: Path) -> None:
    """The object is as promised, its numbers SciPy's."""
    done = call(*of(files, "one", "two"), "-m", "RR", "--format", "json")
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    difference = rr("one") - rr("two")
    assert (data["measure"], data["topics"]) == ("RR", 10)
    assert (data["mean_a"], data["mean_b"]) == pytest.approx((rr("one").mean(), rr("two").mean()))
    assert data["difference"] == pytest.approx(difference.mean())
    test = ttest_rel(rr("one"), rr("two"))
    assert data["interval"] == pytest.approx(list(test.confidence_interval()), abs=1e-12)
    assert (data["wins"], data["ties"], data["losses"]) == (7, 3, 0)
    assert data["effect_size"] == pytest.approx(difference.mean() / difference.std(ddof=1))
    assert set(data["tests"]) == {"t", "guarded_t", "wilcoxon", "sign", "randomisation", "bootstrap"}
    assert data["tests"]["t"] == pytest.approx(test.pvalue, abs=1e-12)
    expected = wilcoxon(difference, method="asymptotic", zero_method="wilcox", correction=False).pvalue
    assert data["tests"]["wilcoxon"] == pytest.approx(expected, abs=1e-12)
    assert data["tests"]["sign"] == pytest.approx(2 / 2**7)
    assert data["tests"]["randomisation"] == pytest.approx(2 / 2**7)
    assert set(RANKINGS) <= set(data["rankings"])
    assert list(data)[:6] == ["measure", "topics", "mean_a", "mean_b", "difference", "interval"]


def test_lower_can_be_better(files: Path) -> None:
    """The difference is that of the means printed; wins are the better run's."""
    data = json.loads(call(*of(files, "one", "two"), "-m", "SearchLength", "--format", "json").stdout)
    assert data["difference"] == pytest.approx(np.mean(RANKS["one"]) - np.mean(RANKS["two"]))
    assert (data["wins"], data["losses"]) == (7, 0)


def test_rankings_are_means_over_the_topics_of_either_run(tmp_path: Path) -> None:
    """A topic only one run has counts with an empty ranking, one that neither has does not count."""
    (tmp_path / "qrels").write_text("1 0 r 1\n2 0 r 1\n3 0 r 1\n")
    write(tmp_path / "one", "one", {"1": 1, "2": 1})
    write(tmp_path / "two", "two", {"1": 1})
    data = json.loads(call(*of(tmp_path, "one", "two"), "--format", "json").stdout)
    assert data["topics"] == 3
    assert data["rankings"]["overlap@10"] == pytest.approx(np.mean([0.9, 0]))
    assert data["rankings"]["rbo_ext(p=0.9)"] == pytest.approx(np.mean([1, 0]))


def test_the_same_files_give_the_same_p_for_ever(tmp_path: Path) -> None:
    """What is drawn depends on rankings and judgments, not on names of files or tags."""
    source = np.random.default_rng(1)
    topics = [str(number) for number in range(30)]
    (tmp_path / "qrels").write_text("".join(f"{topic} 0 r 1\n" for topic in topics))
    for name in ("one", "two", "three"):
        write(tmp_path / name, name, dict(zip(topics, source.integers(1, 5, 30).tolist(), strict=True)))
    (tmp_path / "copy").write_text((tmp_path / "one").read_text().replace(" one\n", " other-tag\n"))
    p = [
        json.loads(call(*of(tmp_path, first, "two"), "--format", "json").stdout)["tests"]
        for first in ("one", "one", "copy")
    ]
    assert p[0] == p[1] == p[2]
    many = [
        json.loads(
            call(
                *of(tmp_path, "one", "two", "three"), "--correction", "randomised_tukey", "--format", "json"
            ).stdout
        )["pairs"]
        for _ in range(2)
    ]
    assert many[0] == many[1]
    assert all(0 < pair["adjusted_p"] <= 1 for pair in many[0])


def test_many_runs_are_all_pairs_under_one_correction(files: Path) -> None:
    """Best run first, p adjusted over three pairs, letters that say the same."""
    data = json.loads(call(*of(files, "three", "two", "one"), "-m", "RR", "--format", "json").stdout)
    assert [run["run"] for run in data["runs"]] == ["one", "two", "three"]
    names = [("one", "two"), ("one", "three"), ("two", "three")]
    p = np.array([ttest_rel(rr(a), rr(b)).pvalue for a, b in names])
    assert [(pair["a"], pair["b"]) for pair in data["pairs"]] == names
    assert [pair["p"] for pair in data["pairs"]] == pytest.approx(p.tolist(), abs=1e-12)
    assert [pair["adjusted_p"] for pair in data["pairs"]] == pytest.approx(holm(p).tolist(), abs=1e-12)
    assert [pair["better"] for pair in data["pairs"]] == ["one", "one", "two"]
    assert [run["letters"] for run in data["runs"]] == ["a", "b", "c"]
    assert (data["method"], data["baseline"], data["reachable"]) == ("t+holm", None, True)


@pytest.mark.parametrize("baseline", ["two", "{folder}/two"])
def test_a_baseline_is_named_by_tag_or_file(files: Path, baseline: str) -> None:
    """All are compared with it, p adjusted over the others."""
    chosen = baseline.format(folder=files)
    arguments = (*of(files, "one", "two", "three"), "-m", "RR", "--baseline", chosen)
    data = json.loads(call(*arguments, "--format", "json").stdout)
    assert data["baseline"] == "two"
    verdicts = {run["run"]: run.get("than_baseline") for run in data["runs"]}
    for run in data["runs"]:
        assert (run.get("topics_needed") is not None) == (run.get("than_baseline") == "undecided")
    assert verdicts == {"one": "better", "two": None, "three": "worse"}
    expected = holm(np.array([ttest_rel(rr(name), rr("two")).pvalue for name in ("one", "three")]))
    assert [data["runs"][place]["adjusted_p"] for place in (0, 2)] == pytest.approx(expected.tolist())
    text = call(*arguments).stdout
    assert "than two" in text
    assert "the baseline" in text


def test_test_and_correction_can_be_chosen(files: Path) -> None:
    """The method is the one asked for; Tukey's need no test."""
    for options, key in (
        (("--test", "sign", "--correction", "bh"), "sign+bh"),
        (("--correction", "tukey"), "tukey"),
    ):
        done = call(*of(files, "one", "two", "three"), *options, "--format", "json")
        assert json.loads(done.stdout)["method"] == key


def test_tables_are_for_reading(files: Path) -> None:
    """Two runs: means, difference, tests, distances. Many: means with letters, then pairs."""
    lines = call(*of(files, "one", "two"), "-m", "RR").stdout.splitlines()
    assert lines[0] == "RR on 10 topics, trec_eval 10"
    assert "one is better on 7 topics, two on 0, neither on 3." in lines
    assert any(line.startswith("t (recommended)") for line in lines)
    lines = call(*of(files, "one", "two", "three"), "-m", "RR").stdout.splitlines()
    assert lines[0] == "RR on 10 topics, trec_eval 10; paired t, Holm, 2.5%"
    assert lines[3].split() == ["run", "RR", "letters"]
    assert lines[4].split() == ["one", f"{rr('one').mean():.4f}", "a"]


def test_latex_takes_several_measures(files: Path) -> None:
    """A column a measure, runs in the order of the first, the judgments named by their digest."""
    text = call(*of(files, "one", "two", "three"), "-m", "RR", "-m", "P@5", "--format", "latex").stdout
    assert r"Run & RR & P@5 \\" in text
    assert [text.index(f"    {name} &") for name in ("one", "two", "three")] == sorted(
        text.index(f"    {name} &") for name in ("one", "two", "three")
    )
    assert "10 topics" in text


def test_what_is_undefined_is_null_or_a_sentence(tmp_path: Path) -> None:
    """One topic and identical runs give no number that is none."""
    (tmp_path / "qrels").write_text("1 0 r 1\n")
    for name in ("one", "two", "three"):
        write(tmp_path / name, name, {"1": 1})
    data = json.loads(call(*of(tmp_path, "one", "two"), "--format", "json").stdout)
    assert data["interval"] == [None, None]
    assert set(data["tests"].values()) == {None}
    assert "undefined" in call(*of(tmp_path, "one", "two")).stdout
    many = call(*of(tmp_path, "one", "two", "three"), "--format", "json").stdout
    assert json.loads(many)["pairs"][0]["effect_size"] is None
    told = call(*of(tmp_path, "one", "two", "three")).stdout
    assert "With one topic, no test can find a significant difference." in told


def test_a_test_that_can_find_nothing_says_so(files: Path) -> None:
    """With too few topics for a test a sentence offers the paired t test."""
    text = call(*of(files, "one", "two", "three"), "-m", "P@5", "--test", "sign").stdout
    assert "cannot find significant differences here" not in text
    (files / "qrels").write_text("".join(f"{topic} 0 r 1\n" for topic in TOPICS[:4]))
    text = call(*of(files, "one", "two", "three"), "-m", "RR", "--test", "sign").stdout
    assert "cannot find significant differences here" in text
    assert "--test t" in text


def test_dialect_and_level_reach_the_scores(tmp_path: Path) -> None:
    """--level 2 scores at grade 2; --dialect 9 orders by 32-bit scores."""
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 2\n2 0 b 2\n")
    (tmp_path / "one").write_text("1 Q0 a 1 16777217 x\n1 Q0 b 2 16777216 x\n2 Q0 b 1 1 x\n")
    (tmp_path / "two").write_text("1 Q0 b 1 3 y\n2 Q0 c 1 1 y\n")
    means = []
    for options in (("--level", 2), ("--level", 2, "--dialect", 9)):
        done = call(*of(tmp_path, "one", "two"), "-m", "RR", *options, "--format", "json")
        means.append(json.loads(done.stdout)["mean_a"])
    assert means == [0.75, 1.0]


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (("one",), (), "at least two runs"),
        (("one", "one", "one"), (), "is listed twice"),
        (("one", "two"), ("-m", "NumRet"), "has no direction"),
        (("one", "two"), ("-m", "GMAP"), "is not a mean over topics"),
        (("one", "two"), ("-m", "nonsense"), "nonsense"),
        (("one", "two"), ("-m", "AP", "-m", "RR"), "--measure has 2 measures: AP, RR."),
        (("one", "two"), ("--baseline", "none"), "none is not one of the runs: one, two."),
        (("one", "qrels"), (), "qrels"),
    ],
)
def test_what_cannot_be_compared_ends_in_a_sentence(
    files: Path, names: tuple[str, ...], options: tuple[str, ...], message: str
) -> None:
    """Exit code 1, a message on standard error, nothing on standard output."""
    done = call(*of(files, *names), *options)
    assert done.exit_code == 1
    assert message in done.stderr
    assert done.stdout == ""

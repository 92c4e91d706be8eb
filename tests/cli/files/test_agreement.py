"""`leaderboard agreement` from the outside: one judge, several, labels, errors."""

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main
from tests.make.boards import ERRATIC, GOOD, NAMES, SCORES, FloatArray


def write(path: Path, scores: FloatArray, measure: str = "M") -> None:
    """A board file in ir_measures' order, with means."""
    rows = [
        f"{NAMES[run]} {topic} {measure} {value}"
        for run, values in enumerate(scores.tolist())
        for topic, value in [
            *((f"t{at}", value) for at, value in enumerate(values)),
            ("all", sum(values) / len(values)),
        ]
    ]
    path.write_text("\n".join(rows) + "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A reference and three judges."""
    write(tmp_path / "reference.txt", SCORES, "nDCG@10")
    write(tmp_path / "oak.txt", GOOD)
    write(tmp_path / "elm.txt", ERRATIC)
    write(tmp_path / "ash.txt", -GOOD)
    (tmp_path / "runs.csv").write_text("run,team,llm\nrun2,Trees,GPT-4o\nrun3,Trees,\nrun4,Birds,Llama 3\n")
    (tmp_path / "judges.csv").write_text("judge,team,llm,saw_reference\noak,Fish,gpt-5,yes\n")
    return tmp_path


def invoke(folder: Path, *arguments: str) -> Result:
    """The command in that folder; names of files are made paths."""
    made = [str(folder / one) if (folder / one).exists() else one for one in arguments]
    return CliRunner().invoke(main, ["agreement", *made])


def answered(folder: Path, *arguments: str) -> str:
    """What it prints, without an error."""
    result = invoke(folder, *arguments)
    assert result.exit_code == 0, result.output
    return result.output


def boards(folder: Path, *more: str, judges: tuple[str, ...] = ("oak", "elm", "ash")) -> str:
    """The answer on judges."""
    named = [part for judge in judges for part in ("--judge", f"{judge}.txt")]
    return answered(folder, "--reference", "reference.txt", *named, *more)


def test_one_judge_has_all_that_is_said_of_it(folder: Path) -> None:
    """Coefficients, bound, ceiling, pairs, runs, teams, what is circular."""
    text = boards(folder, "--facts", "runs.csv", "--judge-facts", "judges.csv", "--top", "3", judges=("oak",))
    assert "oak by M against the reference by nDCG@10 (8 runs, 12 topics): 8 common runs, 12 topics" in text
    for said in (
        *("at least", "ceiling", "τ_AP,b", "Spearman's ρ", "Pearson's r", "RBO (p .9)", "pairwise accuracy"),
        *("τ_b of the top", "τ_b, guaranteed", "Agreement by topic: mean τ_b", "significant in both"),
        *("the judge finds", "range by judge", "Trees", "the judge's family"),
        "oak: The judge saw the judgments behind the reference.",
        "oak: The judge shares a model family with run run2.",
        "τ_b without these runs is",
    ):
        assert said in text, said


def test_several_judges_are_a_board(folder: Path) -> None:
    """With verdicts, and the sentence where orders differ."""
    write(folder / "fir.txt", GOOD + [[0.13 * (run % 2)] for run in range(8)])
    text = boards(folder, judges=("elm", "fir", "ash"))
    assert text.startswith("3 judges against the reference by nDCG@10 (8 runs, 12 topics)\nCeiling: ")
    assert "Verdicts by paired t, Holm over 12 topics" in text
    assert "put judges in different orders: by the ranks elm before fir." in text
    assert "by the ranks" not in boards(folder, "--rank-by", "topics", judges=("elm", "fir", "ash"))


def test_json_has_everything_and_csv_each_table(folder: Path) -> None:
    """The same numbers in both, and the same each time."""
    facts = json.loads(boards(folder, "--format", "json", "--facts", "runs.csv"))
    assert facts == json.loads(boards(folder, "--format", "json", "--facts", "runs.csv"))
    assert facts["reference"]["topics"] == facts["verdict_topics"] == 12
    rows = list(csv.DictReader(io.StringIO(boards(folder, "--format", "csv"))))
    for judge, row in zip(facts["judges"], rows, strict=True):
        assert (judge["judge"], judge["rank"]) == (row["judge"], int(row["rank"]))
        assert (judge["tau_b"], judge["at_least"]) == (float(row["tau_b"]), float(row["at_least"]))
        assert len(judge["by_run"]) == 8
        assert len(judge["by_topic"]) == 12
        assert judge["decided_pairs"]["recall"] is not None
    for table, lines in (("runs", 3 * 8), ("topics", 3 * 12), ("teams", 3 * 2), ("families", 0)):
        text = boards(folder, "--format", "csv", "--table", table, "--facts", "runs.csv")
        assert len(list(csv.DictReader(io.StringIO(text)))) == lines, table


def test_measures_are_named_for_all_or_one_a_judge(folder: Path) -> None:
    """Any other number is an error, as is a measure that is not there."""
    write(folder / "fir.txt", GOOD, "N")
    files = ("--reference", "reference.txt", "--judge", "oak.txt", "--judge", "fir.txt")
    facts = json.loads(answered(folder, *files, "-m", "M", "-m", "N", "--format", "json"))
    assert [judge["measure"] for judge in facts["judges"]] == ["N", "M"]
    for names, said in ((("M", "N", "M"), "3 measures for 2 judges"), (("M",), "fir has no measure M")):
        result = invoke(folder, *files, *(part for name in names for part in ("-m", name)))
        assert result.exit_code == 1
        assert said in result.output


def test_autojudge_has_its_ways_with_missing_runs(folder: Path) -> None:
    """Error unless said otherwise; its options alone are an error."""
    write(folder / "short.txt", GOOD[:7])
    files = ("--reference", "reference.txt", "--judge", "short.txt", "--format", "json")
    assert "has no run run7" in invoke(folder, *files, "--as", "autojudge").output
    (zeroed,) = json.loads(answered(folder, *files, "--as", "autojudge", "--on-missing", "default"))["judges"]
    (skipped,) = json.loads(answered(folder, *files, "--as", "autojudge", "--on-missing", "skip"))["judges"]
    (ours,) = json.loads(answered(folder, *files))["judges"]
    assert (zeroed["runs"], skipped["runs"], ours["runs"]) == (8, 7, 7)
    assert (zeroed["rank"], skipped["rank"], ours["rank"]) == (1, 1, None)
    assert skipped["tau_b"] == ours["tau_b"] != zeroed["tau_b"]
    assert "need --as autojudge" in invoke(folder, *files, "--recompute").output


def test_files_of_one_name_are_told_apart_by_their_folders(folder: Path) -> None:
    """A file that is given twice is an error."""
    for team in ("a", "b"):
        (folder / team).mkdir()
        write(folder / team / "board.txt", GOOD if team == "a" else ERRATIC)
    text = answered(
        folder, "--reference", "reference.txt", "--judge", "a/board.txt", "--judge", "b/board.txt"
    )
    assert "a/board" in text
    assert "b/board" in text
    result = invoke(folder, "--reference", "reference.txt", "--judge", "oak.txt", "--judge", "oak.txt")
    assert "A judge is listed twice" in result.output


def test_warnings_are_told_and_what_is_left_out(folder: Path) -> None:
    """Topics, runs, `all` lines, and the ways of a file that only has these."""
    lines = (folder / "oak.txt").read_text().splitlines()
    kept = [line for line in lines if not line.startswith(("run7 ", "run1 t3 "))]
    (folder / "part.txt").write_text("\n".join(kept).replace("run2 all M 0", "run2 all M 9"))
    text = answered(folder, "--reference", "reference.txt", "--judge", "part.txt")
    assert "part: 1 topic left out: t3" in text
    assert "part: missing runs: run7" in text
    assert "Unranked: missing runs of the reference: 1." in text
    bare = [line for line in lines if " all " in line]
    (folder / "bare.txt").write_text("\n".join(bare))
    said = answered(folder, "--reference", "reference.txt", "--judge", "bare.txt")
    assert "The file has only values over all topics" in said
    assert "significant in both" not in said


class TestLabels:
    """`leaderboard agreement labels`."""

    REFERENCE = (0, 0, 1, 1, 2, 3, 0, 2, 1, 3)
    JUDGE = (0, 1, 1, 2, 2, 3, 0, 1, 0, 2)

    @pytest.fixture
    def qrels(self, tmp_path: Path) -> Path:
        """The worked example over two topics, and a document more on either side."""
        for name, grades, form in (
            ("qrels", self.REFERENCE, "{topic} 0 d{at} {grade}"),
            ("judged", self.JUDGE, "{topic} Q0 d{at} {grade}.0 0.5 oak"),
        ):
            rows = [form.format(topic=at % 2, at=at, grade=grade) for at, grade in enumerate(grades)]
            rows.append(form.format(topic=0, at=name, grade=3))
            (tmp_path / f"{name}.txt").write_text("\n".join(rows) + "\n")
        return tmp_path

    def test_pairs_judged_by_both(self, qrels: Path) -> None:
        """The worked numbers, over all pairs; each topic; confidence beside what differs."""
        files = ("labels", "--reference", "qrels.txt", "--judge", "judged.txt")
        facts = json.loads(answered(qrels, *files, "--level", "2:1", "--format", "json"))
        overall = facts["overall"]
        assert overall["documents"] == 10
        assert overall["kappa"] == pytest.approx(0.324324, abs=5e-7)
        assert overall["alpha"] == pytest.approx(0.771723, abs=5e-7)
        assert (overall["mae"], overall["bias"]) == pytest.approx((0.5, -0.1))
        assert overall["levels"][0]["kappa"] == pytest.approx(0.444444, abs=5e-7)
        assert (facts["mean_confidence"], set(facts["by_topic"])) == (0.5, {"0", "1"})
        assert facts["largest_differences"][0]["confidence"] == 0.5
        rows = list(csv.DictReader(io.StringIO(answered(qrels, *files, "--format", "csv"))))
        assert [row["topic"] for row in rows] == ["all", "0", "1"]
        assert "judged: 10 documents judged by both, 2 topics" in answered(qrels, *files)

    def test_documents_of_either(self, qrels: Path) -> None:
        """Missing ones are 0, and the answer says so."""
        text = answered(qrels, "labels", "--reference", "qrels.txt", "--judge", "judged.txt", "--union")
        assert "12 documents of either, missing ones 0" in text

    def test_scales_that_differ(self, qrels: Path) -> None:
        """What counts distances is undefined until every label is mapped."""
        text = (qrels / "judged.txt").read_text()
        (qrels / "binary.txt").write_text(text.replace(" 3.0 ", " 1 ").replace(" 2.0 ", " 1 "))
        files = ("labels", "--reference", "qrels.txt", "--judge", "binary.txt")
        facts = json.loads(answered(qrels, *files, "--format", "json"))
        assert (facts["same_scale"], facts["overall"]["mae"], facts["overall"]["alpha"]) == (
            False,
            None,
            None,
        )
        assert "Map labels to grades with --scale." in answered(qrels, *files)
        mapped = json.loads(answered(qrels, *files, "--scale", "0=0", "--scale", "1=2", "--format", "json"))
        assert (mapped["same_scale"], mapped["overall"]["mae"] is None) == (True, False)
        assert "The scale lacks label 1" in invoke(qrels, *files, "--scale", "0=0").output
        assert "two whole numbers" in invoke(qrels, *files, "--scale", "low=1").output

    def test_nothing_in_common_is_an_error(self, qrels: Path) -> None:
        """With what to look at."""
        (qrels / "other.txt").write_text("9 0 d1 1\n")
        result = invoke(qrels, "labels", "--reference", "qrels.txt", "--judge", "other.txt")
        assert result.exit_code == 1
        assert "judged by both. Check that topics and docnos match" in result.output


def test_real_judges_are_held_against_real_references(shared_data: Path) -> None:
    """AutoJudge's samples: a truth against itself, and two measures that are each other's reverse."""
    kiddie, spot = shared_data / "autojudge-kiddie", shared_data / "autojudge-spotcheck"
    if not (kiddie.is_dir() and spot.is_dir()):
        pytest.skip(f"no samples of AutoJudge at {shared_data}")
    truth = str(kiddie / "truth.ir_measures.txt")
    (itself,) = json.loads(answered(kiddie, "--reference", truth, "--judge", truth, "--format", "json"))[
        "judges"
    ]
    assert (itself["tau_b"], itself["at_least"], itself["topic_agreement"]) == pytest.approx((1, 1, 1))
    board = str(spot / "trec-leaderboard.txt")
    measures = ("--reference-measure", "Measure-01", "-m", "Measure-02")
    (reverse,) = json.loads(
        answered(spot, "--reference", board, "--judge", board, *measures, "--format", "json")
    )["judges"]
    assert reverse["tau_b"] == pytest.approx(-1)
    assert (reverse["best_measure"], reverse["worst_measure"]) == ("Measure-01", "Measure-02")


def test_a_real_board_of_ties(shared_data: Path) -> None:
    """Eight of eleven runs tie at 1, and all of them on most topics: those are left out and counted."""
    path = shared_data / "autojudge-kiddie" / "example-judge" / "leaderboard.tot.txt"
    if not path.exists():
        pytest.skip(f"no sample of AutoJudge at {path}")
    files = (
        "--reference",
        str(path),
        "--judge",
        str(path),
        "--reference-measure",
        "HAS_KEYWORDS",
        "-m",
        "SCORE",
    )
    for by in ("tau_b", "accuracy"):
        (judge,) = json.loads(answered(path.parent, *files, "--by-topic", by, "--format", "json"))["judges"]
        assert (judge["runs"], judge["topics"], judge["undefined_topics"]) == (11, 122, 94)
        assert sum(row["agreement"] is None for row in judge["by_topic"]) == 94

"""`leaderboard reproduce` from the outside: levels, words, thresholds, other collections."""

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main
from tests.make import build

JUDGED = {topic: {f"d{topic}": 1} for topic in "1234"}
HEADER = "# ir_metadata.start\n# tag: {tag}\n# actor:\n#   team: {team}\n# ir_metadata.end\n"


def ranking(topic: str, rank: int) -> list[str]:
    """Five documents with the relevant one at a rank."""
    docnos = [f"x{number}" for number in range(1, 5)]
    return [*docnos[: rank - 1], f"d{topic}", *docnos[rank - 1 :]]


def run(folder: Path, name: str, ranks: dict[str, int], team: str = "") -> Path:
    """A run file with the relevant documents at these ranks."""
    path = build.run_file(folder, {topic: ranking(topic, rank) for topic, rank in ranks.items()}, name)
    if team:
        path.write_text(HEADER.format(tag=name, team=team) + path.read_text())
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Qrels of four topics, original runs b and a, and what came out again: b2 the same, a2 not quite."""
    build.qrels_file(tmp_path, JUDGED)
    run(tmp_path, "b", {"1": 2, "2": 4, "3": 1, "4": 5}, team="owls")
    run(tmp_path, "a", {"1": 1, "2": 2, "3": 1, "4": 5}, team="owls")
    run(tmp_path, "b2", {"1": 2, "2": 4, "3": 1, "4": 5}, team="cats")
    run(tmp_path, "a2", {"1": 1, "2": 4, "3": 1})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*arguments: str, again: tuple[str, str] = ("b2", "a2")) -> Result:
    """What the command does."""
    files = ["--original", "b.txt", "a.txt", "--reproduced", *(f"{name}.txt" for name in again)]
    return CliRunner().invoke(main, ["reproduce", "qrels.txt", *files, *arguments])


def facts(*arguments: str, again: tuple[str, str] = ("b2", "a2")) -> dict[str, object]:
    """Its JSON."""
    done = call(*arguments, "--format", "json", again=again)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.mark.usefixtures("folder")
def test_a_copy_is_the_same_on_every_level() -> None:
    """DRI 0, ER 1, p 1."""
    said = facts(again=("b", "a"))
    assert said["words"] == dict.fromkeys(["documents", "topics", "effects", "test"], "same")
    numbers = {row["number"]: row for row in said["levels"]}
    assert (numbers["DRI"]["both"], numbers["ER"]["both"]) == (0, 1)
    assert numbers["p"]["baseline"] == numbers["p"]["advanced"] == 1
    assert said["advanced"]["largest"] == said["advanced"]["metadata"] == []


@pytest.mark.usefixtures("folder")
def test_what_did_not_come_out_again_is_told() -> None:
    """Numbers by hand: AP is 1/rank; topic 4 is missing in the reproduction and counts 0."""
    said = facts("-m", "AP")
    numbers = {row["number"]: row for row in said["levels"]}
    original, again = [1, 1 / 2, 1, 1 / 5], [1, 1 / 4, 1, 0]
    squares = sum((one - two) ** 2 for one, two in zip(original, again, strict=True))
    assert numbers["RMSE"]["advanced"] == pytest.approx((squares / 4) ** 0.5)
    assert numbers["RMSE"]["baseline"] == 0
    base = (1 / 2 + 1 / 4 + 1 + 1 / 5) / 4
    assert numbers["ER"]["both"] == pytest.approx((9 / 4 / 4 - base) / (sum(original) / 4 - base))
    assert said["advanced"]["only_original"] == ["4"]
    assert [one["topic"] for one in said["advanced"]["largest"]] == ["2", "4"]
    assert said["baseline"]["metadata"] == [["tag", "b", "b2"], ["actor.team", "owls", "cats"]]


@pytest.mark.usefixtures("folder")
def test_words_and_thresholds_for_people() -> None:
    """The thresholds stand below the numbers, and other ones give other words."""
    lines = call().stdout.splitlines()
    assert lines[0] == "AP on 4 topics, trec_eval 10"
    assert "KTU: same from 0.95, close from 0.5, else off" in lines
    assert "  topics only in the original: 4" in lines
    assert any(line.startswith("topics     nRMSE") and line.endswith("off") for line in lines)
    loose = facts("--threshold", "nrmse", "0.5", "0.5", "--margin", "0.9")
    assert loose["words"]["topics"] == "same"
    assert loose["words"]["test"] == "same"
    assert loose["thresholds"]["nrmse"] == {"same": 0.5, "close": 0.5}
    assert "Write the smaller value first" in call("--threshold", "er", "0.5", "0.1").stderr


def test_another_collection_compares_means(folder: Path) -> None:
    """Other qrels, other topics: no order of documents, no distance by topic."""
    build.qrels_file(folder, {topic: {f"d{topic}": 1} for topic in "123"}, "other")
    said = facts("--replicated", "other.txt")
    assert {row["level"] for row in said["levels"]} == {"effects", "test"}
    assert (said["topics"], said["other_topics"]) == (4, 3)
    assert said["words"]["documents"] is None
    text = call("--replicated", "other.txt").stdout
    assert text.startswith("AP on 4 topics, again on 3 others")
    assert "KTU" not in text


@pytest.mark.usefixtures("folder")
def test_csv_has_the_levels() -> None:
    """One row a number."""
    rows = list(csv.DictReader(io.StringIO(call("--format", "csv").stdout)))
    assert [row["number"] for row in rows if row["word"]] == ["KTU", "nRMSE", "ER", "p"]


@pytest.mark.usefixtures("folder")
def test_one_measure_that_is_a_mean() -> None:
    """Several, or a geometric mean, are refused."""
    assert "Name one." in call("-m", "official").stderr
    assert "not a mean" in call("-m", "gm_map").stderr

"""A task out of a site and into one from the terminal: exports, releases, folders of files."""

import csv
import gzip
import json
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.bundles.ops import checking
from leaderboard.bundles.ops.opening import opened
from leaderboard.cli import main
from tests.bundles import make as bundles
from tests.make import build

pytestmark = pytest.mark.trial

RANKINGS = {"1": ["a", "c", "b"], "2": ["d", "a"], "3": ["e", "f"]}

Call = Callable[..., Result]


@pytest.fixture
def call(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """A function that runs one command on an empty site."""
    monkeypatch.setenv("LEADERBOARD_DATA", str(data_folder))
    runner = CliRunner()
    return lambda *arguments: runner.invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def task(call: Call, tmp_path: Path) -> str:
    """A task with two scored runs; its slug."""
    topics, judged = build.topics_file(tmp_path), build.qrels_file(tmp_path)
    made = call("task", "create", "t", "--name", "T", "--topics", topics, "--qrels", judged, "-m", "AP")
    assert made.exit_code == 0, made.output
    for name, team in (("first", "Lab"), ("second", "Wombatville")):
        call("run", "add", "t", build.run_file(tmp_path, RANKINGS, name), "--team", team)
    call("worker", "--once")
    return "t"


@pytest.mark.parametrize("ending", ["", ".zip", ".tar.gz"])
def test_out_and_back(call: Call, task: str, tmp_path: Path, ending: str) -> None:
    """A folder and both archives hold the same; the board that comes back is the one that went out."""
    target = tmp_path / f"out{ending}"
    out = call("export", task, target)
    assert (out.exit_code, out.stdout) == (0, f"Exported t to {target}.\n")
    assert "  topics.tsv: 39 bytes" in out.stderr
    if ending:
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with opened(target) as files:
        assert files.is_bundle
        assert files.file("runs/0001-first.txt").read_bytes() == (tmp_path / "first.txt").read_bytes()
    tried = call("import", target, "--slug", "again", "--dry-run")
    assert tried.stdout.startswith("Dry run: nothing was stored.")
    back = call("import", target, "--slug", "again")
    assert back.exit_code == 0, back.output
    assert "Runs added to existing teams: Lab, Wombatville." in back.stdout
    call("worker", "--once")
    boards = [json.loads(call("board", slug, "--format", "json").stdout) for slug in (task, "again")]
    for board in boards:
        del board["task"]
        for row in board["rows"]:
            del row["run_id"]
    assert boards[0] == boards[1]
    assert boards[0]["rows"][0]["scores"]["AP"] is not None


@pytest.mark.parametrize("step", [None, 0.01])
def test_a_bundle_with_what_is_gone_comes_in_and_says_so(
    call: Call, task: str, tmp_path: Path, step: float | None
) -> None:
    """Of a version that had the Ladder: without a step nothing is said, with one a sentence."""
    call("export", task, tmp_path / "out")
    bundles.rewrite(tmp_path / "out", "task", ladder_step=step)
    back = call("import", tmp_path / "out", "--slug", "again")
    assert back.exit_code == 0, back.output
    assert ("The Ladder setting no longer exists" in back.stdout) == (step is not None)
    with opened(tmp_path / "out") as files:
        assert len(checking.left_behind(files)) == (step is not None)
    bundles.rewrite(tmp_path / "out", "task", ladder=step)
    assert "is not a field of this file" in call("import", tmp_path / "out", "--slug", "other").output


def test_a_release_and_its_map(call: Call, task: str, tmp_path: Path) -> None:
    """Pseudonyms and names are never in one place; the map is for its owner only and leads back."""
    target, known = tmp_path / "out.zip", tmp_path / "map.json"
    assert "Use --pseudonyms together with --map FILE" in call("export", task, target, "--pseudonyms").output
    inside = call("export", task, tmp_path / "out", "--pseudonyms", "--map", tmp_path / "out" / "map.json")
    assert "is inside" in inside.output
    assert call("export", task, target, "--pseudonyms", "--map", known).exit_code == 0
    assert stat.S_IMODE(known.stat().st_mode) == 0o600
    with opened(target) as files:
        assert not any(b"Wombatville" in path.read_bytes() for path in files.paths.values())
    back = call("import", target, "--slug", "again", "--map", known)
    assert "Lab, Wombatville" in back.stdout, back.output
    (tmp_path / "no-map.json").write_text("[]")
    assert "is not a map" in call("import", target, "--slug", "x", "--map", tmp_path / "no-map.json").output


def test_an_export_that_fails_leaves_nothing(call: Call, task: str, tmp_path: Path) -> None:
    """A folder that holds something is not touched; an unknown task makes no file."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    assert "already exists" in call("export", task, tmp_path / "out").output
    assert call("export", "unknown", tmp_path / "none.zip").exit_code == 1
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"data", "topics.tsv", "qrels.txt", "first.txt", "second.txt", "out"}
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def _loose(folder: Path) -> Path:
    """A folder as an archive lays it out."""
    (folder / "runs").mkdir(parents=True)
    build.topics_file(folder).rename(folder / "topics.txt")
    build.qrels_file(folder)
    for name in ("alpha", "beta"):
        path = build.run_file(folder, RANKINGS, name)
        (folder / "runs" / f"input.{name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    (folder / "readme.html").write_text("<html>words about it</html>")
    return folder


def test_a_folder_without_doubt_becomes_a_task(call: Call, tmp_path: Path) -> None:
    """Which file is what is printed; runs have the names of their files, teams those of the list."""
    folder = _loose(tmp_path / "track")
    (folder / "teams.csv").write_text("run,team,kind\nalpha,Owls,baseline\n")
    tried = call("import", folder, "--dry-run")
    made = call("import", folder, "--name", "A track", "--team", "Others")
    assert made.exit_code == 0, made.output
    assert tried.stdout.endswith("Dry run: nothing was stored.\n")
    lines = made.stdout.splitlines()
    assert lines[:5] == [
        "A track (track)",
        "Topics: 3, from topics.txt.",
        "Judgments: 7 of 3 topics, from qrels.txt.",
        "Runs: 2, at most 1,000 documents per topic.",
        "Teams: from teams.csv.",
    ]
    assert lines[5].startswith("Measures: ")
    assert lines[6:10] == [
        "  alpha (Owls): 3 topics, runs/input.alpha.gz",
        "  beta (Others): 3 topics, runs/input.beta.gz",
        "Not imported:",
        "  it is a web page (HTML), perhaps the error page of a failed download: readme.html",
    ]
    call("worker", "--once")
    rows = json.loads(call("board", "track", "--format", "json").stdout)["rows"]
    assert {(row["run"], row["team"], row["kind"], row["state"]) for row in rows} == {
        ("alpha", "Owls", "baseline", "done"),
        ("beta", "Others", "official", "done"),
    }


def test_doubt_needs_a_yes(call: Call, tmp_path: Path) -> None:
    """A run that breaks a rule, topics that are missing: nothing is made before somebody said so."""
    folder = _loose(tmp_path / "track")
    (folder / "runs" / "bad.txt").write_text("1 Q0 a 1 2.0 x\n1 Q0 a 2 1.0 x\n")
    (folder / "topics.txt").unlink()
    asked = call("import", folder)
    assert asked.exit_code == 1
    assert "Please check: 1 of 3 run files have errors and are not imported." in asked.output
    assert "Please check: There is no topics file" in asked.output
    assert "Nothing was stored. If everything above is right, use --yes." in asked.output
    assert call("task", "list").stdout == ""
    assert call("import", folder, "--yes").exit_code == 0
    assert "track\ttrack\topen\tpublished\t3 topics\t2 runs" in call("task", "list").stdout


def test_how_files_of_a_folder_were_read_is_said(call: Call, tmp_path: Path) -> None:
    """Lines that were passed over are told; words for grades are a doubt, and hold once somebody says yes."""
    folder = _loose(tmp_path / "track")
    (folder / "qrels.txt").write_text("# by hand\n1 0 a relevant\n1 0 b nonrelevant\n2 0 d relevant\n")
    asked = call("import", folder)
    assert "How it was read: qrels.txt: line 1: '# by hand': 1 line that begins with # was" in asked.output
    assert "Please check: Guessed in qrels.txt: relevant=1, nonrelevant=0." in asked.output
    assert asked.exit_code == 1
    assert call("import", folder, "--yes").exit_code == 0
    assert "1\t3\t2\tshown" in call("qrels", "list", "track").output


def test_of_several_files_one_is_named(call: Call, tmp_path: Path) -> None:
    """Two files of judgments are told, not guessed between; what is no collection at all is refused."""
    folder = _loose(tmp_path / "track")
    build.qrels_file(folder, {"1": {"a": 1}}, "qrels-old")
    asked = call("import", folder)
    assert (
        "Several files could be the judgments: qrels-old.txt, qrels.txt. Name one: --qrels FILE."
        in asked.output
    )
    made = call("import", folder, "--qrels", "qrels.txt")
    assert "judgments, but qrels.txt is used: qrels-old.txt" in made.stdout
    (tmp_path / "empty").mkdir()
    assert "neither a topics file nor a qrels file" in call("import", tmp_path / "empty").output


def _published(folder: Path, measure: str) -> dict[str, str]:
    """Run -> its published value by a measure of trec_eval."""
    with gzip.open(folder / "official.tsv.gz", "rt") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {row["run"].removeprefix("run."): row["value"] for row in rows if row["measure"] == measure}


@pytest.mark.parametrize(
    ("collection", "measure", "published", "options"),
    [
        ("robust03", "AP", "map", ()),
        ("tilde-dl19", "nDCG@10", "ndcg_cut_10", ()),
        ("cast2021", "", "", ("--yes",)),
        ("clef-tar2017", "", "", ("--yes", "--qrels", "qrels.abs.txt.gz")),
    ],
)
def test_real_collections(
    call: Call, shared_data: Path, collection: str, measure: str, published: str, options: tuple[str, ...]
) -> None:
    """Collections as they are on disk become tasks whose scores are the published ones."""
    made = call("import", shared_data / collection, *options)
    assert made.exit_code == 0, made.output
    call("worker", "--once")
    rows = json.loads(call("board", collection, "--format", "json").stdout)["rows"]
    assert rows
    assert {row["state"] for row in rows} == {"done"}
    if measure:
        scores = {row["run"]: f"{row['scores'][measure]:.4f}" for row in rows}
        assert scores == _published(shared_data / collection, published)

"""A run's results in others' forms: fields that their schemas require, numbers that are the page's own."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from leaderboard.cli import main
from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.engine import Database
from leaderboard.errors import Invalid, NotFound
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.page import outward
from leaderboard.runs.page.outward import HubTask, RunAddresses
from leaderboard.runs.page.run import run_page
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from leaderboard.tables.yaml import yaml_text
from tests.make import blind, build
from tests.scoring.ops.statistics.test_standings import fill

AT = RunAddresses("https://a.b/runs/1", "https://a.b/tasks/t", "https://a.b/topics", "https://a.b/qrels.txt")
ON_HUB = HubTask("owner/robots", "t")
TOP = {
    *("schema_version", "evaluation_id", "retrieved_timestamp", "source_metadata", "model_info"),
    *("eval_library", "evaluation_results"),
}
"""What version 0.3.0 of the schema requires at the top; besides these it allows a few named ones only."""
ALLOWED = TOP | {"evaluation_timestamp", "dedupe_identity", "detailed_evaluation_results"}
INSIDE = {
    "source_metadata": ("source_type", "source_organization_name", "evaluator_relationship"),
    "eval_library": ("name", "version"),
    "model_info": ("name", "id"),
}
OF_A_RESULT = ("evaluation_name", "source_data", "metric_config", "score_details")


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


def _results(database: Database, run_id: int, at: RunAddresses = AT) -> dict[str, Any]:
    with database.read() as session:
        return outward.results(session, ANONYMOUS, run_id, at)


def _metadata(database: Database, run_id: int) -> dict[str, Any]:
    with database.read() as session:
        return outward.metadata(session, ANONYMOUS, run_id, AT)


def _hub(database: Database, run_id: int) -> list[dict[str, Any]]:
    with database.read() as session:
        return outward.hub_results(session, ANONYMOUS, run_id, AT, ON_HUB)


def _details(value: Any) -> list[Any]:
    """The values of everything that the schema says holds texts only."""
    if isinstance(value, list):
        return [each for inner in value for each in _details(inner)]
    if not isinstance(value, dict):
        return []
    own = [each for key in ("additional_details", "details") for each in value.get(key, {}).values()]
    return own + [each for inner in value.values() for each in _details(inner)]


@pytest.mark.parametrize("at", [AT, RunAddresses()])
def test_results_have_what_the_schema_requires(database: Database, tmp_path: Path, at: RunAddresses) -> None:
    """At the top, in its parts and in each result; nothing else at the top; texts as texts."""
    found = _results(database, fill(database, tmp_path)["weak"], at)
    assert found.keys() >= TOP
    assert found.keys() <= ALLOWED
    for part, names in INSIDE.items():
        assert all(found[part][name] for name in names), part
    assert found["source_metadata"]["source_type"] in ("documentation", "evaluation_run")
    assert found["evaluation_results"]
    for result in found["evaluation_results"]:
        assert all(result[name] for name in OF_A_RESULT)
        source, config = result["source_data"], result["metric_config"]
        assert source["source_type"] == ("url" if source.get("url") else "other")
        assert isinstance(config["lower_is_better"], bool)
        assert config.get("score_type") != "continuous" or {"min_score", "max_score"} <= config.keys()
        assert isinstance(result["score_details"]["score"], float)
    assert all(isinstance(value, str) for value in _details(found))
    assert int(found["retrieved_timestamp"]) > 0
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("at", [AT, RunAddresses()])
def test_results_are_what_their_schema_asks(database: Database, tmp_path: Path, at: RunAddresses) -> None:
    """The schema of the version that the file names; it is its authors' (MIT), as they published it."""
    jsonschema = pytest.importorskip(
        "jsonschema", reason="jsonschema validates; it comes with the extra `test`"
    )
    found = _results(database, fill(database, tmp_path)["weak"], at)
    schema = Path(__file__).parent / "schemas" / f"every-eval-ever-{found['schema_version']}.json"
    jsonschema.Draft7Validator(json.loads(schema.read_text(encoding="utf-8"))).validate(found)


def test_results_are_the_pages_own_numbers(database: Database, tmp_path: Path) -> None:
    """Scores at full precision, rank, the interval of the first measure; sums and unbounded ones no range."""
    run_id = fill(database, tmp_path)["weak"]
    with database.read() as session:
        page = run_page(session, ANONYMOUS, run_id)
    rows = _results(database, run_id)["evaluation_results"]
    found = {row["metric_config"]["additional_details"]["measure"]: row for row in rows}
    values = {row.column.key: row.value for row in page.measures}
    assert {key: row["score_details"]["score"] for key, row in found.items()} == values
    assert found["RR"]["score_details"]["details"] == {"rank": "4", "ranked_runs": "4"}
    assert page.interval is not None
    interval = found["RR"]["score_details"]["uncertainty"]["confidence_interval"]
    assert (interval["lower"], interval["upper"], interval["confidence_level"]) == (*page.interval, 0.95)
    assert "confidence_interval" not in found["GMAP"]["score_details"]["uncertainty"]
    assert found["RR"]["metric_config"]["score_type"] == "continuous"
    assert "score_type" not in found["NumRelRet"]["metric_config"]


def test_a_hub_is_told_one_score(database: Database, tmp_path: Path) -> None:
    """Data set, task and value, which it requires, are there; the rest says what the value is."""
    reader = pytest.importorskip(
        "yaml", reason="PyYAML reads back what is written; it is in the extra `test`"
    )
    run_id = fill(database, tmp_path, measures=("RR", "SearchLength"))["weak"]
    with database.read() as session:
        page = run_page(session, ANONYMOUS, run_id)
        made = outward.hub_results(session, ANONYMOUS, run_id, AT, ON_HUB)
        other = outward.hub_results(session, ANONYMOUS, run_id, RunAddresses(), ON_HUB, "SearchLength")
    (found,) = reader.safe_load(yaml_text(made))
    assert found["dataset"] == {"id": "owner/robots", "task_id": "t"}
    assert page.headline is not None
    assert (found["value"], page.by) == (page.headline.value, "RR")
    assert found["source"]["url"] == AT.run
    assert found["notes"].startswith("RR; qrels revision 1, ")
    assert str(date.fromisoformat(found["date"])) == found["date"]
    assert "source" not in other[0]
    assert other[0]["notes"].startswith("SearchLength; lower is better; ")


@pytest.mark.parametrize(
    ("dataset", "task", "words"),
    [
        ("", "t", "a hub data set id"),
        ("a/b/c", "t", "a hub data set id"),
        ("a/b", "", "a task id of"),
        ("a/b", "t: x", "id of"),
    ],
)
def test_what_is_no_name_of_a_hub_is_refused(dataset: str, task: str, words: str) -> None:
    """Before anything is read, with what to give."""
    with pytest.raises(Invalid, match=words):
        HubTask(dataset, task)


def test_what_is_held_back_is_in_none(database: Database, tmp_path: Path) -> None:
    """A blind task's run has its public mean at three decimals and no Judged@10; a sealed one has nothing."""
    ids = blind.task(database, tmp_path)
    rows = _results(database, ids["public"])["evaluation_results"]
    assert {row["evaluation_name"]: row["score_details"]["score"] for row in rows}["t: RR"] == 1.0
    assert not any("Judged" in row["evaluation_name"] for row in rows)
    assert _hub(database, ids["public"])[0]["value"] == 1.0
    assert "significance test" not in _metadata(database, ids["public"])["research goal"]["evaluation"]
    blind.settle(database, visibility="sealed")
    for read in (_results, _metadata, _hub):
        with pytest.raises(NotFound):
            read(database, ids["public"])


def test_metadata_adds_to_what_the_file_says(database: Database, tmp_path: Path) -> None:
    """The header stands as it was written; tag, measures and places of topics and judgments are added."""
    build.task(database, tmp_path, measures=("RR",))
    path = build.run_file(tmp_path, {"1": ["a"]}, "own")
    header = (
        "# ir_metadata.start\n# actor:\n#   team: Ours\n# method:\n#   automatic: true\n# ir_metadata.end\n"
    )
    path.write_text(header + path.read_text())
    sent = build.submit(database, path, run_request=RunRequest("own"))
    assert sent.run_id is not None, sent.report
    build.drain(database)
    found = _metadata(database, sent.run_id)
    assert (found["tag"], found["actor"], found["method"]) == ("own", {"team": "Ours"}, {"automatic": "true"})
    assert found["research goal"] == {"evaluation": {"reported measures": ["RR"]}}
    places = found["data"]["test collection"]
    assert (places["topics"], places["qrels"]) == (AT.topics, AT.qrels)


def test_metadata_is_read_back_as_it_was_written(database: Database, tmp_path: Path) -> None:
    """By a reader of YAML, with names that it would take for something else without quotes."""
    reader = pytest.importorskip(
        "yaml", reason="PyYAML reads back what is written; it is in the extra `test`"
    )
    odd = {
        "no": "no: - #'\"",
        "list": ["a: b", {"- c": None, "d": ["null", 1.5]}],
        "e": "\u2028\x85",
        "f": {},
    }
    assert reader.safe_load(yaml_text(odd)) == odd
    found = _metadata(database, fill(database, tmp_path)["weak"])
    assert reader.safe_load(yaml_text(found)) == found


def test_commands_print_them(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the addresses give them, without addresses."""
    run_id = fill(database, tmp_path)["weak"]
    monkeypatch.setenv("LEADERBOARD_DATABASE_URL", database.engine.url.render_as_string(hide_password=False))
    done = CliRunner().invoke(main, ["run", "results", str(run_id)])
    assert json.loads(done.output) == _results(database, run_id, RunAddresses())
    on = ["--dataset", ON_HUB.dataset, "--task", ON_HUB.task]
    done = CliRunner().invoke(main, ["run", "hub-results", str(run_id), *on])
    assert done.output.startswith('-\n  "dataset":\n    "id": "owner/robots"\n')
    done = CliRunner().invoke(main, ["run", "metadata", str(run_id)])
    assert done.output.startswith('"schema-version": 0.1\n"tag": "weak"\n')

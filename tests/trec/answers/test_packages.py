"""Files as they are sent: LongEval's zip, compressed lines, BioGen 2024's documents."""

import gzip
import json
import zipfile
from pathlib import Path

import pytest

from leaderboard.errors import Invalid
from leaderboard.trec.answers.check import AnswerRules, check_answers
from leaderboard.trec.answers.record import read_answer_topics
from leaderboard.trec.nuggets.scoring import read_answers
from tests.make.answers import jsonl, line

LONGEVAL = line("rag25", "answer.0.citations", [1, 0])
LONGEVAL["references"] = [100, 7]


def zipped(path: Path, **files: str) -> Path:
    """A zip of these files; _ stands for a hyphen and the last _ for a point."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            stem, _, ending = name.rpartition("_")
            archive.writestr(f"{stem.replace('_', '-')}.{ending}", text)
    return path


def test_longevals_zip(tmp_path: Path) -> None:
    """The lines of the zip, of rag25's form with positions; metadata beside them."""
    lines = f"{json.dumps(LONGEVAL)}\n"
    path = zipped(tmp_path / "run.zip", generated_responses_jsonl=lines, ir_metadata_yml="tag: one\n")
    run, answers = read_answers(path)
    assert (run, answers["7"].references) == ("u2", ("100", "7"))
    report = check_answers(path, AnswerRules(dialects=("longeval-rag",)))
    assert (report.verdict, report.facts["dialect"]) == ("accepted", "longeval-rag")


@pytest.mark.parametrize(
    ("files", "rule"),
    [
        ({"generated_responses_jsonl": "{}"}, "The zip has no ir-metadata.yml."),
        ({"ir_metadata_yml": "tag: one"}, "The zip has no generated-responses.jsonl."),
    ],
)
def test_a_zip_without_one_of_its_files(tmp_path: Path, files: dict[str, str], rule: str) -> None:
    """Both files have to be there."""
    (problem,) = check_answers(zipped(tmp_path / "run.zip", **files), AnswerRules()).problems
    assert problem.rule == rule
    assert "Put generated-responses.jsonl and ir-metadata.yml" in problem.remedy


def test_a_zip_where_it_is_not_allowed_and_lines_where_it_is_asked_for(tmp_path: Path) -> None:
    """The dialect decides which of the two a file is."""
    path = zipped(tmp_path / "run.zip", generated_responses_jsonl="{}", ir_metadata_yml="tag: one")
    (problem,) = check_answers(path, AnswerRules(dialects=("rag25",))).problems
    assert problem.rule == "The file is in the dialect longeval-rag; rag25 are accepted."
    plain = jsonl(tmp_path / "run.jsonl", [LONGEVAL])
    (problem,) = check_answers(plain, AnswerRules(dialects=("longeval-rag",))).problems
    assert problem.rule == "LongEval answers are a zip of generated-responses.jsonl and ir-metadata.yml."


def test_a_damaged_zip_is_a_problem(tmp_path: Path) -> None:
    """Cut in the middle."""
    lines = f"{json.dumps(LONGEVAL)}\n"
    path = zipped(tmp_path / "run.zip", generated_responses_jsonl=lines, ir_metadata_yml="tag: one\n")
    path.write_bytes(path.read_bytes()[:-30])
    (problem,) = check_answers(path, AnswerRules()).problems
    assert "The zip archive is" in problem.rule


def test_compressed_lines(tmp_path: Path) -> None:
    """As any other file: by its first bytes, whatever its name."""
    path = tmp_path / "run.jsonl"
    path.write_bytes(gzip.compress(f"{json.dumps(line('report'))}\n".encode()))
    assert read_answers(path)[0] == "u3"


@pytest.mark.parametrize("indent", [None, 2])
def test_biogen_2024_is_refused_with_the_remedy(tmp_path: Path, indent: int | None) -> None:
    """One document, on one line or over many."""
    document = {
        "team_id": "u",
        "run_name": "r",
        "contact_email": "u@example.org",
        "results": [{"topic_id": "7", "answer": "Air scatters [1][2].", "references": ["1", "2"]}],
    }
    path = tmp_path / "run.json"
    path.write_text(json.dumps(document, indent=indent))
    for rules in (AnswerRules(), AnswerRules(dialects=("report",))):
        (problem,) = check_answers(path, rules).problems
        assert problem.rule.startswith("This is BioGen 2024's form")
        assert "Split the text into sentences" in problem.remedy


def test_answers_that_break_a_rule_are_not_read(tmp_path: Path) -> None:
    """Who reads them for scores is told the check's errors."""
    path = jsonl(tmp_path / "run.jsonl", [line("report"), line("report")])
    with pytest.raises(Invalid) as caught:
        read_answers(path)
    assert caught.value.problems[0].rule == "The topic is on line 1 already."


def test_topics_of_all_forms(tmp_path: Path) -> None:
    """JSON lines with ids under the keys of several tracks, texts and limits; others as for rankings."""
    path = jsonl(
        tmp_path / "topics.jsonl",
        [
            {"request_id": "leaf", "title": "fall leaves", "limit": 2000},
            {"narrative_id": 7, "narrative": "why is the sky blue"},
            {"qid": "28", "query": "curved wings", "limit": None},
        ],
    )
    topics = read_answer_topics(path)
    assert [(one.topic, one.texts, one.limit) for one in topics.values()] == [
        ("leaf", ("fall leaves",), 2000),
        ("7", ("why is the sky blue",), None),
        ("28", ("curved wings",), None),
    ]
    (tmp_path / "topics.tsv").write_text("7\twhy is the sky blue\n")
    assert read_answer_topics(tmp_path / "topics.tsv")["7"].texts == ("why is the sky blue",)
    for broken, rule in (
        ({"title": "no id"}, "A topic needs an id"),
        ({"id": "7", "limit": -1}, "limit is negative."),
        ({"id": "7", "limit": 2.5}, "limit must be a whole number"),
        ({"id": "a b"}, "A topic id may not contain blanks"),
    ):
        with pytest.raises(Invalid) as caught:
            read_answer_topics(jsonl(path, [broken]))
        assert caught.value.problems[0].rule.startswith(rule)

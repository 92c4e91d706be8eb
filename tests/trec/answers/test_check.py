"""The check of a file of answers: every finding of every dialect, with line, rule, value and remedy."""

from pathlib import Path
from typing import Any

import pytest

from leaderboard.trec.answers import check
from leaderboard.trec.answers.check import AnswerRules, check_answers
from leaderboard.trec.answers.dialects import DIALECTS
from leaderboard.trec.answers.record import Answer, AnswerTopic
from leaderboard.trec.runs.check import Report
from tests.make.answers import LINES, jsonl, line

TOPICS = {"7": AnswerTopic("7", ("why is the sky blue",)), "8": AnswerTopic("8")}
SEGMENTS = {name: "responses" if name == "report" else "answer" for name in LINES}
IDS = {
    "rag24": "topic_id",
    "rag25": "metadata.narrative_id",
    "rag26": "metadata.narrative_id",
    "report": "metadata.topic_id",
}
RUN_IDS = {name: "run_id" if name == "rag24" else "metadata.run_id" for name in LINES}


def checked(folder: Path, lines: list[object], **rules: Any) -> Report:
    """The report on a file of these lines."""
    return check_answers(jsonl(folder / "run.jsonl", lines), AnswerRules(**rules))


def both(dialect: str, second: object) -> list[object]:
    """A good line for topic 8, then another one."""
    return [line(dialect, IDS[dialect], "8"), second]


def outcome(report: Report, words: str) -> str:
    """What the finding with these words is: error, warning, or - where there is none."""
    if any(words in problem.rule for problem in report.problems):
        return "error"
    return "warning" if any(words in warning.rule for warning in report.warnings) else "-"


CITED = [f"d{number}" for number in range(1, 5)]
NAMES = {"E": "error", "W": "warning", "-": "-"}


@pytest.mark.parametrize("dialect", LINES)
def test_a_good_line_is_accepted(tmp_path: Path, dialect: str) -> None:
    """No problem and no warning with a good line, and the facts count it."""
    report = checked(tmp_path, [line(dialect)], topics={"7": TOPICS["7"]})
    assert (report.verdict, report.problems, report.warnings) == ("accepted", (), ())
    assert (report.facts["dialect"], report.facts["answers"], report.facts["missing"]) == (dialect, 1, 0)


def looked_at(folder: Path, dialect: str, path: str, value: object, words: str, **rules: Any) -> str:
    """What a line with that value at the path is, on line 2."""
    path = path.replace("SEGMENTS", SEGMENTS[dialect])
    try:
        second = line(dialect, path, value)
    except (KeyError, TypeError):
        return "-"
    report = checked(folder, both(dialect, second), dialects=(dialect,), topics=TOPICS, **rules)
    found = [one for one in (*report.problems, *report.warnings) if words in one.rule]
    assert all(one.line == 2 for one in found if "There is no answer" not in one.rule)
    return outcome(report, words)


@pytest.mark.parametrize("place", range(4), ids=list(LINES))
@pytest.mark.parametrize(
    ("words", "table", "path", "value"),
    [
        ("references is missing", "EEE-", "references", None),
        ("has no references", "---W", "references", None),
        ("must be a list", "EEEE", "references", "d4"),
        ("must be text", "EEEE", "SEGMENTS.0.text", 5),
        ("answer.text is missing", "EEEE", "SEGMENTS.0.text", None),
        ("answer.citations is missing", "EEEE", "SEGMENTS.0.citations", None),
        ("is neither manual nor automatic", "-E--", "metadata.type", "by hand"),
        ("metadata.prompt is missing", "-W--", "metadata.prompt", None),
        ("metadata.type is missing", "-W--", "metadata.type", None),
        ("among the references twice", "EW--", "references", ["d9", "d4", "d4"]),
        ("is empty", "WWEW", "SEGMENTS.0.text", " "),
        ("has no segments", "WWEW", "SEGMENTS", []),
        ("response_length is not the counted length", "W---", "response_length", 9),
        ("response_length must be a whole number", "E---", "response_length", "9"),
    ],
)  # fmt: skip
def test_a_value_is_an_error_a_warning_or_fine(
    tmp_path: Path, place: int, words: str, table: str, path: str, value: object
) -> None:
    """A value at a place of line 2 is in each dialect what the table says."""
    dialect = list(LINES)[place]
    assert looked_at(tmp_path, dialect, path, value, words) == NAMES[table[place]]


@pytest.mark.parametrize("dialect", LINES)
def test_what_breaks_every_dialect(tmp_path: Path, dialect: str) -> None:
    """A line that is not JSON, another run, a topic that is unknown or there twice: errors on their lines."""
    lines = [
        *both(dialect, line(dialect)),
        "{",
        line(dialect, RUN_IDS[dialect], "other"),
        line(dialect, IDS[dialect], "99"),
        "[1]",
        line(dialect, RUN_IDS[dialect], None),
        line(dialect, RUN_IDS[dialect], 5),
    ]
    report = checked(tmp_path, lines, topics=TOPICS, over="warn")
    found = [(one.line, one.rule) for one in report.problems]
    run = LINES[dialect].get("run_id") or LINES[dialect]["metadata"]["run_id"]
    within = RUN_IDS[dialect].removesuffix("run_id")
    assert found == [
        (3, "The line is not valid JSON: Expecting property name enclosed in double quotes."),
        (4, f"The earlier lines belong to the run {run}; a file contains one run."),
        (4, "The topic is on line 2 already."),
        (5, "The task does not have this topic."),
        (6, "The line is JSON but not an object."),
        (7, f"The key {within}run_id is missing."),
        (8, f"{within}run_id must be text, not a whole number."),
    ]
    assert all(one.remedy for one in report.problems)
    assert str(report.problems[3]) == (
        "line 5: topic '99': The task does not have this topic. There are 7, 8, ..."
    )


@pytest.mark.parametrize(("dialect", "expected"), list(zip(LINES, ["error", "-", "error", "-"], strict=True)))
def test_the_official_text(tmp_path: Path, dialect: str, expected: str) -> None:
    """A topic's text is copied exactly in rag24 and rag26; the others do not look."""
    path = "topic" if dialect == "rag24" else "metadata.narrative"
    second = line(dialect)
    place = second if dialect == "rag24" else second["metadata"]
    place[path.removeprefix("metadata.")] = "Why is the sky blue?"
    report = checked(tmp_path, [second], topics={"7": TOPICS["7"]})
    assert outcome(report, "is not the topic's official text: 'why is the sky blue'") == expected


@pytest.mark.parametrize(
    ("dialect", "expected"), list(zip(LINES, ["error", "warning", "-", "-"], strict=True))
)
def test_the_docno_pattern(tmp_path: Path, dialect: str, expected: str) -> None:
    """References that are not of the collection."""
    report = checked(tmp_path, [line(dialect)], docno_pattern=r"msmarco_v2\.1_doc_\d+_\d+#\d+_\d+")
    assert outcome(report, r"References must match msmarco_v2\.1_doc_\d+_\d+#\d+_\d+ as a whole.") == expected
    assert outcome(checked(tmp_path, [line(dialect)], docno_pattern=r"d\d"), "References match") == "-"


@pytest.mark.parametrize(
    ("dialect", "most", "expected"),
    [("rag24", 20, "error"), ("rag25", 100, "warning"), ("rag26", 100, "-"), ("report", 100, "-")],
)
def test_too_many_references(tmp_path: Path, dialect: str, most: int, expected: str) -> None:
    """One more than the most; rag25 keeps the first hundred and drops what cites the rest."""
    second = line(dialect, "references", [f"d{number}" for number in range(most + 1)])
    second[SEGMENTS[dialect]] = [{"text": "One.", "citations": [0] if dialect == "rag24" else ["d0"]}]
    if dialect == "rag25":
        second["answer"] = [{"text": "One.", "citations": ["d100", "d1"]}]
    kept: list[Answer] = []
    path = jsonl(tmp_path / "run.jsonl", [second])
    report = check_answers(path, AnswerRules(dialects=(dialect,)), kept.append)
    assert outcome(report, f"at most {most} references; this one has {most + 1}") == expected
    if dialect == "rag25":
        assert len(kept[0].references) == 100
        assert [one.docno for one in kept[0].segments[0].citations] == ["d1"]


@pytest.mark.parametrize(
    ("dialect", "citation", "words", "expected"),
    [
        ("rag24", 2, "cites a position that the 2 references do not have", "error"),
        ("rag24", -1, "cites a position that the 2 references do not have", "error"),
        ("rag25", 2, "cites a position that the 2 references do not have", "error"),
        ("rag25", "d5", "cites a document that is not among the references", "error"),
        ("rag26", 2, "cites a position that the 2 references do not have", "error"),
        ("rag26", "d5", "cites a document that is not among the references", "error"),
        ("report", "d5", "cites a document that is not among the references", "warning"),
        ("rag24", "0", "Citations are positions among the references, from 0, not text.", "error"),
        ("rag25", True, "not true or false.", "error"),
        ("rag25", 1.0, "not a number with a point.", "error"),
        ("rag26", None, "not null.", "error"),
        ("report", 0, "Citations are document ids, not a whole number.", "error"),
    ],
)
def test_citations_that_lead_nowhere(
    tmp_path: Path, dialect: str, citation: object, words: str, expected: str
) -> None:
    """Positions beyond the end, documents not among the references, and what is neither."""
    second = line(dialect)
    second[SEGMENTS[dialect]][0]["citations"] = [citation]
    report = checked(tmp_path, [second], dialects=(dialect,))
    assert outcome(report, words) == expected


@pytest.mark.parametrize(("dialect", "expected"), list(zip(LINES, ["-", "-", "error", "-"], strict=True)))
def test_more_than_three_citations(tmp_path: Path, dialect: str, expected: str) -> None:
    """Four documents cited by one segment are too many in rag26 alone; three are fine."""
    for count in (3, 4):
        second = line(dialect, "references", CITED)
        cited = list(range(count)) if dialect == "rag24" else CITED[:count]
        second[SEGMENTS[dialect]][0]["citations"] = cited
        report = checked(tmp_path, [second])
        assert outcome(report, "cites at most 3 documents") == (expected if count == 4 else "-")


@pytest.mark.parametrize("dialect", LINES)
def test_what_is_fine(tmp_path: Path, dialect: str) -> None:
    """Segments without citations, headings, Markdown, no full stop; unknown keys are kept."""
    second = line(dialect)
    second[SEGMENTS[dialect]] += [
        {"text": "## Light", "citations": [], "kind": "heading"},
        {"text": "**No** full stop", "citations": []},
    ]
    if dialect == "rag24":
        second["response_length"] += 5
    second["extra"] = {"kept": 1}
    kept: list[Answer] = []
    report = check_answers(jsonl(tmp_path / "run.jsonl", [second]), AnswerRules(), kept.append)
    assert report.verdict == "accepted"
    assert '"extra": {"kept": 1}' in kept[0].line


@pytest.mark.parametrize(
    ("dialect", "words", "expected"),
    [("rag24", 401, "warning"), ("rag25", 401, "warning"), ("rag26", 1025, "error"), ("report", 9999, "-")],
)
def test_too_long(tmp_path: Path, dialect: str, words: int, expected: str) -> None:
    """One word too many: rag24 is cut, rag25 warned about, rag26 refused; a report has no limit."""
    second = line(dialect)
    segments = [{"text": "word " * (words - 1), "citations": []}, {"text": "last", "citations": []}]
    second[SEGMENTS[dialect]] = segments
    kept: list[Answer] = []
    report = check_answers(jsonl(tmp_path / "run.jsonl", [second]), AnswerRules(), kept.append)
    assert outcome(report, f"The answer has {words:,} words") == expected
    assert len(kept[0].segments) == (1 if dialect == "rag24" else 2)
    assert report.facts["cut"] == (1 if dialect == "rag24" else 0)


@pytest.mark.parametrize(("over", "expected"), [("refuse", "error"), ("cut", "warning"), ("warn", "warning")])
def test_the_tasks_limit_and_what_becomes_of_longer_ones(tmp_path: Path, over: Any, expected: str) -> None:
    """A limit of the topic wins over the task's; cutting can leave nothing."""
    topics = {"7": AnswerTopic("7", (), 10)}
    report = checked(tmp_path, [line("report")], topics=topics, limit=2000, over=over)
    assert outcome(report, "The answer has 29 characters; at most 10 are allowed.") == expected
    assert report.facts["empty"] == (1 if over == "cut" else 0)
    assert outcome(checked(tmp_path, [line("report")], limit=29, over=over), "The answer has") == "-"


@pytest.mark.parametrize(
    ("dialect", "expected"), list(zip(LINES, ["warning", "warning", "error", "-"], strict=True))
)
def test_a_topic_without_an_answer(tmp_path: Path, dialect: str, expected: str) -> None:
    """Topic 8 is not answered; rag26 takes that where a subset was asked for."""
    words = "There is no answer for 1 topic (8)."
    assert outcome(checked(tmp_path, [line(dialect)], topics=TOPICS), words) == expected
    assert outcome(checked(tmp_path, [line(dialect)], topics=TOPICS, subset=True), words) == "-"


def test_a_document_cited_twice_keeps_its_first_place(tmp_path: Path) -> None:
    """A warning, and one citation."""
    second = line("rag25", "answer.0.citations", ["d4", "d9", "d4"])
    kept: list[Answer] = []
    report = check_answers(jsonl(tmp_path / "run.jsonl", [second]), AnswerRules(), kept.append)
    assert outcome(report, "cites the document twice") == "warning"
    assert [one.docno for one in kept[0].segments[0].citations] == ["d4", "d9"]


def test_at_most_25_errors_are_shown_and_alike_warnings_are_one(tmp_path: Path) -> None:
    """Errors line by line up to 25; warnings of a kind as one, counted, with some of the values."""
    broken = [line("rag25", "metadata.type", "x") for _ in range(40)]
    report = checked(tmp_path, broken)
    assert [one.line for one in report.problems if "type" in one.field] == list(range(1, 14))
    assert len(report.problems) == 25
    odd = [
        {**line("report", "metadata.topic_id", str(number)), "references": [f"d{number}"]}
        for number in range(9)
    ]
    (warning,) = checked(tmp_path, odd).warnings
    assert (warning.count, warning.line, warning.examples) == (17, 1, ("d9", "d4"))


def test_files_that_are_no_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty file, one in another dialect than asked for, one of too many topics."""
    assert [one.rule for one in checked(tmp_path, []).problems] == ["The file has no answers."]
    assert [one.rule for one in checked(tmp_path, ["", " "], dialects=("rag24",)).problems] == [
        "The file has no answers."
    ]
    report = checked(tmp_path, [line("report")], dialects=("rag24", "rag25"))
    assert [one.rule for one in report.problems] == [
        "The file is in the dialect report; rag24, rag25 are accepted."
    ]
    report = checked(tmp_path, [line("report"), "\x00"])
    assert [one.rule for one in report.problems] == ["The line contains a NUL byte."]
    short = '{"metadata":{"team_id":"u","run_id":"r","topic_id":%d},"responses":[],"references":[]}'
    monkeypatch.setattr(check, "MOST_TOPICS", 1000)
    many = [short % number for number in range(1001)]
    assert checked(tmp_path, list(many)).problems[0].rule == "The file answers more than 1,000 topics."
    assert checked(tmp_path, many[1:]).problems == ()


def test_every_dialect_has_a_column() -> None:
    """The dialects that can be asked for are those of the specification."""
    assert list(DIALECTS) == ["rag24", "rag25", "rag26", "report", "longeval-rag"]

"""Board files in every order of columns, and what is wrong with them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from leaderboard.errors import Invalid
from leaderboard.trec.boards.board_files import BoardFile, Known, read_board

Written = Callable[[str | bytes], Path]
KNOWN = Known({"oak", "elm"}, {"t1", "t2"})
CELLS = [
    ("oak", "t1", "0.9"), ("oak", "t2", "0.4"), ("oak", "all", "0.65"),
    ("elm", "t1", "0.3"), ("elm", "t2", "0.5"), ("elm", "all", "0.4"),
]  # fmt: skip
VALUES = {"NUGGETS": {"oak": {"t1": 0.9, "t2": 0.4}, "elm": {"t1": 0.3, "t2": 0.5}}}
LINES = {
    "tot": "{run} NUGGETS {topic} {value}",
    "ir_measures": "{run} {topic} NUGGETS {value}",
    "topic_first": "{topic} {run} NUGGETS {value}",
    "ranked": "{topic} Q0 {run} 1 {value} NUGGETS",
    "jsonl": '{{"run_id": "{run}", "topic_id": "{topic}", "measure": "NUGGETS", "value": {value}}}',
}


def text_of(form: str) -> str:
    """The cells in an order of columns."""
    return "".join(
        LINES[form].format(run=run, topic=topic, value=value) + "\n" for run, topic, value in CELLS
    )


def words(board: BoardFile) -> list[str]:
    """What a file is warned of."""
    return [str(warning) for warning in board.warnings]


@pytest.mark.parametrize("form", LINES)
def test_an_order_is_found_by_the_topics(written: Written, form: str) -> None:
    """The column that holds known topics or `all` tells the order; blanks or tabs part columns."""
    for text in (text_of(form), text_of(form).replace(" ", "\t") if form != "jsonl" else text_of(form)):
        board = read_board(written(text), KNOWN)
        assert (board.order, board.values) == (form, VALUES)
        assert board.totals == {"NUGGETS": {"oak": 0.65, "elm": 0.4}}
        assert (board.runs, board.topics, board.measures) == (("oak", "elm"), ("t1", "t2"), ("NUGGETS",))
        assert words(board) == []


def test_a_folder_has_a_file_a_run(tmp_path: Path) -> None:
    """`measure topic value`: the run is the file's name, with as many of its parts as make a known run."""
    (tmp_path / "oak.eval").write_text("NUGGETS t1 0.9\nNUGGETS t2 0.4\nNUGGETS all 0.65\n")
    (tmp_path / "team.v2.txt").write_text("NUGGETS t1 0.3\nNUGGETS t2 0.5\nNUGGETS all 0.4\n")
    board = read_board(tmp_path, Known({"oak", "team.v2"}, {"t1", "t2"}))
    assert board.order == "one_run"
    assert board.values == {"NUGGETS": {"oak": {"t1": 0.9, "t2": 0.4}, "team.v2": {"t1": 0.3, "t2": 0.5}}}
    assert board.name == tmp_path.name
    assert read_board(tmp_path / "team.v2.txt").runs == ("team.v2",)


def test_a_heading_is_skipped_and_breaks_a_tie(written: Written) -> None:
    """The heading decides where topics do not, and is never a value."""
    rows = "run_id query_id measure value\noak t1 AP 0.5\nelm t1 AP 0.4\n"
    board = read_board(written(rows))
    assert (board.order, board.values) == ("ir_measures", {"AP": {"oak": {"t1": 0.5}, "elm": {"t1": 0.4}}})
    swapped = read_board(written("run_id\tmetric\ttopic_id\tscore\noak\tAP\tt1\t0.5\n"))
    assert (swapped.order, swapped.values) == ("tot", {"AP": {"oak": {"t1": 0.5}}})


def test_an_order_that_two_columns_fit_is_asked(written: Written) -> None:
    """Runs that are called as topics: both readings are named, and naming one helps."""
    path = written("1 2 AP 0.5\n2 1 AP 0.4\n")
    known = Known({"1", "2"}, {"1", "2"})
    with pytest.raises(Invalid, match=r"ir_measures \(run 1, topic 2.*topic_first \(topic 1, run 2.*Name"):
        read_board(path, known)
    assert read_board(path, known, "topic_first").values == {"AP": {"2": {"1": 0.5}, "1": {"2": 0.4}}}


def test_an_order_of_which_nothing_is_known_is_asked(written: Written) -> None:
    """Without topics, `all` and heading any of three orders may be meant."""
    with pytest.raises(Invalid, match="line 1 may be ir_measures .*tot .*topic_first "):
        read_board(written("a b c 0.7\n"))
    assert read_board(written("a b c 0.7\n"), order="tot").values == {"b": {"a": {"c": 0.7}}}


def test_a_run_that_is_called_as_a_topic_does_not_confuse(written: Written) -> None:
    """Most of a column has to fit."""
    rows = "t1 AP t1 0.1\noak AP t1 0.2\nelm AP t1 0.3\noak AP t2 0.3\n"
    board = read_board(written(rows), Known({"t1", "oak", "elm"}, {"t1", "t2"}))
    assert board.order == "tot"


def test_true_and_false_are_1_and_0(written: Written) -> None:
    """Other text makes its measure unusable, and that one only."""
    rows = "oak A t1 True\noak A t2 false\noak B t1 good\noak B t2 1\noak C t1 nan\nelm A t1 1e-1\n"
    board = read_board(written(rows), KNOWN)
    assert board.values == {"A": {"oak": {"t1": 1.0, "t2": 0.0}, "elm": {"t1": 0.1}}}
    assert board.unusable == ("B", "C")
    assert "line 3: value 'good': A value of B is neither a number nor True or False" in words(board)[0]
    in_json = '{"run_id": "oak", "topic_id": 7, "measure": "A", "value": true}\n'
    assert read_board(written(in_json)).values == {"A": {"oak": {"7": 1.0}}}


def test_a_cell_with_two_values_is_an_error(written: Written) -> None:
    """The same value twice is not."""
    with pytest.raises(Invalid, match="line 2: AP of run oak on topic t1 is 0.7 on line 1 and 0.8 here"):
        read_board(written("oak t1 AP 0.7\noak t1 AP 0.8\n"), KNOWN)
    assert read_board(written("oak t1 AP 0.7\noak t1 AP 0.70\n"), KNOWN).values == {
        "AP": {"oak": {"t1": 0.7}}
    }


def test_unknown_runs_and_topics_are_errors(written: Written) -> None:
    """Each is named once with its first line; autojudge-evaluate drops them."""
    path = written("oak t1 AP 0.7\nash t1 AP 0.8\nash t2 AP 0.8\noak t9 AP 0.1\noak t2 AP 0.2\n")
    with pytest.raises(Invalid) as caught:
        read_board(path, KNOWN)
    assert [(one.line, one.field, one.value, one.count) for one in caught.value.problems] == [
        (2, "run", "ash", 2),
        (4, "topic", "t9", 1),
    ]
    dropping = Known(KNOWN.runs, KNOWN.topics, drop=True)
    assert read_board(path, dropping).values == {"AP": {"oak": {"t1": 0.7, "t2": 0.2}}}


def test_what_looks_wrong_is_a_warning(written: Written) -> None:
    """TIRA's check: five lines, two runs, all measures for every run, an `all` line for each."""
    assert words(read_board(written("oak t1 AP 0.7\noak all AP 0.7\n"), KNOWN)) == [
        "The file has fewer than 5 lines: 2.",
        "The file has fewer than 2 runs.",
    ]
    rows = "oak t1 A 1\noak t1 B 1\noak all A 1\noak all B 1\nelm t1 A 1\n"
    first, second = words(read_board(written(rows), KNOWN))
    assert "run 'elm': The run lacks a measure that others have." in first
    assert "'elm A': There is no `all` line for them." in second


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no values"),
        ("# only a comment\n", "has no values"),
        ("oak t1\n", "3, 4 or 6 columns"),
        ("oak t1 AP 0.5\noak t2 AP\n", "line 2: Lines of this file have 4 columns; this one has 3"),
        ('{"run_id": "oak"}\n', "The object has no topic"),
        ('{"run_id": "oak"\n', "is not a JSON object"),
        ('{"run_id": "a", "topic_id": "t1", "measure": "A", "value": 1}\noak t1 A 1\n', "line 2"),
    ],
)
def test_a_line_that_cannot_be_read_is_an_error(written: Written, text: str, said: str) -> None:
    """What is wrong is said with its line."""
    with pytest.raises(Invalid, match=said):
        read_board(written(text), KNOWN)


def test_real_board_files_are_read(shared_data: Path) -> None:
    """Samples of AutoJudge: its example's truth and judge, a spot check, and odd cases."""
    if not (shared_data / "autojudge-kiddie").is_dir():
        pytest.skip(f"no samples of AutoJudge at {shared_data}")
    kiddie, spot = shared_data / "autojudge-kiddie", shared_data / "autojudge-spotcheck"
    truth = read_board(kiddie / "truth.ir_measures.txt")
    assert (truth.order, len(truth.runs), len(truth.topics), words(truth)) == ("ir_measures", 4, 5, [])
    judge = read_board(kiddie / "example-judge" / "leaderboard.tot.txt")
    assert (judge.order, len(judge.runs), len(judge.topics)) == ("tot", 11, 122)
    assert sum(value == 1.0 for value in judge.totals["SCORE"].values()) == 8
    assert read_board(spot / "trec-leaderboard.txt").order == "tot"
    assert read_board(spot / "upload-skeleton-leaderboard.txt").measures == ("LENGTH", "RANDOM")
    assert read_board(spot / "odd" / "results.tsv").order == "ir_measures"
    with pytest.raises(Invalid, match="0.7 on line 1 and 0.8 here"):
        read_board(spot / "odd" / "team1-run1.contradictory.results", order="ir_measures")

"""Preference files: pairs and levels, what follows from them, and what is wrong with them."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.errors import Invalid
from leaderboard.measures.grammar import parse
from leaderboard.trec.qrels import preferences
from leaderboard.trec.qrels.align import align
from leaderboard.trec.qrels.compiling import compile_qrels
from leaderboard.trec.qrels.preferences import (
    PreferenceJudgments,
    preferences_of,
    preferred,
    read_preferences,
    with_documents,
)
from leaderboard.trec.qrels.qrels import Qrels
from leaderboard.trec.runs.runs import Ranking
from tests.trec.conftest import Written

LEVELS = """\
# topic judge group docno level
7 u1 s1 a 3
7 u1 s1 b 2
7 u1 s1 c 2.5e-1
7 u1 s2 c 5
7 u1 s2 d 4
7 u2 only b 2
7 u2 only a 2
8 u1 s1 a 0
"""


def _problems(path: Path) -> list[str]:
    with pytest.raises(Invalid) as caught:
        read_preferences(path)
    return [str(problem) for problem in caught.value.problems]


def test_pairs_have_a_weight_or_1(written: Written) -> None:
    """Blank lines and comments are nothing, a pair that comes again adds up, so do both directions."""
    plain = read_preferences(written("# pairs\n1\tb\ta\n\n1 b a\n1 a b\n2 x y\n"))
    assert plain.pairs == {"1": {"": {(b"b", b"a"): 2.0, (b"a", b"b"): 1.0}}, "2": {"": {(b"x", b"y"): 1.0}}}
    weighed = read_preferences(written("1 b a 2\n1 b a .5\n"))
    assert weighed.pairs == {"1": {"": {(b"b", b"a"): 2.5}}}


def test_levels_are_preferences_within_a_group(written: Written) -> None:
    """And what follows from a judge's groups: a and b are better than d since c is."""
    read = read_preferences(written(LEVELS))
    assert sorted(read.pairs["7"]["u1"]) == [
        (b"a", b"b"),
        (b"a", b"c"),
        (b"a", b"d"),
        (b"b", b"c"),
        (b"b", b"d"),
        (b"c", b"d"),
    ]
    assert set(read.pairs["7"]["u1"].values()) == {1.0}
    assert read.pairs["7"]["u2"] == {}
    assert read.pairs["8"] == {"u1": {}}


def test_one_group_has_nothing_between_equals(written: Written) -> None:
    """trec_eval's own example: six documents at four levels are 13 preferences."""
    levels = [("1", 3), ("2", 2), ("3", 0), ("4", 6), ("5", 0), ("6", 2)]
    read = read_preferences(written("".join(f"q u s docno{name} {level}.0\n" for name, level in levels)))
    assert len(read.pairs["q"]["u"]) == 13


def test_compressed_files_are_read(written: Written) -> None:
    """As all files are."""
    path = written(gzip.compress(b"1 a b\r\n1 b c"))
    assert list(read_preferences(path).pairs["1"][""]) == [(b"a", b"b"), (b"b", b"c")]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "The file has no preferences. Write one line each: topic, better docno, worse docno."),
        ("1 a b\n1 a b 2\n", "line 2: '1 a b 2': A line has 3 fields (topic, better docno, worse docno); "),
        ("1 a\n", "line 1: '1 a': A line has 3 fields (topic, better docno, worse docno); this one has 2."),
        ("1 a a\n", "line 1: docno 'a': A document is not better than itself. Name two documents."),
        ("1 a b 0\n", "line 1: weight '0': A weight is a number above 0. Levels need five columns: "),
        ("1 a b x\n", "line 1: weight 'x': A weight is a number above 0."),
        ("1 a b 1e999\n", "line 1: weight '1e999': A weight is a number above 0."),
        (
            "1 u s a -1\n",
            "line 1: level '-1': A level must be a number of at least 0. The last column is the level.",
        ),
        ("1 u s a nan\n", "line 1: level 'nan': A level must be a number of at least 0."),
        (f"1 {'x' * 256} b\n", "line 1: better docno 'xxx"),
        (
            "1 u s a 1\n1 u s b 2\n1 u s a 3\n",
            "line 3: docno 'a': The group has this document already on line 1",
        ),
        ("1 a\x01 b\n", "line 1: '1 a\\\\x01 b': The line contains a control character."),
    ],
)
def test_problems_name_line_value_and_remedy(written: Written, text: str, problem: str) -> None:
    """The first line that breaks a rule, and what to do."""
    assert _problems(written(text))[0].startswith(problem)


def test_a_judge_must_not_contradict_themselves(written: Written) -> None:
    """Three groups in a circle; another judge may say anything."""
    lines = "1 u1 s1 a 2\n1 u1 s1 b 1\n1 u1 s2 b 2\n1 u1 s2 c 1\n1 u1 s3 c 2\n1 u1 s3 a 1\n"
    (problem,) = _problems(written(lines))
    assert "Judge u1 prefers " in problem
    assert problem.endswith("which is a cycle. Use two judges, or remove one of the groups.")
    circle = problem.split("prefers ")[1].split(",")[0].split(" to ")
    assert "".join(circle) in {"abca", "bcab", "cabc"}
    assert read_preferences(written(lines.replace("1 u1 s3", "1 u2 s3"))).pairs["1"]["u2"] == {
        (b"c", b"a"): 1.0
    }


def test_what_is_written_twice_is_taken_once(written: Written) -> None:
    """With a note."""
    read = read_preferences(written("1 u s a 2\n1 u s a 2\n1 u s b 1\n"))
    assert read.pairs == {"1": {"u": {(b"a", b"b"): 1.0}}}
    assert [note.line for note in read.notes] == [2]


@pytest.mark.parametrize("groups", [1, 40])
def test_there_is_an_end_to_preferences(
    written: Written, groups: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many documents in one group, or many that follow from a chain of groups."""
    monkeypatch.setattr(preferences, "MAX_PREFERENCES", 500)
    if groups == 1:
        text = "".join(f"1 u s d{number} {number}\n" for number in range(40))
    else:
        text = "".join(f"1 u s{at} d{at + step} {2 - step}\n" for at in range(groups) for step in (0, 1))
    assert _problems(written(text)) == [
        "The levels make more than 500 preferences. Leave out documents, or write grades as qrels."
    ]


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 3)),
    st.lists(st.sets(st.sampled_from("abcdefgh"))),
)
def test_what_follows_is_all_that_follows(levels: dict[str, int], parts: list[set[str]]) -> None:
    """Groups of one order of levels: pairs of every group, and every chain of them, and no other."""
    groups = [
        {letter.encode(): (float(levels[letter]), 1) for letter in sorted(part & levels.keys())}
        for part in parts
    ]
    followed = preferred(groups, 10_000)
    direct = {
        (one, other)
        for group in groups
        for one in group
        for other in group
        if group[one][0] > group[other][0]
    }
    expected = set(direct)
    while more := {(a, d) for a, b in expected for c, d in direct if b == c} - expected:
        expected |= more
    assert followed == expected


def test_documents_of_preferences_are_in_the_pool() -> None:
    """Without a grade they are not judged; those with one keep it, and new topics are topics."""
    given_pairs = PreferenceJudgments({"1": {"": {(b"a", b"b"): 1.0}}, "2": {"u": {(b"c", b"d"): 1.0}}})
    grades = {"1": {b"b": 2}}
    whole = with_documents(grades, given_pairs)
    assert whole == {"1": {b"a": -1, b"b": 2}, "2": {b"c": -1, b"d": -1}}
    assert grades == {"1": {b"b": 2}}


def test_judges_are_counted_in_byte_order() -> None:
    """Also those without a pair; topics that are none here are left out."""
    pairs = {
        "1": {"v": {(b"b", b"a"): 1.0}, "u": {}, "w": {(b"a", b"b"): 3.0}},
        "2": {"u": {(b"a", b"b"): 1.0}},
    }
    made = preferences_of(PreferenceJudgments(pairs), ["0", "1"], np.array([0, 1, 3]), [[b"z"], [b"a", b"b"]])
    assert made.better.tolist() == [2, 1]
    assert made.worse.tolist() == [1, 2]
    assert made.weight.tolist() == [1.0, 3.0]
    assert made.judge.tolist() == [1, 2]
    assert made.judges.tolist() == [0, 3]


def test_a_file_is_scored_with_and_without_qrels(written: Written) -> None:
    """The ranking d b a c: of six preferences of u1 only b > c and a > c are fulfilled."""
    levels = read_preferences(written(LEVELS))
    for qrels in (Qrels({}, "graded"), Qrels({"7": {b"a": 1, b"x": 0}}, "graded")):
        ranking = Ranking("7", np.array([b"d", b"b", b"x", b"a", b"c"]), -np.arange(5.0))
        run = align([ranking], compile_qrels(qrels, levels), dialect=10)
        assert parse("PrefsSimp").compute(run).tolist() == [2 / 6]
        assert parse("PrefsAvgJG").compute(run).tolist() == [2 / 6 / 2]
        assert parse("RR").compute(run).tolist() == [0.25 if qrels.judgments else 0.0]

"""Fixes of run files: each keeps which documents are ranked, and in which order."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leaderboard.errors import Invalid
from leaderboard.trec.runs.check import Rules, read_and_check
from leaderboard.trec.runs.fixes import FIXES, Fixing, fixed

Line = tuple[str, str, int, float]
"""Topic, document, rank, score."""
Orders = dict[str, list[str]]
QUICK = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SCORES = st.sampled_from([0.0, 1.0, 1.00000001, 2.5, -3.0, 7.0])
DOCUMENTS = st.sampled_from([f"d{number}" for number in range(8)])


@st.composite
def runs(draw: st.DrawFn) -> list[Line]:
    """The lines of a run, topics together, documents perhaps more than once, ranks in any order."""
    lines: list[Line] = []
    for topic in ("01", "02", "7"):
        pairs = draw(st.lists(st.tuples(DOCUMENTS, SCORES), max_size=10))
        ranks = draw(st.permutations(range(1, len(pairs) + 1)))
        lines += [(topic, docno, rank, score) for (docno, score), rank in zip(pairs, ranks, strict=True)]
    return lines


def _write(folder: Path, lines: Sequence[Line], tag: str = "my+tag") -> Path:
    path = folder / "run"
    path.write_text("# says\n" + "".join(f"{t} Q0 {d}\t{r} {s!r} {tag}\n" for t, d, r, s in lines))
    return path


def _fix(path: Path, names: Sequence[str], rules: Rules, dialect: int = 10) -> tuple[list[Line], Fixing]:
    """The lines after fixes, and what they counted."""
    fixing = Fixing(rules, names, dialect)
    text = b"".join(fixed(path, fixing)).decode()
    assert text.startswith("# says\n")
    rows = [line.split() for line in text.splitlines()[1:]]
    return [(row[0], row[2], int(row[3]), float(row[4])) for row in rows], fixing


def _orders(lines: Sequence[Line], key: Callable[[Line], object] = lambda line: (line[3], line[1])) -> Orders:
    """Every topic's documents, best first: by score, ties by document, unless the key says otherwise."""
    orders: Orders = {}
    for line in sorted(lines, key=key, reverse=True):  # type: ignore[arg-type]
        orders.setdefault(line[0], []).append(line[1])
    return orders


def _first_times(orders: Orders) -> Orders:
    return {topic: list(dict.fromkeys(documents)) for topic, documents in orders.items()}


@QUICK
@given(lines=runs())
def test_ids_are_written_otherwise_and_nothing_else_changes(lines: list[Line], tmp_path: Path) -> None:
    """Padding, stripping and prefixes rename topics one to one; each keeps its documents in their order."""
    for topics in (("1", "2", "7"), ("001", "002", "007"), ("MB01", "MB02", "MB7")):
        after, fixing = _fix(_write(tmp_path, lines), ["topics"], Rules(topics))
        assert sorted(_orders(after).values()) == sorted(_orders(lines).values())
        assert {line[0] for line in after} <= set(topics)
        assert [line[1:] for line in after] == [line[1:] for line in lines]
        renamed = sum(one[0] != other[0] for one, other in zip(lines, after, strict=True))
        assert fixing.counts == {"topics": renamed}


@QUICK
@given(lines=runs())
def test_duplicates_are_dropped_and_the_best_stays_where_it_was(lines: list[Line], tmp_path: Path) -> None:
    """Each document stays once, at the best of its places."""
    after, fixing = _fix(_write(tmp_path, lines), ["duplicates"], Rules())
    assert _orders(after) == _first_times(_orders(lines))
    assert fixing.counts["duplicates"] == len(lines) - len(after)
    assert len({line[:2] for line in after}) == len(after)


@QUICK
@given(lines=runs(), depth=st.integers(1, 9), dialect=st.sampled_from([9, 10]))
def test_a_cut_keeps_the_best_in_their_order(
    lines: list[Line], depth: int, dialect: int, tmp_path: Path
) -> None:
    """Of every topic the first so many documents stay, as trec_eval of the dialect orders them."""

    def place(line: Line) -> object:
        score = 1.0 if dialect == 9 and line[3] == 1.00000001 else line[3]
        return score, line[1]

    lines = list({line[:2]: line for line in lines}.values())
    after, _ = _fix(_write(tmp_path, lines), ["depth"], Rules(depth=depth), dialect)
    expected = {topic: documents[:depth] for topic, documents in _orders(lines, place).items()}
    assert _orders(after, place) == expected


@QUICK
@given(lines=runs())
def test_scores_follow_the_rank_column(lines: list[Line], tmp_path: Path) -> None:
    """The order of the ranks becomes the order of the scores, of the same documents, under both dialects."""
    lines = list({line[:2]: line for line in lines}.values())
    after, _ = _fix(_write(tmp_path, lines), ["ranks"], Rules())
    assert _orders(after) == _orders(lines, lambda line: -line[2])
    assert sorted(line[:3] for line in after) == sorted(line[:3] for line in lines)


@QUICK
@given(lines=runs())
def test_a_tag_changes_and_no_ranking(lines: list[Line], tmp_path: Path) -> None:
    """Only the sixth column is written anew."""
    rules = Rules(tag_pattern="[a-z-]+")
    after, fixing = _fix(_write(tmp_path, lines), ["tag"], rules)
    assert (after, fixing.counts) == (lines, {"tag": len(lines)})


@QUICK
@given(lines=runs())
def test_all_fixes_together_make_a_run_that_is_accepted(lines: list[Line], tmp_path: Path) -> None:
    """The order is that of the ranks, each document once, cut at the depth; the checker agrees."""
    rules = Rules(("1", "2", "7"), depth=3, tag_pattern="[a-z-]+")
    path = _write(tmp_path, lines)
    fixing = Fixing(rules, tuple(FIXES))
    path.write_bytes(b"".join(fixed(path, fixing)))
    if lines:
        _, report = read_and_check(path, rules)
        assert report.accepted, report.problems
    after, _ = _fix(path, (), rules)
    expected = _first_times(_orders(lines, lambda line: -line[2]))
    assert _orders(after) == {topic.lstrip("0"): documents[:3] for topic, documents in expected.items()}
    again = Fixing(rules, tuple(FIXES))
    assert b"".join(fixed(path, again)) == path.read_bytes()
    assert set(again.counts.values()) <= {0}


def test_what_cannot_be_fixed_is_refused_with_its_line(tmp_path: Path) -> None:
    """Ids that would clash and unreadable lines end a fix; an unknown fix is named."""
    path = tmp_path / "run"
    cases = [
        ("01 Q0 a 1 2 t\n1 Q0 a 1 2 t\n", "topics", "would both become 1"),
        ("1 Q0 a 1 2 t\n1 Q0 b x 3 t\n", "ranks", "The rank cannot be read"),
        ("1 Q0 a 1 2 t\n1 Q0 b\n", "depth", "The line cannot be read"),
        ("1 Q0 a 1 2 t\n", "magic", "There is no fix"),
    ]
    faults = []
    for text, name, words in cases:
        path.write_text(text)
        with pytest.raises(Invalid) as caught:
            list(fixed(path, Fixing(Rules(("1", "2"), depth=1), [name])))
        if words not in caught.value.message + "".join(map(str, caught.value.problems)):
            faults.append((text, caught.value.message))
    assert faults == []


def test_topics_in_parts_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the check joins them: a document twice is found in any part; too much to hold is refused."""
    path = tmp_path / "run"
    path.write_text("# of t\n1 Q0 a 1 2 t\n2 Q0 a 1 2 t\n1 Q0 a 2 3 t\n1 Q0 b 2 1 t\n")
    fixing = Fixing(Rules(("1", "2")), ["duplicates"])
    joined = b"# of t\n1 Q0 a 2 3 t\n1 Q0 b 2 1 t\n2 Q0 a 1 2 t\n"
    assert b"".join(fixed(path, fixing)) == joined
    assert fixing.counts == {"duplicates": 1}
    monkeypatch.setattr("leaderboard.trec.runs.fixes.JOINED_BYTES", 30)
    with pytest.raises(Invalid, match="Sort the file by topic"):
        list(fixed(path, fixing))


def test_fixes_are_offered_where_they_apply(tmp_path: Path) -> None:
    """The report names the fixes of what it found, and of nothing else."""
    path = tmp_path / "run"
    rules = Rules(("1", "2"), depth=2, tag_pattern="[a-z-]+")
    cases = [
        ("1 Q0 a 1 2 t\n", ()),
        ("01 Q0 a 1 2 t\n", ("topics",)),
        ("9 Q0 a 1 2 t\n", ()),
        ("1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n", ("duplicates",)),
        ("1 Q0 a 1 2 t\n1 Q0 b 2 3 t\n", ("ranks",)),
        ("1 Q0 a 1 3 T+\n1 Q0 b 2 2 T+\n1 Q0 c 3 1 T+\n", ("depth",)),
        ("01 Q0 a 1 3 t+\n01 Q0 b 2 2 t+\n01 Q0 c 3 1 t+\n", ("topics", "depth", "tag")),
    ]
    faults = []
    for text, fixes in cases:
        path.write_text(text)
        _, report = read_and_check(path, rules)
        if report.fixes != fixes:
            faults.append((text, report.fixes))
    assert faults == []

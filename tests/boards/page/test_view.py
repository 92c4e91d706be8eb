"""What of a board is shown by a choice: rows that match, columns that were chosen, and nothing held back."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from leaderboard.boards.ops import board
from leaderboard.boards.ops.board import Board
from leaderboard.boards.page import tables
from leaderboard.boards.page import view as board_views
from leaderboard.boards.page.view import BoardChoice, View
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Run
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from leaderboard.tables.latex import latex_text
from tests.make import build, people
from tests.make.copies import built_once

TOPICS = tuple(str(number) for number in range(1, 13))
JUDGMENTS = {topic: {"a": 1, "b": 0} for topic in TOPICS}
RUNS: Mapping[str, tuple[str, str, Sequence[str]]] = {
    "first": ("Owls", "official", ("a", "b")),
    "second": ("Bears", "official", ("b", "a")),
    "third": ("Bears", "official", ("x", "b", "a")),
    "floor": ("Owls", "baseline", ("b", "a")),
}


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


@pytest.fixture
@built_once
def filled(database: Database, tmp_path: Path) -> dict[str, int]:
    """A scored board of three official runs and a baseline of two teams; run -> id."""
    return _fill(database, tmp_path)


@built_once
def _fill(database: Database, folder: Path, padding: Sequence[str] = (), **options: Any) -> dict[str, int]:
    build.task(database, folder, judgments=JUDGMENTS, topics=TOPICS, measures=("AP", "P@2", "R@2"), **options)
    ids = {
        name: build.run(
            database,
            folder,
            {topic: (*docnos, *padding) for topic in TOPICS},
            name,
            team_name=team,
            run_request=RunRequest(name, kind, description=f"The {name} of its kind"),
        )
        for name, (team, kind, docnos) in RUNS.items()
    }
    build.drain(database)
    with database.write() as session:
        stated = {"form": {"type": "manual", "latency_ms": 12.5}}
        session.execute(update(Run).where(Run.name == "second").values(details=stated))
        session.execute(
            update(Run).where(Run.name == "third").values(details={"form": {"type": "automatic"}})
        )
    return ids


def _view(database: Database, viewer: Viewer = ANONYMOUS, **choice: Any) -> View:
    return _both(database, viewer, **choice)[1]


def _both(
    database: Database, viewer: Viewer = ANONYMOUS, measure: str | None = None, **choice: Any
) -> tuple[Board, View]:
    with database.read() as session:
        shown = board.board(session, viewer, "t", measure)
        return shown, board_views.view(session, viewer, shown, BoardChoice(**choice))


def _names(view: View) -> list[str]:
    return [row.run for row in view.all_rows]


@pytest.mark.usefixtures("filled")
def test_baselines_stand_above_or_in_line_and_never_have_a_rank(database: Database) -> None:
    """Pinned unless asked otherwise; the ranks of the others are the same both ways."""
    pinned, in_line = _view(database), _view(database, in_line=True)
    assert [(row.run, row.rank) for row in pinned.all_rows] == [
        ("floor", None),
        ("first", 1),
        ("second", 2),
        ("third", 3),
    ]
    assert [(row.run, row.rank) for row in in_line.rows] == [
        ("first", 1),
        ("floor", None),
        ("second", 2),
        ("third", 3),
    ]
    assert in_line.baselines == ()


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ({"search": "SEC"}, ["second"]),
        ({"search": "bears third"}, ["third"]),
        ({"search": "floor of its kind"}, ["floor"]),
        ({"search": "nobody"}, []),
        ({"team": "Bears"}, ["second", "third"]),
        ({"team": "bears"}, []),
        ({"kind": "baseline"}, ["floor"]),
        ({"tag": "third"}, ["third"]),
        ({"field": "type"}, ["second", "third"]),
        ({"field": "type", "value": "Manual"}, ["second"]),
        ({"field": "nothing"}, []),
        ({"own": True}, []),
    ],
)
def test_a_filter_hides_rows_and_nothing_else(
    database: Database, choice: dict[str, Any], names: list[str]
) -> None:
    """What is left keeps its rank, and places and sentences are those of the whole board."""
    shown, view = _both(database, **choice)
    assert _names(view) == names
    assert (view.listed, view.total) == (len(names), 4)
    whole = {row.run: row.rank for row in shown.rows}
    assert all(row.rank == whole[row.run] for row in view.all_rows)
    assert "It is the best of 3 runs" in shown.sentences[0]
    ranked = sum(row.rank is not None for row in view.all_rows)
    about = "Verdicts compare all 3 ranked runs" in view.sentences[-1]
    assert (view.sentences == shown.sentences, about) == (ranked == 3, ranked < 3)


def test_own_runs_are_those_of_the_viewers_teams(database: Database, filled: dict[str, int]) -> None:
    """A member finds the runs of her team, and how many there are."""
    member = Viewer(account_id=1, team_ids=frozenset({build.team(database, "Bears")}))
    view = _view(database, member, own=True)
    assert ({row.run_id for row in view.rows}, view.choices.own) == ({filled["second"], filled["third"]}, 2)


@pytest.mark.usefixtures("filled")
def test_columns_are_those_asked_for_and_the_one_that_ranks(database: Database) -> None:
    """In the board's order; names that are no column are passed over; none named is all."""
    assert [each.key for each in _view(database).measures] == ["AP", "P@2", "R@2"]
    view = _view(database, columns=("R@2", "latency_ms", "nonsense", "bounds"))
    assert [each.key for each in view.measures] == ["AP", "R@2"]
    assert [(each.title, each.is_number, len(each.values)) for each in view.facts] == [("Latency", True, 1)]
    assert view.extras == {"bounds"}
    assert _view(database).extras == {"unjudged", "places", "ranges", "means"}


def test_runs_on_the_front_are_marked_beside_their_cost(database: Database, filled: dict[str, int]) -> None:
    """By the board's measure, of all its runs, listed or not; none where the cost is not shown."""
    with database.write() as session:
        for name, latency in (("first", 20.0), ("third", 15.0)):
            stated = {"form": {"latency_ms": latency}}
            session.execute(update(Run).where(Run.name == name).values(details=stated))
    assert _view(database, columns=("latency_ms",), search="first").fronts == {
        "latency_ms": {filled["first"], filled["second"]}
    }
    assert _view(database).fronts == {}


@pytest.mark.usefixtures("filled")
def test_choices_are_what_the_board_has(database: Database) -> None:
    """Teams by name, kinds, and facts with their values; numbers are not offered as words."""
    choices = _view(database).choices
    assert (choices.teams, choices.kinds) == (("Bears", "Owls"), ("baseline", "official"))
    assert {each.key: each.values for each in choices.fields} == {
        "type": ("automatic", "manual"),
        "latency_ms": (),
    }


def test_bounds_say_how_often_neighbours_could_change_places(
    database: Database, filled: dict[str, int]
) -> None:
    """The third run has an unjudged first document: it could reach the second, which cannot fall."""
    view = _view(database, bounds=True)
    assert (view.bounds[filled["first"]].low, view.bounds[filled["first"]].high) == (1.0, 1.0)
    # a at rank 3 behind an unjudged and a non-relevant one: 1/3, or (1 + 2/3) / 2 should x be relevant.
    third = view.bounds[filled["third"]]
    assert (third.low, third.high) == pytest.approx((1 / 3, 5 / 6))
    assert "1 of 2 neighbouring pairs could swap" in view.bounds_note


@pytest.mark.usefixtures("filled")
def test_a_measure_without_bounds_says_so(database: Database) -> None:
    """Recall has none; the sentence names the measures that have."""
    _, view = _both(database, measure="R@2", bounds=True)
    assert view.bounds == {}
    assert "No bounds of R@2 for unjudged documents are available" in view.bounds_note


@pytest.mark.usefixtures("filled")
def test_files_hold_the_rows_and_columns_of_the_view(database: Database) -> None:
    """JSON and CSV alike, with what is judged, the bounds asked for and the facts chosen."""
    view = _view(database, search="third", columns=("P@2", "unjudged", "type"), bounds=True)
    found = tables.facts(view)
    (row,) = found["rows"]
    assert (found["runs"], found["listed"], found["measures"]) == (4, 1, ["AP", "P@2"])
    assert (row["unjudged"], row["judged_at_10"], row["outside_the_pool"]) == pytest.approx(
        (1 / 3, 2 / 3, True)
    )
    assert (row["lowest"], row["highest"]) == pytest.approx((1 / 3, 5 / 6))
    assert row["facts"] == {"type": "automatic"}
    header, (line,) = tables.table(view).data()
    assert header[:7] == ["rank", "run", "run_id", "team", "kind", "AP", "P@2"]
    assert header[-6:] == ["unjudged", "judged_at_10", "outside_the_pool", "lowest", "highest", "type"]
    assert line[-1] == "automatic"
    assert len(line) == len(header)


@pytest.mark.usefixtures("filled")
def test_the_latex_table_says_how_it_was_made(database: Database) -> None:
    """Ranks, the best in bold, marks for the first and what is worse, and a caption that explains both."""
    text = latex_text(tables.table(_view(database, columns=("AP",), bounds=True)))
    assert r"-- & floor & Owls & 0.5000 & 0.5000 & 0.5000 \\" in text
    assert r"1 & first$^{\bullet}$ & Owls & \textbf{1.0000} & 1.0000 & 1.0000 \\" in text
    assert r"3 & third & Bears & 0.3333$^{\dagger}$ & 0.3333 & 0.8333 \\" in text
    assert "The 4 runs of Task t, ranked by mean AP, over 12 topics, by AP (version 1); edition 1" in text
    assert (
        r"$^{\bullet}$ may be the best; $^{\dagger}$ significantly worse than the first (paired t, Holm, "
        "over 3 pairs)." in text
    )


@pytest.mark.parametrize("visibility", ["blind", "sealed"])
def test_what_is_held_back_can_be_neither_seen_nor_searched(
    database: Database, tmp_path: Path, visibility: str
) -> None:
    """No coverage, no bounds, no facts, no tag: neither as columns nor by asking who has them."""
    _fill(database, tmp_path, [f"p{number}" for number in range(12)], visibility=visibility)
    view = _view(database, columns=("AP", "unjudged", "bounds", "type"), bounds=True)
    assert (view.coverage, view.bounds, view.outside, view.facts) == ({}, {}, frozenset(), ())
    assert (view.extras, view.choices.fields) == (frozenset(), ())
    unmatched: list[dict[str, Any]] = [
        {"field": "type"},
        {"tag": "third"},
        {"field": "type", "value": "manual"},
    ]
    for choice in unmatched:
        assert _names(_view(database, **choice)) == []
    assert _names(_view(database, OPERATOR, field="type", value="manual")) == ["second"]


def test_a_pseudonymous_team_is_found_by_its_pseudonym_only(
    database: Database, filled: dict[str, int]
) -> None:
    """The real name finds nothing, by search and by team, and is not among the choices."""
    bears = build.team(database, "Bears")
    people.mask(database, bears, "Team X")
    assert len(filled) == 4
    assert _names(_view(database, search="bears")) == []
    assert _names(_view(database, team="Bears")) == []
    assert _names(_view(database, team="Team X")) == ["Team X-1", "Team X-2"]
    assert _view(database).choices.teams == ("Owls", "Team X")


@pytest.mark.dialect
def test_a_masked_run_states_nothing_that_tells_whose_it_is(
    database: Database, filled: dict[str, int]
) -> None:
    """Its tag and links neither stand on the board nor find it; what it is of kind does."""
    bears = build.team(database, "Bears")
    paper = {"form": {"type": "manual", "paper": "https://example.org/bears.pdf"}}
    with database.write() as session:
        session.execute(update(Run).where(Run.id == filled["second"]).values(details=paper))
    assert _names(_view(database, tag="second")) == ["second"]
    assert _names(_view(database, field="paper")) == ["second"]
    people.mask(database, bears, "Team X")
    assert _names(_view(database, tag="second")) == _names(_view(database, search="second")) == []
    assert _names(_view(database, field="paper")) == []
    assert "paper" not in {each.key for each in _view(database).choices.fields}
    assert _names(_view(database, field="type", value="manual")) == ["Team X-1"]
    assert _names(_view(database, OPERATOR, field="paper")) == ["second"]

"""What runs and judges declare."""

from collections.abc import Callable
from pathlib import Path

import pytest

from leaderboard.errors import Invalid
from leaderboard.trec.boards.forms import Declared, read_declared

Written = Callable[[str | bytes], Path]


def test_columns_stand_in_any_order(written: Written) -> None:
    """Blank lines are passed over, and what is not said is empty."""
    text = "llm,run,team\nGPT-4o,oak,Trees\n\n,elm,\n"
    assert read_declared(written(text), "run") == {"oak": Declared("Trees", "GPT-4o"), "elm": Declared()}
    said = read_declared(written("judge,saw_reference\nash,Yes\nfir,no\n"), "judge")
    assert [one.saw_reference for one in said.values()] == [True, False]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "The header must have run"),
        ("team,llm\na,b\n", "The header must have run"),
        ("run,colour\na,red\n", "The header must have run"),
        ("run,team\n,b\n", "Each line must name a run"),
        ("run,team\na,b\na,c\n", "Each line must name a different run"),
        ("run,team\na\n", "have 2 cells"),
        ("run,saw_reference\na,perhaps\n", "must be yes or no"),
    ],
)
def test_what_is_wrong_is_said(written: Written, text: str, said: str) -> None:
    """With the line."""
    with pytest.raises(Invalid, match=said):
        read_declared(written(text), "run")

"""Names: what may be shown, and which ones are the same."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.errors import Invalid
from leaderboard.services.accounts.names import canonical, displayed


@given(st.text())
def test_canonical_of_canonical_is_itself(name: str) -> None:
    """Folding a folded name changes nothing."""
    assert canonical(canonical(name)) == canonical(name)


def test_every_character_folds_to_a_fixed_point() -> None:
    """No single character of Unicode needs a second folding."""
    unstable = [
        code for code in range(sys.maxunicode + 1) if canonical(canonical(chr(code))) != canonical(chr(code))
    ]
    assert unstable == []


@given(st.text(min_size=1), st.sampled_from([" ", "  ", "\t", "\u00a0", "\u3000"]))
def test_case_and_spacing_make_no_other_name(name: str, space: str) -> None:
    """Upper case, spaces at the ends and wide spaces inside do not make another name."""
    assert canonical(f"{space}{name}{space}{space}x") == canonical(f"{name} X".lower().casefold())


@pytest.mark.parametrize("other", ["alice", "ALICE", " Alice ", "Ａｌｉｃｅ", "ⓐlice"])
def test_spellings_of_one_name_collide(other: str) -> None:
    """Case, spaces and compatibility letters make the same canonical name."""
    assert canonical(other) == "alice"


@pytest.mark.parametrize("bad", ["", "   ", "...", "a" * 61, "a\x00b", "ali\u200bce", "a\u202eb", "\ud800a"])
def test_unfit_names_are_refused_with_a_sentence(bad: str) -> None:
    """Empty, long and invisible names are refused, and the message says which rule they break."""
    with pytest.raises(Invalid, match="The name of a team"):
        displayed(bad, "a team")


def test_shown_names_keep_case_and_lose_doubled_spaces() -> None:
    """A name is shown as typed but for its spacing."""
    assert displayed("  Team   Ärger ", "a team") == "Team Ärger"

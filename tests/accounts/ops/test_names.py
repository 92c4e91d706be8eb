"""Names: what may be shown, and which ones are the same."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.accounts.ops.names import canonical, displayed, skeleton
from leaderboard.errors import Invalid


@given(st.text())
def test_canonical_of_canonical_is_itself(name: str) -> None:
    """Folding a folded name changes nothing."""
    assert canonical(canonical(name)) == canonical(name)


@pytest.mark.trial
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


@pytest.mark.parametrize(
    "invisible", [*"\u3164\u115f\u034f\ufe0f\u17b4\U000e0100\u2800\U0001d159\u200b\u202e\u180e\u00ad"]
)
def test_what_cannot_be_seen_makes_no_other_name(invisible: str) -> None:
    """Fillers, selectors, joiners and blanks are refused, in front and inside."""
    for name in (f"{invisible}Owls", f"Ow{invisible}ls"):
        with pytest.raises(Invalid, match="invisible"):
            displayed(name, "a team")


def test_all_that_unicode_calls_ignorable_is_refused() -> None:
    """No code point that is drawn as nothing gets through, format and unassigned ones included."""
    ignorable = (*range(0xE0000, 0xE1000), *range(0x2060, 0x2070), *range(0xFE00, 0xFE10), 0x180F, 0xFFA0)
    for code in ignorable:
        with pytest.raises(Invalid):
            displayed(f"a{chr(code)}b", "a team")


@pytest.mark.parametrize("name", ["Việt Nậm", "ᾧδή", "שָׁלוֹם", "เที่ยว", "Åse", "हिन्दी"])
def test_names_of_the_world_s_languages_pass(name: str) -> None:
    """Accents, points and vowel signs as languages write them are no pile of marks."""
    assert displayed(name, "a team")


def test_a_pile_of_marks_is_refused() -> None:
    """A letter carries two marks at most."""
    with pytest.raises(Invalid, match="at most 2 marks"):
        displayed("O" + "\u0335" * 3 + "wls", "a team")


@pytest.mark.parametrize(
    "other",
    [
        "Оwls",
        "0wls",
        "owls",
        "Owⅼs",
        "Оᴡls",
        "ＯＷＬＳ",
        "Ow\u0399s",
        "\u13bewls",
        "Owls.",
        "O w l s",
        "Øwls",
        "O-w_l’s",
    ],
)
def test_look_alikes_have_one_skeleton(other: str) -> None:
    """Letters of other scripts, digits for letters, other cases, punctuation, blanks and strokes."""
    assert skeleton(other) == skeleton("Owls")


def test_a_skeleton_tells_other_names_apart() -> None:
    """Names that only share letters are not alike."""
    names = ("Owls", "Owl", "Bowls", "Owls 2", "Owls 3", "Совы", "Сова", "梟")
    assert len({skeleton(name) for name in names}) == len(names)


def test_a_name_of_what_looks_like_punctuation_has_a_skeleton_of_its_own() -> None:
    """A click letter alone looks like a mark; names of two such letters are told apart."""
    assert len({skeleton(name) for name in ("\u01c3", "\u01c0", "\u2d51\u2d51")}) == 3

"""Passwords: what is refused, and that checking one costs the same for everybody."""

import pytest
from argon2 import PasswordHasher, extract_parameters

from leaderboard.accounts.ops import passwords
from leaderboard.errors import Invalid
from tests.make.people import AT_FULL_COST, PASSWORD


@pytest.fixture(autouse=True)
def at_full_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a site."""
    for name, of_a_site in AT_FULL_COST.items():
        monkeypatch.setattr(passwords, name, of_a_site)


@pytest.mark.parametrize(
    "bad",
    [
        "short",
        "elevenchars",
        "x" * 6 + "abcdefg" * 40,
        "password1234",
        "P@ssw0rd2026!!",
        "passwordpassword",
        "qwertyuiop123",
        "aaaaaaaaaaaa",
        "ababababababab",
        "123456789012",
        "abcdefghijklmn",
        "987654321098",
        "iloveyou2026",
        "correcthorsebatterystaple",
        "trustno1trustno1",
        "zaq12wsxcde3",
        "asdfghjkl;'12",
        "monkeymonkey1",
        "sunshine!2023",
        "leaderboard-2026",
        "Passwort-2026!",
    ],
)
def test_short_long_and_common_passwords_are_refused(bad: str) -> None:
    """A password outside 12 to 256 characters, or among the first guesses, is refused."""
    with pytest.raises(Invalid, match=r"password"):
        passwords.hashed(bad)


def test_the_name_is_no_password() -> None:
    """An account's own name, however spelled, is refused as its password."""
    with pytest.raises(Invalid, match="must not be the account name"):
        passwords.hashed("Alexandrina Smith ", "alexandrina smith")


@pytest.mark.parametrize(
    "good", [PASSWORD, "tundra velvet oboe cactus", "x" * 3 + "yz12!?" * 42, "пароль-для-совы"]
)
def test_long_uncommon_passwords_are_taken_and_match(good: str) -> None:
    """What is not refused is stored so that it matches itself and nothing else."""
    stored = passwords.hashed(good).text
    assert passwords.matches(stored, good)
    assert not passwords.matches(stored, good + "x")


def test_nobodys_password_never_matches_at_full_cost() -> None:
    """Without a stored hash nothing matches, and the stand-in costs what a real one does."""
    assert not passwords.matches(None, PASSWORD)
    made = extract_parameters(passwords.rehashed(PASSWORD).text)
    assert extract_parameters(passwords._NOBODYS) == made
    assert not passwords.is_outdated(passwords._NOBODYS)


def test_argon2_runs_at_the_agreed_cost() -> None:
    """Argon2id with 19 MiB, two passes and one lane."""
    made = extract_parameters(passwords.rehashed(PASSWORD).text)
    assert (made.type.name, made.memory_cost, made.time_cost, made.parallelism) == ("ID", 19456, 2, 1)


def test_hashes_of_another_cost_are_outdated() -> None:
    """A hash made more cheaply is to be made anew at the next sign-in."""
    assert passwords.is_outdated(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash("x"))


def test_composed_and_decomposed_letters_are_one_password() -> None:
    """The same password typed on another system, with combining accents, matches."""
    assert passwords.matches(
        passwords.hashed("crème brûlée im Zug").text, "cre\u0300me bru\u0302le\u0301e im Zug"
    )

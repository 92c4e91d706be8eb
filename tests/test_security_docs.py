"""The table of security requirements: complete, and every test and sentence it cites is there."""

import ast
import re
from collections import Counter
from dataclasses import dataclass
from datetime import date
from functools import cache

import pytest

from leaderboard.accounts.ops import (
    accounts,
    device_logins,
    invitations,
    passwords,
    second_factors,
    sessions,
    tokens,
)
from leaderboard.settings import Settings
from tests import ROOT

DOCS = ROOT / "docs"
LEVELS = {
    **{"1.1": "22", "1.2": "1111122223", "1.3": "112222222223", "1.4": "222", "1.5": "123"},
    **{"2.1": "122", "2.2": "112", "2.3": "12223", "2.4": "23"},
    **{"3.1": "3", "3.2": "113", "3.3": "12223", "3.4": "11222233", "3.5": "11122333", "3.6": "3"},
    **{"3.7": "22333", "4.1": "12233", "4.2": "23333", "4.3": "22", "4.4": "1222"},
    **{"5.1": "2", "5.2": "112333", "5.3": "113", "5.4": "222"},
    **{"6.1": "122", "6.2": "111111112222", "6.3": "11223333", "6.4": "112233", "6.5": "22222333"},
    **{"6.6": "2223", "6.7": "33", "6.8": "2222"},
    **{"7.1": "222", "7.2": "1111", "7.3": "22", "7.4": "11222", "7.5": "223", "7.6": "22"},
    **{"8.1": "1233", "8.2": "1123", "8.3": "133", "8.4": "23", "9.1": "111", "9.2": "1222"},
    **{"10.1": "22", "10.2": "223", "10.3": "22223", "10.4": "1111122222233333", "10.5": "22222"},
    **{"10.6": "22", "10.7": "222"},
    **{"11.1": "2233", "11.2": "22233", "11.3": "11233", "11.4": "1222", "11.5": "23", "11.6": "23"},
    **{"11.7": "33", "12.1": "12233", "12.2": "11", "12.3": "22223"},
    **{"13.1": "2333", "13.2": "222223", "13.3": "2233", "13.4": "1222233"},
    **{"14.1": "22", "14.2": "12223333", "14.3": "122"},
    **{"15.1": "12233", "15.2": "12233", "15.3": "1222222", "15.4": "3333"},
    **{"16.1": "2", "16.2": "22222", "16.3": "2222", "16.4": "222", "16.5": "2223"},
    **{"17.1": "23", "17.2": "22223333", "17.3": "22"},
}
"""Section of ASVS 5.0.0 -> the level of its first, second, ... requirement."""
REQUIREMENTS = {
    f"{section}.{place}": int(level)
    for section, levels in LEVELS.items()
    for place, level in enumerate(levels, start=1)
}
MET, OPERATOR, NOT_APPLICABLE, DEVIATION = "met", "operator", "not applicable", "deviation"
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
LINK = re.compile(r"\]\(([\w./-]*)(?:#([\w-]+))?\)")
FEWEST_WORDS = 3


@dataclass(frozen=True)
class Row:
    """One requirement's line: number, level, what it asks, answer, and where that is shown."""

    number: str
    level: int
    asks: str
    answer: str
    where: str


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


@cache
def _rows() -> tuple[Row, ...]:
    text = (DOCS / "asvs.md").read_text(encoding="utf-8")
    lines = [_cells(line) for line in text.splitlines() if re.match(r"\| \d+\.\d+\.\d+ \|", line)]
    return tuple(Row(number, int(level), *rest) for number, level, *rest in lines)


@cache
def _anchors(name: str) -> frozenset[str]:
    """The anchors of a document's headings, as Git hosts make them."""
    headings = re.findall(r"^#+ (.+)$", (DOCS / name).read_text(encoding="utf-8"), re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in headings)


@cache
def _collected(path: str) -> frozenset[str]:
    """The tests that pytest collects from a file."""
    file = ROOT / path
    if not (file.is_file() and file.name.startswith("test_")):
        return frozenset()
    functions = (
        node for node in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)
    )
    return frozenset(node.name for node in functions if node.name.startswith("test_"))


@cache
def _deviations() -> dict[str, tuple[str, str]]:
    """Number -> date and reason, of the table of deviations."""
    text = (DOCS / "security.md").read_text(encoding="utf-8").split("\n## Deviations\n")[1].split("\n## ")[0]
    found = {}
    for line in text.splitlines():
        if re.match(r"\| \d", line):
            numbers, since, reason = _cells(line)
            found.update(dict.fromkeys(numbers.split(", "), (since, reason)))
    return found


def test_the_standard_has_as_many_requirements_as_it_says() -> None:
    """Of ASVS 5.0.0's 345, 70 are of level 1 and 183 of level 2."""
    assert Counter(REQUIREMENTS.values()) == {1: 70, 2: 183, 3: 92}


def test_every_requirement_has_one_line() -> None:
    """All of levels 1 and 2 are answered, each once, in the standard's order and at its level."""
    expected = [(number, level) for number, level in REQUIREMENTS.items() if level < 3]
    assert [(row.number, row.level) for row in _rows()] == expected


def test_every_answer_says_where() -> None:
    """Met by a test or a section, the operator's by a section, and not applicable for a reason."""
    for row in _rows():
        assert row.asks, row
        assert row.answer in (MET, OPERATOR, NOT_APPLICABLE, DEVIATION), row
        cites = TEST.search(row.where) or LINK.search(row.where)
        assert cites or row.answer == NOT_APPLICABLE, row
        assert row.answer != OPERATOR or LINK.search(row.where), row
        assert len(row.where.split()) >= FEWEST_WORDS or row.answer != NOT_APPLICABLE, row


@pytest.mark.parametrize("name", ["asvs.md", "security.md"])
def test_every_cited_test_is_there(name: str) -> None:
    """Each is collected, from a file and as a function at its top; no test is named in another way."""
    text = (DOCS / name).read_text(encoding="utf-8")
    cited = TEST.findall(text)
    assert len(cited) > 200 or name != "asvs.md"
    assert [f"{path}::{test}" for path, test in cited if test not in _collected(path)] == []
    assert len(cited) == text.count("::")


@pytest.mark.parametrize("name", ["asvs.md", "security.md", "../SECURITY.md"])
def test_every_cited_section_is_there(name: str) -> None:
    """Document and heading, by their names."""
    missing = []
    for target, anchor in LINK.findall((DOCS / name).read_text(encoding="utf-8")):
        document = target or name
        path = (DOCS / name).parent / document
        if not path.exists() or (anchor and anchor not in _anchors(document)):
            missing.append(f"{target}#{anchor}")
    assert missing == []


def test_every_deviation_is_dated_and_has_a_reason() -> None:
    """The requirements that are not met are those of the table of deviations, and no other."""
    assert {row.number for row in _rows() if row.answer == DEVIATION} == set(_deviations())
    for number, (since, reason) in _deviations().items():
        assert date.fromisoformat(since), number
        assert len(reason.split()) >= 2 * FEWEST_WORDS, number


def test_the_sums_are_those_of_the_table() -> None:
    """What the summary counts is what the table has, level by level."""
    text = (DOCS / "security.md").read_text(encoding="utf-8")
    counted = Counter((row.level, row.answer) for row in _rows())
    for level in (1, 2):
        cells = [counted[level, answer] for answer in (MET, OPERATOR, NOT_APPLICABLE, DEVIATION)]
        line = f"| level {level} | {sum(cells)} | {' | '.join(map(str, cells))} |"
        assert line in text, line


def test_times_and_numbers_are_those_of_the_program() -> None:
    """What is said of sessions, links, passwords and codes is what they are."""
    text = " ".join((DOCS / "security.md").read_text(encoding="utf-8").split())
    for sentence in (
        f"after {sessions.IDLE.days} days without a request and after {sessions.LIFETIME.days} days in all",
        f"An account has at most {sessions.MOST}",
        f"work once, for {accounts.LINK_HOURS} hours; invitations for one account and {invitations.DAYS}",
        f"({invitations.MOST_DAYS} days at most; to a team {invitations.MOST_USES_OF_A_TEAM} accounts)",
        f"Assessors' links last {Settings().assessor_link_days} days",
        f"{passwords.MIN_CHARACTERS} to {passwords.MAX_CHARACTERS} characters",
        f"256, 178 and {8 * second_factors.RECOVERY_BYTES} random bits",
        f"ends after {tokens.DAYS} days unless its maker says otherwise ({tokens.MOST_DAYS} at most",
        f"An account has {tokens.MOST} in force and makes {tokens.MADE_A_DAY} a day",
        f"both for {device_logins.LIFETIME.seconds // 60} minutes",
        f"types {device_logins.GUESSES} codes in {device_logins.GUESS_WINDOW.seconds // 60} minutes, "
        f"a network {device_logins.GUESSES_OF_A_NETWORK}, and a network begins {device_logins.BEGUN_AN_HOUR}",
    ):
        assert sentence in text, sentence

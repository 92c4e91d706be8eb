"""ir_metadata headers: what is read of their YAML, and that nothing breaks the reader."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.trec.read.metadata import parse

HEADER = """# ir_metadata.start
# schema-version: 0.1
# tag: "my run"   # a comment
# platform:
#   hardware:
#     ram: '16 GB'
#     cpu: [x86, arm]
# data:
#   test collection:
#   - name: robust03
#     qrels: https://example.org/q#1
#   - name: other
# research questions:
#   - Does it work?
#   - http://example.org/
# goal: |
#   first line
#   second line
# empty:
# ir_metadata.end
# tag: after the end
"""


def test_header_becomes_nested_values() -> None:
    """Mappings, lists, quotes, comments and block text of the templates are read; values stay text."""
    assert parse(HEADER.splitlines()) == {
        "schema-version": "0.1",
        "tag": "my run",
        "platform": {"hardware": {"ram": "16 GB", "cpu": ["x86", "arm"]}},
        "data": {
            "test collection": [{"name": "robust03", "qrels": "https://example.org/q#1"}, {"name": "other"}]
        },
        "research questions": ["Does it work?", "http://example.org/"],
        "goal": "first line\nsecond line",
        "empty": "",
    }


def test_comments_without_a_header_are_no_metadata() -> None:
    """Ordinary comments give nothing."""
    assert parse(["# made on Tuesday", "# tag: x"]) == {}
    assert parse([]) == {}
    assert parse(["# ir_metadata.start", "# ir_metadata.end"]) == {}


def test_unreadable_header_is_kept_as_text() -> None:
    """A header that is not understood is kept whole."""
    assert parse(["# ir_metadata.start", "# just prose", "# ir_metadata.end"]) == {"text": " just prose"}


def test_names_and_passwords_in_addresses_are_left_out() -> None:
    """A tracker copies a repository's remote with its token; the header keeps the address alone."""
    header = [
        "# ir_metadata.start",
        "# repository: https://user:token@example.org/code.git",
        "# mail: a@example.org",
        "# other: https://example.org/@someone",
        "# ir_metadata.end",
    ]
    assert parse(header) == {
        "repository": "https://example.org/code.git",
        "mail": "a@example.org",
        "other": "https://example.org/@someone",
    }


TRACKED = """# ir_metadata.start
# platform:
#   hardware:
#     cpu:
#       model: Some CPU @ 3.00GHz
#       caches: L1 instruction: 32 KB, L1 data: 48 KB, L2 unified: 2048 KB,
#   software: {}
# author: @ann
# method:
#   description: BM25: the usual one
#   query: *retriev*
# resources:
#   runtime:
#     wallclock: 90000 ms
# ir_metadata.end
"""


def test_values_that_are_not_yaml_are_read() -> None:
    """Colons, stars and at signs without quotes, as trackers and people write them, cost nothing else."""
    assert parse(TRACKED.splitlines()) == {
        "platform": {
            "hardware": {
                "cpu": {
                    "model": "Some CPU @ 3.00GHz",
                    "caches": "L1 instruction: 32 KB, L1 data: 48 KB, L2 unified: 2048 KB,",
                }
            },
            "software": "{}",
        },
        "author": "@ann",
        "method": {"description": "BM25: the usual one", "query": "*retriev*"},
        "resources": {"runtime": {"wallclock": "90000 ms"}},
    }


def test_an_endless_header_is_cut() -> None:
    """Lines are cut at 4,000 characters, the header at 60,000; the key of a cut line stays."""
    header = parse(["# ir_metadata.start", *(f"# key {number}: {'x' * 10_000}" for number in range(100))])
    assert list(header) == [f"key {number}" for number in range(15)]
    assert {len(value) for value in header.values()} <= set(range(3980, 4000))


@pytest.mark.parametrize(
    "line", ["# x" + " " * 10_000, '# "' + "a" * 10_000, "# a" + ": " * 5000, "# - " + "- " * 5000]
)
def test_a_line_made_to_be_slow_is_read(line: str) -> None:
    """Blanks, quotes, colons and dashes without end are read in one pass each."""
    header = parse(["# ir_metadata.start", *[line] * 2000])
    assert len(json.dumps(header)) < 200_000


lines = st.lists(
    st.sampled_from(["a:", " b: c", "- x", "  - k: v", "-", "|", "t: |", "   deep", "]", ": :", "#"])
)


@given(st.one_of(lines, st.lists(st.text())))
def test_any_header_gives_json(body: list[str]) -> None:
    """Whatever stands in a header, the result can be stored as JSON in UTF-8 without NUL."""
    header = parse(["# ir_metadata.start", *(f"# {line}" for line in body), "# ir_metadata.end"])
    assert "\\u0000" not in json.dumps(header)
    json.dumps(header, ensure_ascii=False).encode()

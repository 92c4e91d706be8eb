"""The house may only get smaller: its sizes stay at or below those in sizes.json.

Lower them there whenever they fall. Raise them only for what an issue asks for, in a commit that says so.
"""

import json
from pathlib import Path

import pytest

from benchmarks import structure, walks
from tests import ROOT

pytestmark = pytest.mark.trial
SIZES = json.loads((ROOT / "tests" / "sizes.json").read_text(encoding="utf-8"))
SLACK = 0.99
"""A figure that fell by more than a hundredth is to be lowered, or the house may grow back unseen."""


def _held(figures: dict[str, int], allowed: dict[str, int]) -> None:
    assert figures.keys() == allowed.keys()
    grown = {name: f"{figures[name]:,} > {most:,}" for name, most in allowed.items() if figures[name] > most}
    assert grown == {}, "the house grew; make it smaller elsewhere, or raise tests/sizes.json and say why"
    loose = {name: figures[name] for name, most in allowed.items() if figures[name] < most * SLACK}
    assert loose == {}, "the house got smaller; lower tests/sizes.json"


def test_the_program_grows_no_more() -> None:
    """Lines, modules, records and their fields."""
    _held(structure.sizes(ROOT / "leaderboard"), SIZES["program"])


@pytest.mark.trial
def test_pages_enter_no_more_modules_and_send_no_more_statements(tmp_path: Path) -> None:
    """Of our own modules, when a page is made anew that was asked for before; and of SQL."""
    counted = {name: walk for name, walk in walks.walks(tmp_path) if name != "upload"}
    _held({name: len(walk.modules) for name, walk in counted.items()}, SIZES["modules entered"])
    _held({name: walk.statements for name, walk in counted.items()}, SIZES["statements"])

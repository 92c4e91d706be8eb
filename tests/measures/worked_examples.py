"""Worked examples from lecture texts, for tests that can read them."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest


def worked_examples(shared_data: Path, measures: Collection[str]) -> list[dict[str, Any]]:
    """The examples of the measures, by the names the texts give them; skips where there are none."""
    path = shared_data.parent / "formulas" / "seed-cases.json"
    if not path.is_file():
        pytest.skip(f"no worked examples at {path}")
    cases = json.loads(path.read_text(encoding="utf-8"))
    return [case for case in cases if case["measure"] in measures]

"""Kinds of run: each answers all that is asked of one."""

from dataclasses import fields
from pathlib import Path

import pytest

from leaderboard.services import kinds, run_kinds
from leaderboard.services.kinds import KINDS, RunKind
from leaderboard.services.qrels.files import KINDS as JUDGMENTS


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_is_found_by_its_name_and_by_its_judgments(name: str) -> None:
    """What boards rest on tells the kind; only rankings have judgments of several kinds."""
    kind = kinds.of(name)
    assert kind.name == name
    assert kinds.judged_by(kind.judgments) is kind
    assert next(each for each in JUDGMENTS if kinds.judged_by(each) is kind) == kind.judgments
    keys = [kind.parse(measure).measure.direction for measure in kind.usual_measures]
    assert "none" not in keys[:1]


def test_each_kind_has_its_module() -> None:
    """A module that nobody lists, or a name without a module, would be found by nobody."""
    there = {path.stem for path in Path(run_kinds.__file__).parent.glob("*.py")} - {"__init__"}
    assert there == set(KINDS)


@pytest.mark.parametrize("missing", [one.name for one in fields(RunKind)])
def test_a_kind_that_lacks_an_answer_is_refused_by_its_name(missing: str) -> None:
    """A fourth kind cannot leave anything out."""
    whole = {one.name: getattr(kinds.of("rankings"), one.name) for one in fields(RunKind)}
    del whole[missing]
    with pytest.raises(TypeError, match=missing):
        RunKind(**whole)

"""Kinds of run: each answers all that is asked of one."""

from dataclasses import fields

import pytest

from leaderboard.core import kinds
from leaderboard.core.kinds import KINDS, RunKind
from leaderboard.features import FEATURES
from leaderboard.scoring.ops.qrels.files import KINDS as JUDGMENTS


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_is_found_by_its_name_and_by_its_judgments(name: str) -> None:
    """What boards rest on tells the kind; only rankings have judgments of several kinds."""
    kind = kinds.of(name)
    assert kind.name == name
    assert kinds.judged_by(kind.judgments) is kind
    assert next(each for each in JUDGMENTS if kinds.judged_by(each) is kind) == kind.judgments
    keys = [kind.parse(measure).measure.direction for measure in kind.usual_measures]
    assert "none" not in keys[:1]


def test_each_kind_is_added_by_one_feature() -> None:
    """A kind that nobody adds, or that two add, would be found by nobody, or by chance."""
    assert sorted(name for feature in FEATURES for name in feature.kinds) == sorted(KINDS)


@pytest.mark.parametrize("missing", [one.name for one in fields(RunKind)])
def test_a_kind_that_lacks_an_answer_is_refused_by_its_name(missing: str) -> None:
    """A fourth kind cannot leave anything out."""
    whole = {one.name: getattr(kinds.of("rankings"), one.name) for one in fields(RunKind)}
    del whole[missing]
    with pytest.raises(TypeError, match=missing):
        RunKind(**whole)

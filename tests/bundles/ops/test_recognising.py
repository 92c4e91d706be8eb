"""Files of a folder are told apart by the recogniser that every reader uses."""

from pathlib import Path

import pytest

from leaderboard.bundles.ops.found import QRELS, RUN, TOPICS, kind_of
from tests.trec.read import test_forms as forms
from tests.trec.topics import test_forms as topic_forms

FORMS = {
    QRELS: {name: text for name, (text, _) in forms.QRELS.items()},
    RUN: forms.RUNS,
    TOPICS: {name: text for name, (text, *_) in topic_forms.SHAPES.items()},
}
TOLD_BY_NAME = {
    (QRELS, "three columns"),
    *((TOPICS, name) for name in ("million queries", "million queries with priorities", "blank", "ids")),
    *((TOPICS, name) for name in ("dictionary", "dictionary of objects", "numbers and hashes")),
}
"""Whose lines may be something else: a rank or a grade, an id and a text or any two words."""
NOT_TOLD = {(QRELS, "indented dictionary"), (RUN, "cut to four columns"), (RUN, "lists")}
"""Scores or grades with a point; ranks that are grades as well; lists of docnos."""


@pytest.mark.parametrize(("kind", "form"), [(kind, form) for kind in FORMS for form in FORMS[kind]])
def test_every_form_that_is_read_is_known_in_a_folder(kind: str, form: str, tmp_path: Path) -> None:
    """By its lines, or by its name where these may be something else."""
    path = tmp_path / "file"
    path.write_text(FORMS[kind][form])
    if (kind, form) in NOT_TOLD:
        assert kind_of(path, "file.txt")[0] != kind
        return
    name = {QRELS: "qrels.txt", TOPICS: "topics.txt"}[kind] if (kind, form) in TOLD_BY_NAME else "file.txt"
    assert kind_of(path, name) == (kind, "")
    assert (kind_of(path, "file.txt")[0] == kind) is ((kind, form) not in TOLD_BY_NAME)


@pytest.mark.parametrize("form", ["HTML", "LFS", "MTEB", "YAML", "Parquet", "PDF"])
def test_what_is_none_of_them_is_left_out_by_its_name(form: str, tmp_path: Path) -> None:
    """The same name that the readers give it."""
    text, name = forms.OTHERS[form]
    (tmp_path / "file").write_text(text)
    kind, why = kind_of(tmp_path / "file", "topics.txt")
    assert (kind, why.startswith(f"it is {name}")) == ("", True)

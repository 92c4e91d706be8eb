"""Datasets of ir_datasets become tasks, by the library itself over small files that are registered here."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sqlalchemy import select

from leaderboard.cli import main
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Collection, Qrels, Task, Topic
from leaderboard.errors import Conflict, Invalid
from leaderboard.qrels.ops import revisions
from leaderboard.scoring.ops import collections
from leaderboard.tasks.ops import datasets
from leaderboard.tasks.ops.datasets import DatasetRequest

DOCS = "d-1\tOwls see at night\nd/2\tBats hear\n"
QUERIES = "q_1\tseeing at night\nq_2\thearing at night\n"
QRELS = "q_1 0 d-1 2\nq_1 0 d/2 0\nq_2 0 d/2 1\n"
TREC = """<top>
<num> Number: 7
<title> night access
<desc> Description:
Who sees at night?
<narr> Narrative:
Not bats.
</top>
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The library with three datasets: documents alone, these with queries and judgments, TREC's topics."""
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    library = pytest.importorskip("ir_datasets", reason="ir_datasets is not installed (extra irdatasets)")
    for name, text in (
        ("docs.tsv", DOCS),
        ("queries.tsv", QUERIES),
        ("qrels.txt", QRELS),
        ("topics.sgml", TREC),
    ):
        (tmp_path / name).write_text(text)
    docs = library.formats.TsvDocs(library.util.LocalDownload(tmp_path / "docs.tsv"))
    queries = library.formats.TsvQueries(library.util.LocalDownload(tmp_path / "queries.tsv"))
    qrels = library.formats.TrecQrels(library.util.LocalDownload(tmp_path / "qrels.txt"), {})
    topics = library.formats.TrecQueries(library.util.LocalDownload(tmp_path / "topics.sgml"))
    made = {
        "owls": library.Dataset(docs),
        "owls/night": library.Dataset(docs, queries, qrels),
        "owls/trec": library.Dataset(docs, topics),
    }
    for name, dataset in made.items():
        library.registry.register(name, dataset)
    yield library
    for name in made:
        del library.registry._registered[name]


def _made(database: Database, folder: Path, dataset: str, **more: Any) -> datasets.DatasetTask:
    folder.mkdir()
    wanted = DatasetRequest(dataset=dataset, slug=dataset.replace("/", "-"), name="Owls", **more)
    prepared = datasets.prepare(wanted, folder)
    with database.write() as session:
        datasets.make(session, OPERATOR, prepared)
    return prepared


@pytest.mark.dialect
def test_a_dataset_becomes_a_task_with_its_own_ids(database: Database, tmp_path: Path, library: Any) -> None:
    """Topics, judgments and documents; a second one of the same documents is on the same collection."""
    _made(database, tmp_path / "first", "owls/night")
    _made(database, tmp_path / "second", "owls/trec")
    with database.read() as session:
        tasks = session.scalars(select(Task).order_by(Task.id)).all()
        assert [(task.slug, task.published_at is not None) for task in tasks] == [
            ("owls-night", True),
            ("owls-trec", True),
        ]
        assert {task.collection_id for task in tasks} == {tasks[0].collection_id}
        collection = session.scalars(select(Collection)).one()
        assert (collection.name, collection.stored) == ("owls", 2)
        found = collections.texts(session, collection.id, ["d-1", "d/2"])
        assert {docno: document.text for docno, document in found.items()} == {
            "d-1": "Owls see at night",
            "d/2": "Bats hear",
        }
        rows = session.execute(select(Topic.topic_id, Topic.title).order_by(Topic.id)).all()
        assert [tuple(row) for row in rows] == [
            ("q_1", "seeing at night"),
            ("q_2", "hearing at night"),
            ("7", "night access"),
        ]
        told = session.execute(select(Topic.description, Topic.narrative).where(Topic.topic_id == "7")).one()
        assert tuple(told) == ("Who sees at night?", "Not bats.")
        line = session.scalars(select(Qrels).where(Qrels.task_id == tasks[0].id)).one()
        judged = revisions.unchanged(session, line.task_id).judgments
        assert judged == {"q_1": {b"d-1": 2, b"d/2": 0}, "q_2": {b"d/2": 1}}


def test_without_documents_their_number_is_known(database: Database, tmp_path: Path, library: Any) -> None:
    """As far as the dataset tells it."""
    prepared = _made(database, tmp_path / "files", "owls/night", has_documents=False)
    assert prepared.documents is None
    with database.read() as session:
        assert session.scalars(select(Collection.stored)).all() == [0]


def test_what_is_no_task_is_refused(tmp_path: Path, library: Any) -> None:
    """An unknown id, and documents without queries."""
    with pytest.raises(Invalid, match="There is no dataset 'nothing/here'"):
        datasets.prepare(DatasetRequest(dataset="nothing/here", slug="x", name="X"), tmp_path)
    with pytest.raises(Invalid, match="owls has no queries"):
        datasets.prepare(DatasetRequest(dataset="owls", slug="x", name="X"), tmp_path)


def test_a_taken_slug_stores_nothing(database: Database, tmp_path: Path, library: Any) -> None:
    """Neither a task nor a collection."""
    _made(database, tmp_path / "first", "owls/night")
    with pytest.raises(Conflict):
        _made(database, tmp_path / "again", "owls/night", collection="other")
    with database.read() as session:
        assert session.scalars(select(Collection.name)).all() == ["owls"]


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is needed for this alone."""
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(Invalid, match=r"pip install 'ir-leaderboard\[irdatasets\]'"):
        datasets.prepare(DatasetRequest(dataset="vaswani", slug="x", name="X"), tmp_path)


def test_the_command_makes_it(data_folder: Path, library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`leaderboard import ir_datasets:ID`, tried dry before."""
    monkeypatch.setenv("LEADERBOARD_DATA", str(data_folder))
    arguments = ["import", "ir_datasets:owls/night", "--name", "Night owls"]
    dry = CliRunner().invoke(main, [*arguments, "--dry-run"])
    assert (dry.exit_code, "nothing was stored" in dry.output) == (0, True), dry.output
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert "Judgments: 3 of 2 topics." in done.output
    assert "Collection: owls, 2 documents." in done.output
    assert "Task owls-night is published." in done.output
    assert "owls-night" in CliRunner().invoke(main, ["task", "list"]).output

"""Leaves of the tree of features: each comes out with its folder, its templates and its two lines."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from leaderboard.settings import DATABASE_FILE
from tests import ROOT
from tests.make.leaves import LEAVES

pytestmark = pytest.mark.trial

SITE = """
import sys
from dataclasses import replace
from pathlib import Path

import leaderboard
from leaderboard.accounts.ops import teams
from leaderboard.application import create_app
from leaderboard.core.cli.site import open_database
from leaderboard.core.policy import OPERATOR
from leaderboard.db import schema
from leaderboard.runs.ops import limits, prepare, uploads
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.ops.uploads import Delivery
from leaderboard.settings import Settings
from leaderboard.tasks.ops import drafts
from leaderboard.tasks.ops.drafts import TaskDraft
from leaderboard.trec.read.lines import Limits
from leaderboard.worker import Evaluator

here, leaf = Path(sys.argv[1]), sys.argv[2]
assert Path(leaderboard.__file__).is_relative_to(here), leaderboard.__file__
settings = Settings(data=here / "data")
database = open_database(settings)
schema.upgrade(database)
app = create_app(settings, database)

(here / "topics.tsv").write_text("1\\tfirst\\n2\\tsecond\\n")
(here / "qrels.txt").write_text("1 0 a 1\\n1 0 b 0\\n2 0 c 1\\n")
(here / "run.txt").write_text("1 Q0 a 1 2.0 mine\\n1 Q0 b 2 1.0 mine\\n2 Q0 d 1 1.0 mine\\n")
with database.write() as session:
    team_id = teams.ensure(session, OPERATOR, "Ours")


def make(slug: str, kind: str, qrels: Path | None) -> None:
    draft = TaskDraft(
        slug=slug, name=slug, topics=here / "topics.tsv", collection="", kind=kind, qrels=qrels,
        visibility="sealed" if kind == "judges" else "open", measures=("AP",) if qrels else (),
    )
    with database.write() as session:
        drafts.create(session, OPERATOR, drafts.prepare(draft))
        drafts.publish(session, OPERATOR, slug)


make("ranked", "rankings", here / "qrels.txt")
make("answered", "answers", None)
try:
    make("judged", "judges", None)
except leaderboard.errors.Invalid:
    assert leaf == "judges"
else:
    assert leaf != "judges"
with database.read() as session:
    rules = limits.rules_for(session, OPERATOR, "ranked", team_id)
prepared = prepare.prepare(here / "run.txt", "run.txt", rules, Limits())
with database.write() as session:
    delivery = Delivery(
        sender=OPERATOR, slug="ranked", team_id=team_id, file=prepared, run_request=RunRequest("mine")
    )
    run_id = uploads.submit(session, delivery).run_id
assert run_id is not None
try:
    with database.write() as session:
        again = RunRequest("again", reproduces={"original": run_id})
        uploads.submit(session, replace(delivery, run_request=again))
except leaderboard.errors.Invalid as error:
    assert leaf == "reproductions", error
else:
    assert leaf != "reproductions"
Evaluator(database, settings).drain()
client = app.test_client()
answers = {
    address: client.get(address)
    for address in (
        "/", "/tasks/ranked", "/tasks/ranked/about", f"/runs/{run_id}", f"/runs/{run_id}.json", "/healthz",
        "/search?q=mine", "/sign-in", "/tasks/answered", "/tasks/answered/about", "/measures",
    )
}
print({address: answer.status_code for address, answer in answers.items()})
assert all(answer.status_code == 200 for answer in answers.values())
assert answers[f"/runs/{run_id}.json"].json["scores"]["AP"] == 0.5
"""
"""What a site does: it is made, a run is sent, evaluated and shown."""
MOST_SKIPPED = 25
"""Files of tests about one of them and another feature."""
NAMED = re.compile(r"""{%-? *(?:extends|include|import|from) *["']([^"']+)["']""")
"""Another template, in a template."""


def _without(leaves: Sequence[str], folder: Path, *more: str) -> None:
    """A copy of the program without some features, with what was compiled of the rest."""
    for name in ("leaderboard", "templates", "migrations", *more):
        shutil.copytree(ROOT / name, folder / name)
        for leaf in leaves:
            shutil.rmtree(folder / name / leaf, ignore_errors=True)
    shutil.copy(ROOT / "pyproject.toml", folder)
    listed = folder / "leaderboard/features.py"
    lines = listed.read_text().splitlines(keepends=True)
    named = "|".join(leaves)
    own = re.compile(rf"from leaderboard\.({named})\.feature import .*|    ({named.upper()}),")
    kept = [line for line in lines if not own.fullmatch(line.rstrip("\n"))]
    assert len(lines) - len(kept) == 2 * len(leaves)
    listed.write_text("".join(kept))


def _run(folder: Path, *words: str) -> str:
    """What Python prints, with the copy before the package that is installed."""
    environ = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def _not_there(folder: Path) -> set[str]:
    """Templates that others name and the folder has not."""
    paths = [*folder.rglob("*.*")]
    named = {name for path in paths for name in NAMED.findall(path.read_text())}
    assert len(named) > 50
    return named - {str(path.relative_to(folder)) for path in paths}


@pytest.mark.parametrize("leaf", LEAVES)
def test_a_site_works_without_it(leaf: str, tmp_path: Path, sqlite_template: Path) -> None:
    """Nothing else has to be changed."""
    _without([leaf], tmp_path)
    assert _not_there(tmp_path / "templates") == set()
    (tmp_path / "data").mkdir(mode=0o700)
    shutil.copy(sqlite_template, tmp_path / "data" / DATABASE_FILE)
    script = tmp_path / "site.py"
    script.write_text(SITE)
    _run(tmp_path, str(script), str(tmp_path), leaf)


def test_tests_of_the_others_are_collected_without_any_of_them(tmp_path: Path) -> None:
    """Builders that all tests share need none of them; what is about two features is skipped, and says so."""
    _without(LEAVES, tmp_path, "tests")
    for path in ROOT.glob("[!.]*"):
        if not (tmp_path / path.name).exists():
            (tmp_path / path.name).symlink_to(path)
    said = _run(tmp_path, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-m", "", "tests")
    skipped = set(re.findall(r"SKIPPED \[1\] tests/(\S+):0: no \S+", said))
    assert len(skipped) < MOST_SKIPPED, skipped
    assert not [name for name in skipped if name.startswith(("boards/", "runs/", "tasks/", "make/"))]


def test_what_a_feature_adds_to_templates_has_its_place() -> None:
    """Each part is asked for by some template of another feature, and is there."""
    from leaderboard.features import FEATURES

    asked = "".join(path.read_text() for path in (ROOT / "templates").rglob("*.html"))
    for feature in FEATURES:
        for place, template in feature.parts.items():
            assert f'parts_at("{place}")' in asked or f'parts_at("{place.rpartition(" ")[0]} " ~ ' in asked
            assert (ROOT / "templates" / template).is_file()

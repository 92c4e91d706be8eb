"""A version is released by one command, which says what is still open; tried on a copy of this repository."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner

from leaderboard.db import schema
from release import __main__ as command
from release import trying
from release.checks import CHECKS, LISTED, LOOK_ALIKES, documents
from release.places import UNRELEASED, Release, Section, changelog
from release.prepare import moved, stated
from tests import ROOT
from tests.make.copies import once_a_run

VERSION, DAY = "7.8.9", date(2031, 5, 17)
QUICK = [check for check in CHECKS if check is not documents]
"""Building the documents is tried in tests/test_documentation.py, and with the whole command below."""
GIT = ("git", "-c", "user.name=Olga", "-c", "user.email=olga@example.org", "-c", "commit.gpgsign=false")


def _commit(folder: Path) -> None:
    subprocess.run([*GIT, "add", "--all"], cwd=folder, check=True)
    subprocess.run([*GIT, "commit", "--quiet", "--message", "A step"], cwd=folder, check=True)


def _command(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """`python -m release` in a copy, whose package comes before the one that is installed."""
    words = [sys.executable, "-m", "release", VERSION, "--day", DAY.isoformat(), *options]
    environ = {**os.environ, "GIT_COMMITTER_NAME": "Olga", "GIT_COMMITTER_EMAIL": "olga@example.org"}
    return subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, check=False)


pytestmark = pytest.mark.trial


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of all files of this one, that states the version in its one commit."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is a source distribution: releases are made in a git repository")
    return once_a_run(tmp_path_factory, "prepared", _prepare)


def _prepare(folder: Path) -> None:
    files = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(files, cwd=ROOT, check=True, capture_output=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    of = Release(folder, VERSION, DAY)
    lines = "## [Unreleased]\n\n### Added\n\n- A room.\n\n### Changed\n\n- A page.\n"
    of.write("CHANGELOG.md", of.read("CHANGELOG.md").replace("## [Unreleased]\n", lines, 1))
    of.write(LOOK_ALIKES, LISTED.sub("# From Unicode's confusables.txt of 2030-09-09.", of.read(LOOK_ALIKES)))
    done = _command(folder, "--prepare")
    assert done.returncode == 0, done.stderr
    _commit(folder)


@pytest.fixture
def copy(prepared: Path, tmp_path: Path) -> Release:
    """One of a test's own."""
    shutil.copytree(prepared, tmp_path / "copy")
    return Release(tmp_path / "copy", VERSION, DAY)


def _open(of: Release) -> list[str]:
    return [problem for check in QUICK for problem in check(of)]


def test_what_was_prepared_has_no_open_point(copy: Release) -> None:
    """Versions, changelog, schema, API and citation are stated by one call."""
    assert _open(copy) == []


@pytest.mark.parametrize(
    "faults",
    [
        (
            ("leaderboard/__init__.py", VERSION, "7.8.8", "leaderboard/__init__.py says 7.8.8, not 7.8.9"),
            (
                "client/leaderboard_submit/__init__.py",
                VERSION,
                "7.8.8",
                "leaderboard_submit/__init__.py says",
            ),
            ("CITATION.cff", VERSION, "7.8.8", "CITATION.cff has another version"),
            ("CHANGELOG.md", f"Schema {schema.head()}", "Schema 0001", "does not say 'Schema"),
            (
                "docs/openapi.json",
                '"Leaderboard"',
                '"Board"',
                "docs/openapi.json is not what the program makes",
            ),
        ),
        (
            ("CITATION.cff", "2031-05-17", "2031-05-16", "CITATION.cff has another version or day"),
            ("CHANGELOG.md", "- 2031-05-17", "- 2031-05-16", "dates 7.8.9 2031-05-16"),
            (LOOK_ALIKES, "2030-09-09", "2030-05-09", "is from a confusables.txt of 2030-05-09, over a year"),
            (
                "CHANGELOG.md",
                stated().rpartition(" ")[2],
                "000000000000.",
                "does not name openapi.json's digest",
            ),
        ),
        (
            ("CHANGELOG.md", "### Changed", "### Added", "or one twice"),
            (
                "CHANGELOG.md",
                "## [Unreleased]\n",
                "## [Unreleased]\n\n### Added\n\n- More.\n",
                "under [Unreleased]",
            ),
        ),
        # Without its section a version has no schema and no digest either.
        (
            ("CHANGELOG.md", f"## [{VERSION}]", "## [7.8.8]", "does not begin with"),
            ("CHANGELOG.md", "", "", "does not say 'Schema"),
            ("CHANGELOG.md", "", "", "does not name openapi.json's digest"),
        ),
    ],
    ids=["versions", "days", "heads", "section"],
)
def test_what_is_stated_wrong_is_named(copy: Release, faults: tuple[tuple[str, str, str, str], ...]) -> None:
    """Each point of the list finds its fault, and no other does."""
    for path, old, new, _ in faults:
        assert old in copy.read(path)
        copy.write(path, copy.read(path).replace(old, new, 1))
    _commit(copy.root)
    problems = _open(copy)
    assert len(problems) == len(faults), problems
    for *_, words in faults:
        assert sum(words in problem for problem in problems) == 1, (words, problems)


def test_a_schema_without_a_site_is_named(copy: Release) -> None:
    """Later versions could not try their migrations on it."""
    (copy.root / f"tests/db/released/{schema.head()}.sql.zst").unlink()
    _commit(copy.root)
    (problem,) = _open(copy)
    assert f"tests/db/released/{schema.head()}.sql.zst is not in git" in problem


def test_a_release_is_a_commit_with_a_new_number(copy: Release) -> None:
    """Files beside the commit, a tag that is there, and what is no version are refused."""
    (copy.root / "notes.txt").write_text("Later.")
    assert ["notes.txt differ from it" in problem for problem in _open(copy)] == [True]
    (copy.root / "notes.txt").unlink()
    copy.git("tag", copy.tag)
    assert ["v7.8.9 is in git already" in problem for problem in _open(copy)] == [True]
    assert "7.8 is not a version" in "".join(_open(Release(copy.root, "7.8", DAY)))


def test_a_dry_run_keeps_nothing(copy: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    """It goes the same way, into a folder that is gone at the end, and makes no tag."""
    built: list[Path] = []

    def files(_: Release, folder: Path) -> Iterator[tuple[str, Path]]:
        built.append(folder / "a.whl")
        built[0].write_bytes(b"")
        yield "leaderboard", built[0]

    monkeypatch.setattr(command, "ROOT", copy.root)
    monkeypatch.setattr(command, "CHECKS", QUICK)
    monkeypatch.setattr(trying, "files", files)
    monkeypatch.setattr(trying, "fault", lambda *_: "" if built[0].exists() else "It is not there.")
    done = CliRunner().invoke(command.main, [VERSION, "--day", DAY.isoformat(), "--dry-run"])
    assert done.exit_code == 0, done.output
    assert done.output.count("[x]") == len(QUICK) + 1
    assert (copy.git("tag"), (copy.root / "dist").exists(), built[0].exists()) == ("", False, False)


def test_what_lands_later_moves_into_the_section() -> None:
    """The heading is moved up and dated anew, each head stands once, and older versions stay as they are."""
    before = (
        "# Log\n\n## [Unreleased]\n\n### Fixed\n\n- d\n\n### Added\n\n- b\n\n"
        "## [7.8.9] - 2031-05-01\n\nSchema 0001; openapi.json 000000000000.\n\n### Added\n\n- a\n\n"
        "## [7.8.8] - 2030-01-01\n\n### Added\n\n- z\n"
    )
    line = "Schema 0002; openapi.json 111111111111."
    after = moved(before, Release(ROOT, VERSION, DAY), line)
    assert changelog(after)[1] == [
        Section(UNRELEASED, "", ""),
        Section(VERSION, "2031-05-17", f"{line}\n\n### Fixed\n\n- d\n\n### Added\n\n- b\n- a"),
        Section("7.8.8", "2030-01-01", "### Added\n\n- z"),
    ]
    assert moved(after, Release(ROOT, VERSION, DAY), line) == after


def test_the_whole_command_builds_tries_and_tags(copy: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four files are left and a tag, and a second time is refused."""
    done = _command(copy.root)
    assert (done.returncode, copy.git("tag")) == (0, copy.tag), done
    assert done.stdout.count("[x]") == len(CHECKS) + 4
    assert copy.git("rev-parse", f"{copy.tag}^{{commit}}") == copy.git("rev-parse", "HEAD")
    names = sorted(path.name for path in (copy.root / "dist" / VERSION).iterdir())
    assert [name.split("-")[0] for name in names] == ["ir_leaderboard"] * 2 + ["leaderboard_submit"] * 2
    monkeypatch.setattr(command, "ROOT", copy.root)
    monkeypatch.setattr(command, "CHECKS", QUICK)
    again = CliRunner().invoke(command.main, [VERSION, "--day", DAY.isoformat()])
    assert again.exit_code == 1
    assert f"1 of {len(QUICK)} points are open" in again.output

"""Builds what is released from the commit, installs each file where nothing is, and asks the site a page."""

import subprocess
import sys
import tempfile
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from release.places import Release
from tests.make.sites import running_site

SOURCES = {"leaderboard": ".", "leaderboard-submit": "client"}
"""Each command that is released, and the folder that it is built from."""


def files(of: Release, folder: Path) -> Iterator[tuple[str, Path]]:
    """Command and file of each distribution, as they are built: the source, and the wheel that it becomes."""
    with tempfile.TemporaryDirectory() as source:
        archive = f"{source}/commit.tar"
        of.git("archive", "--output", archive, "HEAD")
        _run("tar", "-xf", archive, "-C", source)
        for command, part in SOURCES.items():
            for path in _built(Path(source) / part, folder):
                yield command, path


def _built(source: Path, folder: Path) -> list[Path]:
    before = set(folder.iterdir())
    _run(sys.executable, "-m", "build", "--outdir", str(folder), str(source))
    return sorted(set(folder.iterdir()) - before)


def fault(of: Release, command: str, path: Path) -> str:
    """What is wrong with a distribution that is installed where nothing is; "" where it works."""
    with _installed(path) as folder:
        program = folder / "venv" / "bin" / command
        said = _run(str(program), "--version").strip()
        if of.version not in said.split():
            return f"{path.name} says {said!r} of itself, not {of.version}."
        return _site_fault(folder, program) if command == "leaderboard" else ""


@contextmanager
def _installed(path: Path) -> Iterator[Path]:
    """A folder with an environment in venv/ that holds a distribution and what it depends on."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "venv")
        python = str(folder / "venv" / "bin" / "python")
        _run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-compile", str(path))
        yield folder


def _site_fault(folder: Path, program: Path) -> str:
    with running_site(folder / "data", command=[str(program)], cwd=folder) as site:
        page = urllib.request.urlopen(f"{site.address}/").read().decode()
    return "" if "<h1" in page else f"The first page of the site has no heading: {page[:200]!r}"


def _run(*command: str) -> str:
    """What a command prints; raises CalledProcessError, whose notes have what it said of its failure."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except subprocess.CalledProcessError as error:
        error.add_note(error.stdout + error.stderr)
        raise

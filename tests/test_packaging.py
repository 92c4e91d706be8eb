"""The wheel holds all that the program needs, and runs from anywhere."""

import subprocess
import sys
import tarfile
import urllib.request
import venv
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.make.sites import running_site

MOST_WHEEL_BYTES = 4 * 2**20


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist it was built from."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
    )
    return folder


def test_the_wheel_has_templates_migrations_static_files_and_the_demo(built: Path) -> None:
    """Nothing the program reads at run time is missing, and nothing lands beside other packages."""
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    wanted = [
        "leaderboard/templates/base.html",
        "leaderboard/migrations/env.py",
        "leaderboard/migrations/versions/0001_first_schema.py",
        "leaderboard/web/static/app.css",
        "leaderboard/web/static/charts.css",
        "leaderboard/web/static/app.js",
        "leaderboard/services/accounts/common_passwords.txt",
        "leaderboard/demo/topics.xml",
    ]
    assert [name for name in wanted if name not in names] == []
    assert {name.split("/")[0] for name in names} == {
        "leaderboard",
        wheel.name.rsplit("-", 3)[0] + ".dist-info",
    }
    assert wheel.stat().st_size < MOST_WHEEL_BYTES


def test_the_sdist_has_what_a_developer_needs(built: Path) -> None:
    """Tests, documentation and build scripts are in the source distribution."""
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {"README.md", "tests/conftest.py", "migrations/env.py", "templates/base.html", "LICENSE"} <= names


@pytest.mark.slow
def test_the_wheel_serves_from_an_empty_environment_and_another_folder(built: Path, tmp_path: Path) -> None:
    """Installed into a fresh environment and started elsewhere, the site answers with page and style."""
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "-q", str(wheel)], check=True, capture_output=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with running_site(
        elsewhere / "data", command=[str(python.parent / "leaderboard")], cwd=elsewhere
    ) as site:
        page = urllib.request.urlopen(f"{site.address}/").read().decode()
        style = urllib.request.urlopen(f"{site.address}/static/app.css").read()
    assert "<h1" in page
    assert len(style) > 1000

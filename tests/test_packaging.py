"""The wheel holds all that the program needs, and runs from anywhere."""

import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import urllib.request
import zipfile
from importlib import import_module
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from tests import ROOT
from tests.make.sites import running_site

pytestmark = pytest.mark.trial

MOST_WHEEL_BYTES = 5 * 2**20
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DECLARED = [
    Requirement(text).name
    for text in [
        *PROJECT["project"]["dependencies"],
        *PROJECT["project"]["optional-dependencies"]["celery"],
        *PROJECT["project"]["optional-dependencies"]["irdatasets"],
        *PROJECT["project"]["optional-dependencies"]["objects"],
        *PROJECT["project"]["optional-dependencies"]["oidc"],
        *PROJECT["project"]["optional-dependencies"]["otel"],
        *PROJECT["project"]["optional-dependencies"]["postgresql"],
    ]
]


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
        "leaderboard/accounts/ops/common_words.txt",
        "leaderboard/accounts/ops/look_alikes.txt",
        "leaderboard/demo/topics.xml",
        "leaderboard/demo/answers/nuggets.jsonl",
        "leaderboard/demo/answers/runs/bm25.lead.zip",
        "leaderboard/demo/judges/word-overlap.txt",
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
    assert {
        "README.md",
        "CONTRIBUTING.md",
        "CITATION.cff",
        "LICENSE",
        "release/__main__.py",
        "client/README.md",
    } <= names
    assert {"tests/conftest.py", "migrations/env.py", "templates/base.html"} <= names


def _bill(wheel: Path) -> dict[str, Any]:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [each for each in archive.namelist() if ".dist-info/sboms/" in each]
        facts: dict[str, Any] = json.loads(archive.read(name))
    return facts


def test_the_bill_of_materials_is_valid_cyclonedx(built: Path) -> None:
    """The wheel carries one, named as scanners look for it, that its schema accepts."""
    (wheel,) = built.glob("*.whl")
    facts = _bill(wheel)
    # It takes seconds to import, in every process that collects tests.
    validation = import_module("cyclonedx.validation.json")
    version = import_module("cyclonedx.schema").SchemaVersion.V1_7
    assert validation.JsonStrictValidator(version).validate_str(json.dumps(facts)) is None
    assert facts["metadata"]["component"]["version"] in wheel.name
    assert any(each.endswith("/sboms/ir-leaderboard.cdx.json") for each in zipfile.ZipFile(wheel).namelist())


def test_the_bill_of_materials_names_every_dependency_and_all_that_is_bundled(built: Path) -> None:
    """Declared dependencies with range and licence, and each vendored file with the digest of its bytes."""
    (wheel,) = built.glob("*.whl")
    parts = _bill(wheel)["components"]
    outside = [part for part in parts if part.get("isExternal")]
    assert sorted(part["name"] for part in outside) == sorted(DECLARED)
    assert all(part["versionRange"].startswith("vers:pypi/>=") for part in outside)
    assert all(part["licenses"][0]["expression"] for part in parts)
    with zipfile.ZipFile(wheel) as archive:
        suffixes = (".min.js", "documents.jsonl.zst", "look_alikes.txt")
        vendored = [archive.read(name) for name in archive.namelist() if name.endswith(suffixes)]
    inside = [part["hashes"][0]["content"] for part in parts if not part.get("isExternal")]
    assert sorted(hashlib.sha256(content).hexdigest() for content in vendored) == sorted(inside)


@pytest.mark.parametrize("name", DECLARED)
def test_stated_licences_are_those_of_the_distributions(name: str) -> None:
    """What the bill says of a dependency's licence is what the installed distribution says of itself."""
    stated = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]["licences"][name]
    facts = metadata(name)
    expression = facts["License-Expression"]
    if expression is not None:
        assert stated == expression or stated in re.findall(r"[\w.-]+", expression)
    else:
        # Older distributions state their licence in words.
        words = [each for each in facts.get_all("Classifier", []) if each.startswith("License ::")]
        assert stated.split("-")[0] in " ".join([*words, facts["License"] or ""])


def _wheel_without_a_compiler(sdist: Path, folder: Path) -> Path:
    subprocess.run(["tar", "-xzf", str(sdist), "-C", str(folder)], check=True)
    (source,) = folder.iterdir()
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder / "dist")]
    environ = {**os.environ, "CC": "/nonexistent"}
    subprocess.run([*command, str(source)], env=environ, check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


def test_the_source_is_installed_without_a_compiler(built: Path, tmp_path: Path) -> None:
    """It becomes a wheel for every platform, without a kernel; with one, a wheel for 3.11 and all newer."""
    (sdist,), (wheel,) = built.glob("*.tar.gz"), built.glob("*.whl")
    pure = _wheel_without_a_compiler(sdist, tmp_path)
    assert pure.name.endswith("-py3-none-any.whl")
    kernels = [
        [name for name in zipfile.ZipFile(each).namelist() if "_kernel.abi3" in name]
        for each in (pure, wheel)
    ]
    assert kernels == [[], ["leaderboard/trec/read/_kernel.abi3.so"]]
    assert "-cp311-abi3-" in wheel.name


def test_pipx_installs_it_and_it_serves_from_another_folder(built: Path, tmp_path: Path) -> None:
    """As the README says: the command has the kernel and knows its own place; page and style are answered."""
    (wheel,) = built.glob("*.whl")
    folders = {"PIPX_HOME": str(tmp_path / "home"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    environ = {**os.environ, **folders, "PIPX_MAN_DIR": str(tmp_path / "man")}
    pipx = [sys.executable, "-m", "pipx", "install", "--quiet", "--python", sys.executable, str(wheel)]
    subprocess.run(pipx, env=environ, check=True, capture_output=True)
    command = tmp_path / "bin" / "leaderboard"

    def said(*words: str) -> str:
        return subprocess.run([str(command), *words], check=True, capture_output=True, text=True).stdout

    assert "(C kernel)" in said("--version")
    place = tmp_path / "home" / "venvs" / "ir-leaderboard" / "bin" / "leaderboard"
    assert f"ExecStart={place} serve\n" in said("install", "systemd", "--print")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with running_site(elsewhere / "data", command=[str(command)], cwd=elsewhere) as site:
        page = urllib.request.urlopen(f"{site.address}/").read().decode()
        style = urllib.request.urlopen(f"{site.address}/static/app.css").read()
    assert "<h1" in page
    assert len(style) > 1000

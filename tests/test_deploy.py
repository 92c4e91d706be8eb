"""What is in deploy/: an image that is built without an engine, and compose files that are whole."""

import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from leaderboard.cli import main
from leaderboard.settings import PREFIX, Settings
from tests import ROOT
from tests.make import containers
from tests.make.sites import free_port, running_site

DEPLOY = ROOT / "deploy"
COMPOSE = sorted(DEPLOY.glob("compose*.yml"))
DOCUMENT = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
TOP_OF_A_WHEEL = {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE"}
SECRET_FILES = {f"{each.name}_file" for each in fields(Settings) if each.metadata["secret"]}
NAMES = {f"{PREFIX}{name.upper()}" for name in SECRET_FILES | {each.name for each in fields(Settings)}}


def _services(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))["services"]
    return found


def _ours(path: Path) -> dict[str, dict[str, Any]]:
    return {name: each for name, each in _services(path).items() if "build" in each}


def test_what_is_copied_is_there_and_sent() -> None:
    """Every source of a COPY exists, none of it is ignored, and all that is sent is copied."""
    build, final = containers.stages(containers.FILE)
    names = {name for what, _, source in containers.copied(build) for name in what if not source}
    assert names == TOP_OF_A_WHEEL | {"leaderboard", "templates", "migrations"}
    for name in names:
        assert (ROOT / name).exists()
    sent = {path.name for path in ROOT.iterdir() if not _is_ignored(path.name)}
    assert sent == names
    assert [source for *_, source in containers.copied(final)] == [build.name]


def _is_ignored(name: str) -> bool:
    return containers.ignored(PurePosixPath(name), ROOT / ".containerignore")


@pytest.mark.parametrize(
    ("name", "is_out"),
    [
        ("leaderboard/trec/read/_kernel.c", False),
        ("leaderboard/trec/read/_kernel.abi3.so", True),
        ("leaderboard/web/__pycache__/x.pyc", True),
        ("leaderboard-data/leaderboard.sqlite3", True),
        ("tests/conftest.py", True),
        (".git/config", True),
    ],
)
def test_neither_data_nor_what_was_built_is_sent(name: str, is_out: bool) -> None:
    """Only sources get into an image; docker reads the same rules under its own name."""
    assert _is_ignored(name) is is_out
    rules = (ROOT / ".containerignore").read_text()
    assert (DEPLOY / "Containerfile.dockerignore").read_text() == rules


def test_the_image_is_small_and_has_no_rights() -> None:
    """No compiler and no package lists in what runs; a user by number, one volume, a check."""
    build, final = containers.stages(containers.FILE)
    assert not any("apt-get" in text for text in final.all("RUN"))
    assert any("gcc" in text for text in build.all("RUN"))
    assert re.fullmatch(r"([1-9]\d{3,}):\1", final.last("USER"))
    assert final.all("VOLUME") == ["/data"]
    assert final.environment["LEADERBOARD_DATA"].startswith("/data/")
    assert containers.words(final.last("ENTRYPOINT")) == ["leaderboard"]
    assert containers.words(final.last("HEALTHCHECK")) == ["leaderboard", "health"]
    froms = {text.split()[0] for stage in (build, final) for text in stage.all("FROM")}
    assert froms == {"python:${PYTHON}-slim"}
    assert {name for name in final.environment if name.startswith(PREFIX)} <= NAMES


@pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.name)
def test_compose_files_fit_what_is_here(path: Path) -> None:
    """Settings that there are, secrets and volumes that are declared, images of a version, files told of."""
    whole = yaml.safe_load(path.read_text(encoding="utf-8"))
    for name, service in whole["services"].items():
        assert "build" in service or re.search(r":\d", service["image"]), name
        assert set(service.get("secrets", ())) <= set(whole.get("secrets", ())), name
        assert set(service.get("depends_on", ())) <= set(whole["services"]), name
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in whole["volumes"] or f"`{source.removeprefix('./')}`" in DOCUMENT, volume
        if "build" in service:
            assert set(service["environment"]) <= NAMES, name
            assert (path.parent / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
    for name, secret in whole.get("secrets", {}).items():
        assert f"secrets/{name}" in DOCUMENT
        assert secret == {"file": f"./secrets/{name}"}


@pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.name)
def test_our_services_may_do_little(path: Path) -> None:
    """No capabilities, no new rights, a root that is only read, time to end; a command that there is."""
    ours = _ours(path)
    assert ours
    for name, service in ours.items():
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert (service["read_only"], service["init"]) == (True, True), name
        assert int(service["stop_grace_period"].removesuffix("s")) > 10, name
        for word in service.get("command", ()):
            assert word in main.list_commands(None)  # type: ignore[arg-type]


def test_secrets_that_are_named_are_given() -> None:
    """Each variable that names a file under /run/secrets has its secret in the same service."""
    for path in COMPOSE:
        for name, service in _services(path).items():
            files = {value for key, value in service.get("environment", {}).items() if key.endswith("_FILE")}
            given = {f"/run/secrets/{secret}" for secret in service.get("secrets", ())}
            assert files == given, (path.name, name)


@pytest.mark.trial
def test_a_site_says_whether_it_is_well(data_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`leaderboard health`: ok and exit code 0 while it answers, the reason and 1 where it does not."""
    # A busy machine is no fault of the site's.
    monkeypatch.setattr("leaderboard.cli.serving.health.TIMEOUT_S", 300.0)
    port = free_port()
    with running_site(data_folder, "--port", str(port)):
        well = CliRunner().invoke(main, ["health", "--port", str(port)])
        stranger = CliRunner().invoke(
            main, ["health", "--port", str(port)], env={"LEADERBOARD_TRUSTED_HOSTS": "elsewhere.example"}
        )
    assert (well.exit_code, well.output) == (0, "ok\n")
    assert (stranger.exit_code, "The site returned HTTP status 400" in stranger.stderr) == (1, True)
    gone = CliRunner().invoke(main, ["health", "--port", str(port)])
    assert (gone.exit_code, f"No answer from 127.0.0.1:{port}" in gone.stderr) == (1, True)


@pytest.mark.trial
def test_the_image_is_built_and_runs_as_its_user(tmp_path: Path) -> None:
    """Step by step as it is written, in copies of this machine's root: it answers, says so, and stops."""
    if not containers.may_mount():
        pytest.skip("needs to be root of a machine where overlays can be mounted")
    if not containers.may_share_python():
        pytest.skip("needs a Python that other users may run, not one in a home folder")
    folder = tmp_path / "image"
    folder.mkdir()
    command = [*containers.UNSHARE, sys.executable, "-m", "tests.make.containers", str(folder)]
    done = subprocess.run([*command, str(free_port())], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["health"], told["code"]) == ("ok\n", 0), told["said"]
    assert told["said"].rstrip().endswith("Stopped.")
    assert (told["owner"], told["mode"]) == ("10001:10001", "0o700")
    assert "(c kernel)" in told["version"].lower(), told["version"]
    assert [text.split()[0] for text in told["left"]] == ["apt-get"]

"""Every command of the guides, typed in order as it stands there, on a site of its own."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
import yaml

from tests import ROOT
from tests.make.documents import blocks, commands
from tests.make.sites import FEW, running_site

pytestmark = pytest.mark.trial

GUIDES = ROOT / "docs" / "guides"
DEMO = ROOT / "leaderboard" / "demo"
BIN = Path(sys.executable).parent
ELSEWHERE = ("leaderboard serve", "leaderboard-submit login $SITE")
"""What does not end by itself; tests/browser and tests/web/client walk through both."""
SHELL = """
set -euo pipefail
curl() { command curl --silent --show-error --fail-with-body "$@"; }
leaderboard-submit() { python -c 'from leaderboard_submit.cli import main; main()' "$@"; }
"""
"""As a reader's shell, but for a request that is refused: here that is an error too."""


def _typed(line: str, folder: Path, environ: Mapping[str, str]) -> str:
    """What a line prints; raises AssertionError with all of it where the line fails."""
    done = subprocess.run(
        ["bash", "-c", SHELL + line], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def _environ(folder: Path, **more: str) -> dict[str, str]:
    """A home of one's own, the commands of this checkout, and data that nothing else uses."""
    known = {key: value for key, value in os.environ.items() if not key.startswith("LEADERBOARD_")}
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    own = {"HOME": str(folder), "LEADERBOARD_DATA": str(folder / "site"), "PYTHONPATH": str(ROOT / "client")}
    return {**known, **own, "PATH": path, **more}


@contextmanager
def _checkout(folder: Path) -> Iterator[dict[str, str]]:
    """A folder with the demo's files where a checkout has them, and files under the names of the guides."""
    shutil.copytree(DEMO, folder / "leaderboard" / "demo")
    shutil.copyfile(DEMO / "qrels-depth8.txt", folder / "qrels.txt")
    for name, file in (("run", "bm25"), ("other", "lsi")):
        text = gzip.decompress((DEMO / "runs" / f"{file}.run.gz").read_bytes())
        (folder / f"{name}.txt").write_bytes(text)
    track = shutil.copytree(DEMO / "runs", folder / "old-track" / "runs").parent
    for name in ("topics.xml", "qrels-depth8.txt"):
        shutil.copyfile(DEMO / name, track / name)
    runs = [path.name.removesuffix(".run.gz") for path in sorted((track / "runs").iterdir())]
    rows = "".join(f"{run},Team {len(run)}\n" for run in runs)
    (track / "runs.csv").write_text(f"run,team\n{rows}")
    yield _environ(folder)


def _token(folder: Path, environ: Mapping[str, str], name: str, *scopes: str) -> str:
    options = " ".join(f"--scope {scope}" for scope in scopes)
    said = _typed(f"leaderboard account token make {name} --label guide {options}", folder, environ)
    return next(word for word in said.split() if word.startswith("lb_"))


def _ask(method: str, address: str, token: str, body: object) -> Any:
    """The answer of the API to a body; raises AssertionError with what it says where it refuses."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        with urlopen(Request(address, json.dumps(body).encode(), headers, method=method)) as answer:
            return json.load(answer)
    except HTTPError as error:
        raise AssertionError(f"{address}: {error.read().decode()}") from error


@contextmanager
def _participant(folder: Path) -> Iterator[dict[str, str]]:
    """The demo on a running site, and who has a team, a token and a run."""
    text = gzip.decompress((DEMO / "runs" / "bm25.run.gz").read_bytes())
    # The client takes a run's name from its tag, and the demo has a run by this one.
    (folder / "my.run.gz").write_bytes(gzip.compress(text.replace(b" bm25\n", b" my-run\n")))
    shutil.copyfile(DEMO / "topics.xml", folder / "topics.xml")
    environ = _environ(folder)
    with running_site(folder / "site", "--demo", environ=environ | FEW) as site:
        _typed("leaderboard account create berta", folder, environ)
        token = _token(folder, environ, "berta", "read", "submit")
        team = _ask("POST", f"{site.address}/api/v1/teams", token, {"name": "Owls"})
        login = {"LEADERBOARD_URL": site.address, "LEADERBOARD_TOKEN": token}
        yield {**environ, **login, "SITE": site.address, "TOKEN": token, "TEAM": str(team["team"])}


@contextmanager
def _assessor(folder: Path) -> Iterator[dict[str, str]]:
    """The demo on a running site with its second pool open, an assessor of it, and labels of a machine."""
    environ = _environ(folder)
    with running_site(folder / "site", "--demo", environ=environ | FEW) as site:
        made = "leaderboard pool make python-docs --method depth --depth 20 --runs all --open"
        _typed(made, folder, environ)
        documents = _typed("leaderboard pool export python-docs 2", folder, environ).splitlines()
        labels = (f"{topic} 0 {docno} 1\n" for topic, docno in map(str.split, documents))
        (folder / "labels.txt").write_text("".join(labels))
        token = _token(folder, environ, "organiser", "organise", "judge")
        pool = f"{site.address}/api/v1/tasks/python-docs/pools/2"
        (anne,) = _ask("POST", f"{pool}/assessors", token, {"names": ["Anne"]})["assessors"]
        _ask("PUT", f"{pool}/assignments", token, {"assessors": [anne["assessor"]]})
        yield {**environ, "SITE": site.address, "TOKEN": token, "JUDGE": anne["link"].rpartition("/")[2]}


@contextmanager
def _repository(folder: Path) -> Iterator[dict[str, str]]:
    """An empty folder with the guide's workflows where it says, and a pip that need not install anything."""
    github, gitlab = blocks(GUIDES / "continuous-integration.md", "yaml")
    workflow = folder / ".github" / "workflows" / "search.yml"
    workflow.parent.mkdir(parents=True)
    workflow.write_text(github)
    (folder / ".gitlab-ci.yml").write_text(gitlab)
    tools = folder / "tools"
    tools.mkdir()
    (tools / "pip").write_text('#!/bin/sh\n[ "$*" = "install ir-leaderboard" ]\n')
    (tools / "pip").chmod(0o755)
    roles = [f"GIT_{role}_{what}" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
    who = dict.fromkeys(roles, "anne@example.org")
    environ = _environ(folder, **who)
    yield {**environ, "PATH": f"{tools}{os.pathsep}{environ['PATH']}"}


def _build(commit: Path, environ: Mapping[str, str]) -> tuple[int, str]:
    """What a build of a clone ends with, and its summary: the steps of the workflow, until one fails."""
    workflow = yaml.safe_load((commit / ".github" / "workflows" / "search.yml").read_text())
    summary = commit / "summary.md"
    for step in workflow["jobs"]["gate"]["steps"]:
        done = subprocess.run(
            ["bash", "-e", "-c", step.get("run", "true")],
            cwd=commit,
            env={**environ, "GITHUB_STEP_SUMMARY": str(summary)},
            check=False,
        )
        if done.returncode:
            break
    return done.returncode, summary.read_text()


World = Callable[[Path], AbstractContextManager[dict[str, str]]]
WORLDS: dict[str, World] = {
    "run-a-track": _checkout,
    "coming-from": _checkout,
    "send-a-run": _participant,
    "assess": _assessor,
    "continuous-integration": _repository,
}


def test_every_guide_is_walked() -> None:
    """A guide that is added gets a world, in which its commands run."""
    assert {path.stem for path in GUIDES.glob("*.md")} == set(WORLDS)
    assert all(commands(GUIDES / f"{name}.md") for name in WORLDS)


@pytest.mark.parametrize("name", WORLDS)
def test_the_commands_of_a_guide_work_as_written(name: str, tmp_path: Path) -> None:
    """In order, each with exit code 0; a request that the site refuses counts as an error."""
    if shutil.which("curl") is None:
        pytest.skip("no curl on this machine (Debian: apt-get install curl)")
    with WORLDS[name](tmp_path) as environ:
        for line in commands(GUIDES / f"{name}.md"):
            if line not in ELSEWHERE:
                _typed(line, tmp_path, environ)


def test_the_workflow_of_the_guide_ends_a_build_that_made_search_worse(tmp_path: Path) -> None:
    """From an empty repository: green, red after the change, green with the new run as the baseline."""
    builds = []
    with _repository(tmp_path) as environ:
        for line in commands(GUIDES / "continuous-integration.md"):
            _typed(line, tmp_path, environ)
            if line.startswith("git commit"):
                clone = tmp_path / f"build-{len(builds)}"
                _typed(f"git clone --quiet . {clone}", tmp_path, environ)
                builds.append(_build(clone, environ))
        gitlab = yaml.safe_load((tmp_path / ".gitlab-ci.yml").read_text())
        for line in gitlab["gate"]["script"]:
            _typed(line, tmp_path, environ)
    assert [code for code, _ in builds] == [0, 1, 0]
    assert [summary.partition("\n")[0] for _, summary in builds] == [
        "### Gate passed: 1 no worse",
        "### Gate failed: 1 worse",
        "### Gate passed: 1 no worse",
    ]
    assert "| PY020 |" in builds[1][1]
    assert (tmp_path / "gate.xml").read_text().startswith("<?xml")

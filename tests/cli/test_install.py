"""`leaderboard install systemd`: units that systemd takes, hardened, with the paths of the installation."""

import ctypes
import json
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

from leaderboard import demo
from leaderboard.cli import main
from leaderboard.cli.serving import install
from tests.make.sites import running_site

NAMES = ["leaderboard-worker@.service", "leaderboard.service"]
MOST_EXPOSED = 2.0
"""Of ten, as `systemd-analyze security` counts; a unit without any of it has 9.6."""
SET_MDWE, REFUSE_EXEC_GAIN = 65, 1
"""Of prctl(2), from Linux 6.3 on: no memory becomes executable any more, as MemoryDenyWriteExecute has it."""
UNDER_MDWE = (
    f"import ctypes, os, sys; assert ctypes.CDLL(None).prctl({SET_MDWE}, {REFUSE_EXEC_GAIN}, 0, 0, 0) == 0; "
    "os.execv(sys.argv[1], sys.argv[1:])"
)
analyze = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(
    analyze is None, reason="systemd-analyze is not installed (Debian: systemd)"
)


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """A folder that the units were written to."""
    result = CliRunner().invoke(main, ["install", "systemd", "--to", str(tmp_path), "--user", "www-data"])
    assert result.exit_code == 0, result.output
    return tmp_path


def test_what_is_printed_is_what_is_written(units: Path) -> None:
    """Both units, each below its name, with this installation's command; no placeholder is left."""
    printed = CliRunner().invoke(main, ["install", "systemd", "--print", "--user", "www-data"]).output
    assert sorted(path.name for path in units.iterdir()) == NAMES
    assert printed == "\n".join(f"# {name}\n{(units / name).read_text()}" for name in NAMES)
    command = Path(sys.executable).with_name("leaderboard")
    commands = re.findall(r"^ExecStart=(.*)$", printed, re.MULTILINE)
    assert commands == [f"{command} worker", f"{command} serve"]
    assert "$" not in printed


def test_units_of_somebody_else_are_not_lost(units: Path) -> None:
    """The same again is harmless; another text needs --force; without a place nothing is done."""

    def write(*options: str) -> tuple[int, str]:
        result = CliRunner().invoke(main, ["install", "systemd", *options])
        return result.exit_code, result.output

    assert write("--to", str(units), "--user", "www-data")[0] == 0
    (units / NAMES[1]).write_text("[Service]\n")
    code, said = write("--to", str(units))
    assert (code, "leaderboard.service with different content" in said) == (1, True)
    assert (units / NAMES[1]).read_text() == "[Service]\n"
    assert write("--to", str(units), "--force")[0] == 0
    assert "User=leaderboard" in (units / NAMES[1]).read_text()
    assert write()[0] == 2


@needs_systemd
def test_systemd_finds_nothing_wrong(units: Path) -> None:
    """Neither in the unit nor in an instance of the workers'."""
    shutil.copy(units / NAMES[0], units / "leaderboard-worker@1.service")
    for name in ("leaderboard.service", "leaderboard-worker@1.service"):
        done = subprocess.run(
            [str(analyze), "verify", "--recursive-errors=no", str(units / name)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


@needs_systemd
@pytest.mark.parametrize("name", NAMES)
def test_systemd_thinks_little_of_what_an_intruder_could_do(units: Path, name: str) -> None:
    """The exposure that it counts stays low."""
    done = subprocess.run(
        [str(analyze), "security", "--offline=true", "--no-pager", str(units / name)],
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", done.stdout)
    assert found is not None, done.stdout + done.stderr
    assert float(found[1]) <= MOST_EXPOSED


def test_a_path_is_written_as_systemd_reads_it() -> None:
    """Spaces, quotes, dollars and percents; homes are readable only where the installation is in one."""
    [unit] = {install.units(Path('/opt/a b/"c"/50%/$x'), "u")["leaderboard.service"]}
    assert 'ExecStart="/opt/a b/\\"c\\"/50%%/$$x" serve\n' in unit
    assert "ProtectHome=yes\n" in unit
    at_home = install.units(Path("/home/olga/.local/bin/leaderboard"), "olga")["leaderboard.service"]
    assert "ProtectHome=read-only\n" in at_home


def _refuses_executable_memory() -> bool:
    """Whether this kernel can keep a process from making memory executable."""
    code = f"import ctypes; print(ctypes.CDLL(None).prctl({SET_MDWE}, {REFUSE_EXEC_GAIN}, 0, 0, 0))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "0"


@pytest.mark.trial
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "prctl"), reason="prctl(2) is Linux's")
def test_a_site_runs_without_executable_memory(tmp_path: Path) -> None:
    """As under MemoryDenyWriteExecute, the one line of a unit that libraries written in C may break."""
    if not _refuses_executable_memory():
        pytest.skip("this kernel has no PR_SET_MDWE (Linux 6.3)")
    command = [sys.executable, "-c", UNDER_MDWE, str(Path(sys.executable).with_name("leaderboard"))]
    with running_site(tmp_path / "site", "--demo", command=command) as site:
        with urllib.request.urlopen(f"{site.address}/tasks.json") as answer:
            tasks = {task["task"]: task for task in json.load(answer)["tasks"]}
        for slug in tasks:
            with urllib.request.urlopen(f"{site.address}/tasks/{slug}") as answer:
                assert answer.status == 200
    first = tasks[demo.SLUG]
    assert (first["runs"], first["leader"]) == (14, "bm25-desc")
    assert first["may_be_best"] > 1, "this comes out of a comparison"
    assert not any(" ERROR " in line for line in site.output)

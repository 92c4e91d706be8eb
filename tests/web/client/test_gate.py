"""`leaderboard gate` with a baseline on a site, by the client's token."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main
from tests.make.worlds import QRELS, RUN
from tests.web.api.conftest import Programs
from tests.web.conftest import Site

pytestmark = pytest.mark.trial
WORSE = (
    RUN.replace("1 Q0 d1 1 3.0", "1 Q0 x1 1 3.0").replace("2 Q0 d3 1", "2 Q0 x3 1").replace(" tag", " new")
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Programs) -> Path:
    """A folder with a new run as good as Berta's on the site, a worse one, and her token at hand."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("LEADERBOARD_TOKEN", program("Berta").secret)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "same.run").write_text(RUN)
    (tmp_path / "worse.run").write_text(WORSE)
    (tmp_path / "qrels.txt").write_text(QRELS)
    return tmp_path


def call(*words: object) -> Result:
    """What the command does."""
    return CliRunner().invoke(main, ["gate", *map(str, words)])


def test_a_run_on_a_site_is_a_baseline(site: Site, address: str, folder: Path) -> None:
    """By its name or number, with the task's judgments or one's own; it goes by its name on the site."""
    for run in ("first", site.world.run):
        for judged in ((), ("--qrels", "qrels.txt")):
            done = call("--site", address, "--task", "robots", "--baseline", run, *judged, "same.run")
            assert done.exit_code == 0, done.output
            assert "Against first on 4 topics" in done.stdout
            assert "no worse" in done.stdout
    strict = call("--site", address, "--task", "robots", "--baseline", "first", "worse.run", "--strict")
    assert strict.exit_code == 1
    assert "d1, grade 2: rank 1 to none" in strict.stdout


@pytest.mark.parametrize(
    ("task", "run", "message"),
    [
        ("robots", "nowhere", "robots has no run 'nowhere'"),
        ("nowhere", "first", "no task"),
        ("robots", "999999", "no run"),
        ("other", "{run}", "is of the task robots, not other"),
    ],
)
def test_what_the_site_does_not_have_is_an_error(
    site: Site, address: str, folder: Path, task: str, run: str, message: str
) -> None:
    """Exit code 2, in the site's words."""
    run = run.format(run=site.world.run)
    done = call("--site", address, "--task", task, "--baseline", run, "same.run")
    assert done.exit_code == 2
    assert message in done.output


def test_who_may_not_see_the_file_is_told_so(
    address: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a token, or where no site answers."""
    monkeypatch.setenv("LEADERBOARD_TOKEN", "lb_wrong")
    done = call("--site", address, "--task", "robots", "--baseline", "first", "same.run")
    assert done.exit_code == 2
    assert "Traceback" not in done.output
    done = call("--site", "nonsense", "--task", "robots", "--baseline", "first", "same.run")
    assert done.exit_code == 2
    assert "is not a valid site address" in done.output

"""`leaderboard suites`: what a site's suites are told and asked at the command line."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.cli import main
from leaderboard.db.engine import Database
from leaderboard.settings import Settings
from tests.make import build, suites
from tests.suites import make as suited

FILE = "".join(
    f'[[members]]\nname = "{name}"\ntask = "{slug}"\nlag = "{suites.LAGS[name]}"\n'
    for name, slug in suited.TASKS.items()
)
HEAD = 'slug = "web"\ntitle = "Web"\nreference = "snapshot-1"\nbaseline = "bm25"\nmacro = "lag"\n'


def _run(settings: Settings, *words: str) -> Result:
    environment = {"LEADERBOARD_DATABASE_URL": settings.url}
    return CliRunner().invoke(main, ["suites", *words, "--data", str(settings.data)], env=environment)


@pytest.mark.trial
def test_the_board_is_that_of_the_command_without_a_site(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    """The same archives give the same numbers, line by line, by `suite` of files and `suites` of a site."""
    suited.tasks(database, tmp_path)
    (tmp_path / "web.toml").write_text(HEAD + FILE)
    assert _run(settings, "make", str(tmp_path / "web.toml")).output == "/suites/web\n"
    paths = []
    for tag, rank in (("good", 1), ("bm25", 2)):
        paths.append(
            suites.zipped(tmp_path / f"{tag}.zip", suites.files(dict.fromkeys(suites.MEMBERS, rank), tag))
        )
        added = _run(settings, "add", "web", str(paths[-1]), "--team", tag)
        assert added.exit_code == 0, added.output
    build.drain(database)
    of_site = json.loads(_run(settings, "board", "web", "--format", "json").output)
    of_files = suites.suite_file(tmp_path, 'baseline = "bm25"')
    done = CliRunner().invoke(main, ["suite", str(of_files), *map(str, paths), "--format", "json"])
    for name in ("board", "changes", "pairs"):
        assert [
            {key: row[key] for key in wanted}
            for row, wanted in zip(of_site[name], json.loads(done.output)[name], strict=True)
        ] == json.loads(done.output)[name]
    assert "good" in _run(settings, "board", "web").output
    assert _run(settings, "board", "web", "--table", "pairs", "--format", "csv").output.startswith("a,b,")
    assert _run(settings, "list").output.startswith("web\tWeb\tsnapshot-1")


def test_a_wrong_file_and_a_wrong_archive_are_refused_with_all_problems(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    """The exit code is 1, each problem is a line, and nothing is made."""
    suited.tasks(database, tmp_path)
    path = tmp_path / "web.toml"
    path.write_text(HEAD + FILE.replace('task = "web-2"', 'task = "web-9"').replace("lag =", "lags =", 1))
    refused = _run(settings, "make", str(path))
    assert refused.exit_code == 1
    assert "Did you mean lag?" in refused.output
    path.write_text(HEAD + FILE.replace('task = "web-2"', 'task = "web-9"'))
    assert "This task does not exist." in _run(settings, "make", str(path)).output
    path.write_text(HEAD + FILE)
    _run(settings, "make", str(path))
    bad = suites.zipped(tmp_path / "bad.zip", [("snapshot-1/run.txt", b"x\n"), ("snap/run.txt", b"")])
    refused = _run(settings, "add", "web", str(bad), "--team", "Owls")
    assert refused.exit_code == 1
    assert "snapshot-1" in refused.output


def test_a_suite_is_changed_and_joins_runs_of_a_team(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    """The file replaces all settings; a run that is not named by member and number is a usage error."""
    suited.suite(database, tmp_path)
    path = tmp_path / "web.toml"
    path.write_text('title = "Another"\n' + FILE)
    changed = _run(settings, "change", "web", str(path))
    assert (changed.exit_code, changed.output) == (0, "")
    assert _run(settings, "list").output.startswith("web\tAnother\t")
    run_id = build.run(database, tmp_path, {"1": ["a"]}, "one", slug="web-1", team_name="Lab")
    refused = _run(settings, "join", "web", "pair", "snapshot-1", "--team", "Lab")
    assert (refused.exit_code, "such as law=12, not 'snapshot-1'" in refused.output) == (2, True)
    joined = _run(settings, "join", "web", "pair", f"snapshot-1={run_id}", "--team", "Lab")
    assert joined.output == "/suites/web/runs/1\n"

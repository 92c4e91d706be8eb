"""`leaderboard verify` on bundles: whole, forged, unsigned, signed by others; exit codes, formats, badge."""

import hashlib
import json
import random
import shutil
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from leaderboard.bundles.ops import opening
from leaderboard.bundles.ops.describing import SIGNATURE, SUMS
from leaderboard.cli import main
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.errors import LeaderboardError
from leaderboard.signatures import ops as signatures
from leaderboard.verify import verifying
from leaderboard.verify.report import Report
from leaderboard.verify.signed import Trust, trust
from tests.bundles import make as bundles
from tests.make import build

ONE, OTHER = {"1": ["a", "c"], "2": ["d"], "3": ["e"]}, {"1": ["c", "a"], "2": ["x", "d"], "3": ["e"]}
SCORES = "scores/topics.csv"


@pytest.fixture
def bundle(database: Database, tmp_path: Path) -> Path:
    """What a site publishes of a task with two runs, as a folder."""
    with database.write() as session:
        signatures.ensure_key(session)
    build.task(database, tmp_path)
    build.run(database, tmp_path, ONE, "one")
    build.run(database, tmp_path, OTHER, "two")
    build.drain(database)
    bundles.public(database, tmp_path / "bundle")
    return tmp_path / "bundle"


def _keys(database: Database, folder: Path) -> str:
    """A file of the site's keys."""
    path = folder / "keys.json"
    with database.read() as session:
        path.write_bytes(signatures.keys_text(signatures.keys(session)))
    return str(path)


def _verified(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["verify", *map(str, arguments)])


def _change_a_score(folder: Path) -> list[str]:
    """Print another score than that of the files; run, measure, topic and the true value."""
    path = folder / SCORES
    lines = path.read_text().splitlines()
    at = next(number for number, line in enumerate(lines) if number and not line.endswith(",0.0"))
    run, run_id, measure, topic, score = lines[at].split(",")
    lines[at] = f"{run},{run_id},{measure},{topic},0.2500001"
    path.write_text("\r\n".join(lines) + "\r\n")
    _renew_sums(folder)
    return [f"{run} #{run_id}", measure, topic, score]


def _renew_sums(folder: Path) -> None:
    names = (path for path in sorted(folder.rglob("*")) if path.is_file())
    wanted = [path for path in names if path.name not in (SUMS, SIGNATURE)]
    lines = (
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n"
        for path in wanted
    )
    (folder / SUMS).write_text("".join(lines))


def test_a_bundle_is_whole(bundle: Path, database: Database, tmp_path: Path) -> None:
    """Digests, signature and all values; whose key it is, is open without the site's keys."""
    done = _verified(bundle)
    assert done.exit_code == 0, done.output
    assert "values equal" in done.stdout
    assert "whose key" in done.stdout
    keys = _keys(database, tmp_path)
    done = _verified(bundle, "--key", keys)
    assert done.exit_code == 0, done.output
    assert "whose key" not in done.stdout
    public = json.loads(Path(keys).read_text())["keys"][0]["public"]
    assert _verified(bundle, "--key", public).exit_code == 0


def test_a_forged_bundle_with_renewed_sums_is_refused(bundle: Path) -> None:
    """The signature no longer fits, and nothing is recomputed of what was not published."""
    _change_a_score(bundle)
    done = _verified(bundle)
    assert done.exit_code == 1
    assert f"{SIGNATURE}: is not valid" in done.stdout
    assert "0 of 0 values equal" in done.stdout


def test_a_forger_who_signs_has_another_key(bundle: Path, database: Database, tmp_path: Path) -> None:
    """Which a reader who knows the site's key is told."""
    keys = _keys(database, tmp_path)
    with database.write() as session:
        signatures.rotate(session, OPERATOR)
        sign = signatures.signer(session)
    assert sign is not None
    _change_a_score(bundle)
    (bundle / SIGNATURE).write_bytes(sign("bundle", signatures.digest((bundle / SUMS).read_bytes())))
    done = _verified(bundle, "--key", keys)
    assert done.exit_code == 1
    assert "but the pinned key is" in done.stdout


def test_an_unsigned_bundle_says_so_and_is_recomputed(
    bundle: Path, database: Database, tmp_path: Path
) -> None:
    """It is said that it is unsigned; a value that its files do not give is named."""
    (bundle / SIGNATURE).unlink()
    done = _verified(bundle)
    assert done.exit_code == 0, done.output
    assert "It has no signature" in done.stdout
    assert _verified(bundle, "--key", _keys(database, tmp_path)).exit_code == 1
    expected = _change_a_score(bundle)
    done = _verified(bundle, "--format", "json")
    assert done.exit_code == 1
    facts = json.loads(done.stdout)
    assert facts["verdict"] == "different"
    assert facts["values"] - facts["equal"] == 1
    (found,) = facts["different"]
    assert found["file"].endswith(SCORES)
    assert [found[name] for name in ("run", "measure", "topic", "recomputed")] == expected
    assert found["printed"] == "0.2500001"


def test_a_rotated_key_still_counts(bundle: Path, database: Database, tmp_path: Path) -> None:
    """It stays in the site's list, with its end."""
    with database.write() as session:
        signatures.rotate(session, OPERATOR)
    done = _verified(bundle, "--key", _keys(database, tmp_path))
    assert done.exit_code == 0, done.output
    assert " to now" not in done.stdout


def test_a_whole_export_is_recomputed(bundle: Path, database: Database, tmp_path: Path) -> None:
    """It has what visitors do not read, so it is not signed."""
    bundles.exported(database, tmp_path / "whole.zip")
    done = _verified(tmp_path / "whole.zip")
    assert done.exit_code == 0, done.output
    assert "It has no signature" in done.stdout
    bundles.exported(database, tmp_path / "named", is_release=True)
    assert _verified(tmp_path / "named").exit_code == 0


def test_a_line_to_paste(bundle: Path) -> None:
    """As Markdown and as HTML, with nothing in the name that either reads."""
    done = _verified(bundle, "--badge", "--by", "A <b>_B_</b>")
    assert done.exit_code == 0, done.output
    markdown, html = done.stdout.splitlines()
    assert markdown.startswith("[Recomputed on ")
    assert r"\<b\>\_B\_\</b\>" in markdown
    assert "&lt;b&gt;" in html
    assert "values equal" in html
    _change_a_score(bundle)
    done = _verified(bundle, "--badge", "--by", "A")
    assert done.exit_code == 1
    assert "Recomputed on" not in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [["nowhere"], [__file__], ["nowhere", "--badge"], ["ftp://example.org"], [__file__, "--key", "none"]],
)
def test_what_cannot_be_verified(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2, as 1 says that something differs."""
    monkeypatch.chdir(tmp_path)
    assert _verified(*arguments).exit_code == 2


def test_a_measure_of_another_version_is_not_judged(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its scores would differ, which says nothing of the site."""
    (bundle / SIGNATURE).unlink()
    path = bundle / "records" / "editions.jsonl"
    path.write_text(path.read_text().replace('"version": 1', '"version": 9'))
    _renew_sums(bundle)
    done = _verified(bundle)
    assert done.exit_code == 2, done.output
    assert "version 9 in the bundle" in done.stdout


def _flipped(path: Path, chance: random.Random) -> bytes:
    """Flip a byte of a file; what it was."""
    before = path.read_bytes()
    other = bytearray(before)
    other[chance.randrange(len(other))] ^= chance.randrange(1, 256)
    path.write_bytes(other)
    return before


@pytest.mark.trial
def test_a_thousand_flipped_bytes_are_named(bundle: Path) -> None:
    """One at a time, at random places of all files: the file is named each time."""
    chance = random.Random(36)
    paths = [path for path in sorted(bundle.rglob("*")) if path.is_file()]
    sizes = [path.stat().st_size for path in paths]
    with opening.opened(bundle) as files:
        for path in chance.choices(paths, sizes, k=1000):
            report, before = Report("bundle"), _flipped(path, chance)
            assert not verifying.check_files(report, files, "bundle", Trust({}))
            named = f"{report.differences}"
            # A digest that was changed in the list is that of another file, and the list is signed.
            assert path.relative_to(bundle).as_posix() in named or (path.name == SUMS and SIGNATURE in named)
            path.write_bytes(before)
        assert verifying.check_files(Report("bundle"), files, "bundle", Trust({}))


@pytest.mark.trial
def test_flipped_bytes_of_an_archive(bundle: Path, database: Database, tmp_path: Path) -> None:
    """Each is noticed, but for those that say when and for whom a member was packed."""
    whole, path = tmp_path / "task.zip", tmp_path / "flipped.zip"
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in sorted(bundle.rglob("*")):
            archive.write(member, member.relative_to(bundle))
    there = {name: zipfile.ZipFile(whole).read(name) for name in zipfile.ZipFile(whole).namelist()}
    chance, unnoticed = random.Random(36), 0
    for _ in range(300):
        shutil.copyfile(whole, path)
        _flipped(path, chance)
        report = Report("bundle")
        try:
            with opening.opened(path) as files:
                is_whole = verifying.check_files(report, files, "bundle", Trust({}))
                kept = {name: found.read_bytes() for name, found in files.paths.items()}
        except LeaderboardError:
            # Damaged, or of more members than are taken, by what its directory says.
            continue
        unnoticed += is_whole
        assert not is_whole or kept.items() <= there.items()
    assert unnoticed < 100


def test_keys_by_their_names() -> None:
    """None are trusted until a reader or a site names them."""
    assert trust(()).keys == {}

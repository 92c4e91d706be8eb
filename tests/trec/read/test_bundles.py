"""Archives of run files: what is taken out of them, under which names, and what is refused."""

import io
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from leaderboard.errors import Invalid, LeaderboardError, TooLarge
from leaderboard.trec.read import bundles
from leaderboard.trec.read.archives import Limits
from leaderboard.trec.read.bundles import kind_of, unbundled

RUN = b"1 Q0 a 1 1 t\n"
LIMITS = Limits(plain_bytes=5_000_000, memory=2**25)


def _zip(files: Iterable[tuple[str | zipfile.ZipInfo, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", method) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return body.getvalue()


def _tar(
    files: Iterable[tuple[str | tarfile.TarInfo, bytes]], mode: str = "w", form: int = tarfile.PAX_FORMAT
) -> bytes:
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode=mode, format=form) as archive:  # type: ignore[call-overload]
        for name, content in files:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return body.getvalue()


def _taken(folder: Path, body: bytes, limits: Limits = LIMITS) -> list[tuple[str, str]]:
    """(name, content or what is wrong) of every member of an archive; nothing may lie outside the folder."""
    path = folder / "archive"
    path.write_bytes(body)
    inside = folder / "inside"
    inside.mkdir(exist_ok=True)
    found = [
        (one.name, one.path.read_text("utf-8", "replace") if one.path else str(one.problem))
        for one in unbundled(path, kind_of(path, limits), inside, limits)
    ]
    assert {each.name for each in folder.iterdir()} == {"archive", "inside"}
    assert all(each.name.startswith("archive-") for each in inside.iterdir())
    return found


@pytest.mark.parametrize("kind", ["zip", "w", "w:gz", "w:bz2", "w:xz", "gnu"])
def test_members_come_out_under_shown_names(kind: str, tmp_path: Path) -> None:
    """Folders stay in names that lead nowhere; hidden files are passed over, long names are whole."""
    names = ["./a.txt", "team/b.txt", "../../etc/passwd", "/root/x", "c\\d.txt", f"{'long/' * 30}name.txt"]
    files = [(name, RUN + name.encode()) for name in [*names, "__MACOSX/._a.txt", "x/.DS_Store"]]
    if kind == "zip":
        body = _zip(files)
    else:
        mode, form = ("w", tarfile.GNU_FORMAT) if kind == "gnu" else (kind, tarfile.PAX_FORMAT)
        body = _tar(files, mode, form)
    found = _taken(tmp_path, body)
    shown = ["a.txt", "team/b.txt", "etc/passwd", "root/x", "c/d.txt", f"{'long/' * 30}name.txt"]
    assert [name for name, _ in found] == shown
    assert found[0][1] == (RUN + b"./a.txt").decode()


def _link() -> tarfile.TarInfo:
    info = tarfile.TarInfo("link")
    info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
    return info


def _zip_link() -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("link")
    info.external_attr = 0o120777 << 16
    return info


def _encrypted() -> bytes:
    body = bytearray(_zip([("a", RUN)], zipfile.ZIP_STORED))
    body[6] |= 1
    body[body.index(b"PK\x01\x02") + 8] |= 1
    return bytes(body)


def test_what_is_no_plain_file_has_a_problem_of_its_own(tmp_path: Path) -> None:
    """Links, nested archives, encrypted members, bombs and strange methods do not stop the other members."""
    cases = [
        (_tar([(_link(), b""), ("a", RUN)]), "link or a device", 1),
        (_zip([(_zip_link(), b"/etc/passwd"), ("a", RUN)]), "This is a link", 1),
        (_zip([("in.zip", _zip([("a", RUN)])), ("a", RUN)]), "archive in an archive", 1),
        (_tar([("in.tgz", _tar([("a", RUN)], "w:gz")), ("a", RUN)]), "archive in an archive", 1),
        (_zip([("bomb", bytes(2_000_000)), ("a", RUN)]), "expands more than 200 times", 1),
        (_zip([("a", RUN)], zipfile.ZIP_LZMA), "compression method is not supported", 0),
        (_encrypted(), "encrypted", 0),
    ]
    faults = []
    for body, words, others in cases:
        found = _taken(tmp_path, body)
        if words not in found[0][1] or [content for _, content in found[1:]] != [RUN.decode()] * others:
            faults.append((words, found))
    assert faults == []


def test_an_archive_that_is_too_much_is_refused_as_a_whole(tmp_path: Path) -> None:
    """Too many members or bytes, a cut or damaged archive: one clear sentence, whatever it claims."""
    long_header = _tar([("x" * 5000, RUN)])
    damaged = bytearray(_tar([("a", RUN)]))
    damaged[0:1] = b"b"
    torn = bytearray(_zip([("a", RUN * 1000)]))
    torn[60:64] = b"\0\0\0\0"
    random = bytes(range(256)) * 12_000
    cases = [
        (_zip((f"{n}", RUN) for n in range(501)), "500 are accepted"),
        (_tar((f"{n}", RUN) for n in range(501)), "500 are accepted"),
        (_zip((f"{n:>0400}", b"") for n in range(2600)), "more members than the 500"),
        (_zip([("a", random), ("b", random)], zipfile.ZIP_STORED), "larger than this site accepts"),
        (_tar([("a", random), ("b", random)]), "larger than this site accepts"),
        (_tar([("a", bytes(4_000_000))], "w:gz"), "expands more than 200 times"),
        (_tar([("a", RUN)])[:700], "cut off"),
        (bytes(damaged), "damaged"),
        (long_header, "too long a header"),
        (_zip([("a", RUN)])[:-30], "cut off"),
        (bytes(torn), "damaged"),
    ]
    faults = []
    for place, (body, words) in enumerate(cases):
        folder = tmp_path / str(place)
        folder.mkdir()
        try:
            faults.append((words, _taken(folder, body)[:1]))
        except LeaderboardError as error:
            if words not in error.message or not isinstance(error, Invalid | TooLarge):
                faults.append((words, [error.message]))
    assert faults == []


def test_sizes_are_counted_while_unpacking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A zip that says less than it holds gives no more than it said: what it says was added up before."""
    body = bytearray(_zip([("a", bytes(range(256)) * 100)], zipfile.ZIP_STORED))
    at = body.index(b"PK\x01\x02")
    body[at + 24 : at + 28] = (10).to_bytes(4, "little")
    with pytest.raises(Invalid, match="damaged"):
        _taken(tmp_path, bytes(body))
    monkeypatch.setattr(bundles, "_require_short_directory", lambda *_: None)
    with pytest.raises(TooLarge):
        _taken(tmp_path, _zip([("a", bytes(300))], zipfile.ZIP_STORED), Limits(plain_bytes=100))


def test_other_files_are_no_archives(tmp_path: Path) -> None:
    """Runs, compressed runs, empty and damaged files are left to the checker."""
    path = tmp_path / "file"
    for body in (RUN, b"", b"\x1f\x8bnonsense", _tar([("a", RUN)])[:100]):
        path.write_bytes(body)
        assert kind_of(path, LIMITS) == ""

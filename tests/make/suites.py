"""Suites on disk: a suite file, judgments of its members, and submissions as folders and archives."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests import ROOT
from tests.make import build

DEMO = ROOT / "leaderboard" / "demo"
MEMBERS = {
    "snapshot-1": {"1": {"a": 1}, "2": {"b": 1}},
    "snapshot-2": {"1": {"a": 1}, "3": {"c": 1}, "4": {"d": 2}},
    "snapshot-3": {"5": {"e": 1}, "6": {"f": 1}},
}
"""Member -> topic -> docno -> grade."""
LAGS = {"snapshot-1": "none", "snapshot-2": "short", "snapshot-3": "long"}
METADATA = "tag: {tag}\nactor:\n  team: owls\n"
FULL = {topic: [docno] for judged in MEMBERS.values() for topic, (docno, *_) in judged.items()}


def suite_file(folder: Path, head: str = "", members: Mapping[str, str] | None = None) -> Path:
    """A suite file by AP over three members, the first the reference; members: more lines of each."""
    more = members or {}
    text = f'name = "Web"\nmeasure = "AP"\nreference = "snapshot-1"\nmacro = "lag"\n{head}\n'
    for name, judged in MEMBERS.items():
        build.qrels_file(folder, judged, f"qrels-{name}")
        text += f'[[members]]\nname = "{name}"\nqrels = "qrels-{name}.txt"\nlag = "{LAGS[name]}"\n'
        text += f"{more.get(name, '')}\n"
    path = folder / "suite.toml"
    path.write_text(text)
    return path


def run_text(judged: Mapping[str, Mapping[str, int]], rank: int, tag: str = "t") -> str:
    """A run that has the relevant document of every topic at a rank, behind others."""
    return "".join(
        f"{topic} Q0 {docno} {place} {100 - place} {tag}\n"
        for topic, grades in judged.items()
        for place, docno in enumerate([*(f"x{one}" for one in range(1, rank)), next(iter(grades))], start=1)
    )


def files(ranks: Mapping[str, int], tag: str = "") -> dict[str, bytes]:
    """The files of a submission: each member's run with its relevant documents at a rank, one packed."""
    made = {f"{name}/run.txt": run_text(MEMBERS[name], rank).encode() for name, rank in ranks.items()}
    if "snapshot-2/run.txt" in made:
        made["snapshot-2/run.txt.gz"] = gzip.compress(made.pop("snapshot-2/run.txt"), mtime=0)
    if tag:
        made["ir-metadata.yml"] = METADATA.format(tag=tag).encode()
    return made


def folder(path: Path, content: Mapping[str, bytes]) -> Path:
    """The files as a folder."""
    for name, body in content.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(body)
    return path


def zipped(path: Path, content: Mapping[str, bytes] | Sequence[tuple[str | zipfile.ZipInfo, bytes]]) -> Path:
    """The files as a zip."""
    pairs = content.items() if isinstance(content, Mapping) else content
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in pairs:
            archive.writestr(name, body)
    return path


def tarred(path: Path, content: Mapping[str, bytes]) -> Path:
    """The files as a compressed tar."""
    with tarfile.open(path, "w:gz") as archive:
        for name, body in content.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            archive.addfile(info, io.BytesIO(body))
    return path


def of_demo(target: Path) -> None:
    """Thirds of the demo's topics as three snapshots, with some of its runs: the world of docs/suites.md."""
    judged = (DEMO / "qrels-depth8.txt").read_text().splitlines(keepends=True)
    topics = sorted({line.split()[0] for line in judged})
    thirds = [topics[number::3] for number in range(3)]
    text = 'name = "Python docs"\nmeasure = "nDCG@10"\nreference = "snapshot-1"\n'
    text += 'baseline = "bm25"\nmacro = "lag"\n'
    for (name, lag), third in zip(LAGS.items(), thirds, strict=True):
        (target / f"{name}.qrels").write_text("".join(line for line in judged if line.split()[0] in third))
        text += f'\n[[members]]\nname = "{name}"\nqrels = "{name}.qrels"\nlag = "{lag}"\n'
    (target / "suite.toml").write_text(text)
    for run in ("bm25", "lsi", "fusion-rrf"):
        content = {
            f"{name}/run.txt.gz": gzip.compress(_of_demo(run, third), mtime=0)
            for name, third in zip(LAGS, thirds, strict=True)
        }
        content["ir-metadata.yml"] = METADATA.format(tag=run).encode()
        zipped(target / f"{run}.zip", content)
    folder(target / "boolean", {"snapshot-1/run.txt": _of_demo("boolean", thirds[0])})


def _of_demo(run: str, topics: Sequence[str]) -> bytes:
    """A run of the demo on some of its topics."""
    body = gzip.decompress((DEMO / "runs" / f"{run}.run.gz").read_bytes()).decode()
    return "".join(line for line in body.splitlines(keepends=True) if line.split()[0] in topics).encode()


def of_reproduction(target: Path) -> None:
    """The demo's judgments and three of its runs under the names of docs/reproductions.md."""
    (target / "qrels.txt").write_bytes((DEMO / "qrels-depth8.txt").read_bytes())
    (target / "other-qrels.txt").write_bytes((DEMO / "qrels-depth4.txt").read_bytes())
    for run in ("bm25", "bm25-rm3", "bm25-fields"):
        body = gzip.decompress((DEMO / "runs" / f"{run}.run.gz").read_bytes())
        (target / f"{run}.run").write_bytes(body)

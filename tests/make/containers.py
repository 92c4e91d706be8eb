"""A Containerfile without a container engine: read, and its steps done in copies of this machine's root.

What the base image and apt-get would bring is this machine's own; all else is done as it is written. The
command `unshare --mount --propagation private python -m tests.make.containers FOLDER PORT` builds it, runs
what it would run as the user that it names, and prints as JSON what came of it; what it mounted is gone then.
"""

import fnmatch
import json
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

FILE = Path(__file__).resolve().parents[2] / "deploy" / "Containerfile"
UNSHARE = ("unshare", "--mount", "--propagation", "private")
START_S = 180


@dataclass
class Stage:
    """One stage: its name, its steps in order, and what they set."""

    name: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def last(self, kind: str) -> str:
        """What the last step of a kind says; raises IndexError where there is none."""
        return [text for step, text in self.steps if step == kind][-1]

    def all(self, kind: str) -> list[str]:
        """What all steps of a kind say."""
        return [text for step, text in self.steps if step == kind]

    @property
    def environment(self) -> dict[str, str]:
        """What ENV sets, with what it refers to put in."""
        found = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        for text in self.all("ENV"):
            name, _, value = text.partition("=")
            found[name] = value.replace("$PATH", found["PATH"])
        return found


def stages(file: Path) -> list[Stage]:
    """The stages of a Containerfile, whose steps are a line each."""
    found: list[Stage] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        kind, _, text = line.strip().partition(" ")
        if not kind or kind.startswith("#") or (kind == "ARG" and not found):
            continue
        if kind == "FROM":
            found.append(Stage(text.split(" AS ")[1] if " AS " in text else ""))
        found[-1].steps.append((kind, text))
    return found


def copied(stage: Stage) -> Iterator[tuple[list[str], str, str]]:
    """Each COPY: what, whereto, and out of which stage; empty: out of the context."""
    for text in stage.all("COPY"):
        words = shlex.split(text)
        source = words[0].removeprefix("--from=") if words[0].startswith("--from=") else ""
        yield words[bool(source) : -1], words[-1], source


def ignored(path: PurePosixPath, rules: Path) -> bool:
    """Whether a path of the context is left out: the last rule that fits it or a folder above it says."""
    is_out = False
    for line in rules.read_text(encoding="utf-8").splitlines():
        rule = line.strip().removeprefix("!").removeprefix("**/")
        if line and not line.startswith("#") and _fits(path, rule, anywhere="**/" in line):
            is_out = not line.startswith("!")
    return is_out


def _fits(path: PurePosixPath, rule: str, *, anywhere: bool) -> bool:
    parts = path.parts if anywhere else path.parts[:1]
    return any(fnmatch.fnmatch(part, rule) for part in parts)


def context(root: Path, rules: Path, into: Path) -> Path:
    """A copy of what an engine would be sent: files under version control, less what is ignored."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if not ignored(PurePosixPath(name), rules) and (root / name).is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, into / name)
    return into


def may_mount() -> bool:
    """Whether this process can lay a copy over its root: as root of a machine that lets it."""
    script = "mount -t tmpfs none /mnt && mkdir /mnt/u /mnt/w /mnt/m && "
    script += "mount -t overlay none -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w /mnt/m"
    if shutil.which(UNSHARE[0]) is None:
        return False
    return subprocess.run([*UNSHARE, "sh", "-c", script], capture_output=True, check=False).returncode == 0


def may_share_python() -> bool:
    """Whether other users may run this Python, as the image's does: not one in a home folder."""
    folder = Path(sys.base_prefix).resolve()
    return all(one.stat().st_mode & stat.S_IXOTH for one in (folder, *folder.parents))


def _laid(folder: Path, name: str) -> Path:
    """A root like this machine's, which can be written to and changes nothing of it."""
    upper, work, root = (folder / f"{name}-{part}" for part in ("upper", "work", "root"))
    for path in (upper, work, root):
        path.mkdir()
    _mount("-t", "overlay", "none", "-o", f"lowerdir=/,upperdir={upper},workdir={work}", str(root))
    _mount("-t", "proc", "none", str(root / "proc"))
    _mount("--rbind", "/dev", str(root / "dev"))
    for file in ("etc/resolv.conf", "etc/hosts"):
        _mount("--bind", f"/{file}", str(root / file))
    # Python's image has the command `python`. A link to another folder's would look for its modules in vain.
    python = root / "usr/local/bin/python"
    python.unlink(missing_ok=True)
    real = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    python.write_text(f'#!/bin/sh\nexec {real} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return root


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def _done(stage: Stage, root: Path, sent: Path, before: dict[str, Path]) -> list[str]:
    """Do the steps of a stage in a root; gives those that were left to this machine: apt-get's."""
    place, left = "/", []
    for kind, text in stage.steps:
        if kind == "WORKDIR":
            place = text
            (root / place[1:]).mkdir(parents=True, exist_ok=True)
        elif kind == "COPY":
            one = Stage("", [(kind, text)])
            for names, target, source in copied(one):
                _copy(names, before[source] if source else sent, root / place[1:], root, target)
        elif kind == "RUN" and "apt-get" in text:
            left.append(text)
        elif kind == "RUN":
            asked = ["chroot", str(root), "sh", "-c", f"cd {place} && {text}"]
            subprocess.run(asked, env=stage.environment, check=True, stdout=sys.stderr)
    return left


def _copy(names: list[str], source: Path, here: Path, root: Path, target: str) -> None:
    for name in names:
        wanted = root / target[1:] if target.startswith("/") else here / target
        found = source / name.lstrip("/")
        if found.is_dir():
            shutil.copytree(found, wanted, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy(found, wanted / found.name if target.endswith("/") else wanted)


def words(text: str) -> list[str]:
    """The command of ENTRYPOINT, CMD or HEALTHCHECK, in its JSON form."""
    found = re.search(r"\[.*\]$", text)
    assert found is not None, text
    command: list[str] = json.loads(found[0])
    return command


def built(file: Path, folder: Path) -> tuple[Path, list[str]]:
    """The root of the last stage of a Containerfile of this repository, and the steps that were left out."""
    top = file.parent.parent
    _mount("-t", "tmpfs", "none", str(folder))
    (folder / "context").mkdir()
    sent = context(top, top / ".containerignore", folder / "context")
    made, left = dict[str, Path](), []
    for number, stage in enumerate(stages(file)):
        root = _laid(folder, str(number))
        left += _done(stage, root, sent, made)
        made[stage.name] = root
    return root, left


def _in(root: Path, user: str, command: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    asked = ["chroot", f"--userspec={user}", str(root), *command]
    pipe = subprocess.PIPE
    return subprocess.Popen(asked, env=environment, stdout=pipe, stderr=subprocess.STDOUT, text=True)


def main(folder: Path, port: int) -> None:
    """Build the image, run it on a port until it says that it is well, ask it to stop, and tell."""
    root, left = built(FILE, folder)
    stage = stages(FILE)[-1]
    named = {"LEADERBOARD_PUBLIC_URL": "https://board.example.org", "LEADERBOARD_PORT": str(port)}
    environment, user = stage.environment | named, stage.last("USER")
    command = words(stage.last("ENTRYPOINT")) + words(stage.last("CMD"))
    site = _in(root, user, command, environment)
    until, tried = time.monotonic() + START_S, ""
    while tried != "ok\n" and site.poll() is None and time.monotonic() < until:
        check = _in(root, user, words(stage.last("HEALTHCHECK")), environment)
        tried = check.communicate()[0]
        time.sleep(0.5)
    site.send_signal(signal.SIGTERM)
    said = site.communicate()[0]
    version = _in(root, user, ["leaderboard", "--version"], environment).communicate()[0]
    kept = root / environment["LEADERBOARD_DATA"][1:]
    owner = f"{kept.stat().st_uid}:{kept.stat().st_gid}"
    told = {"health": tried, "code": site.returncode, "said": said, "version": version, "left": left}
    print(json.dumps({**told, "owner": owner, "mode": oct(kept.stat().st_mode & 0o777)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

"""The Python side of the API: check, send and read runs of a site; whatever else it offers, by `ask`."""

from __future__ import annotations

import hashlib
import os
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leaderboard_submit import pieces, precheck
from leaderboard_submit.errors import NotAllowed, NotFound, Refused, Rejected, Unreachable
from leaderboard_submit.rankings import written
from leaderboard_submit.transport import PIECE, Progress, Transport

Json = dict[str, Any]
ENDINGS = (".gz", ".bz2", ".xz", ".zst", ".txt", ".run", ".trec", ".res", ".jsonl", ".zip", ".tar", ".tgz")
FIRST_LOOK_S, LATEST_LOOK_S = 0.1, 3.0
ON_ITS_WAY = ("queued", "running")


@dataclass(frozen=True)
class Verdict:
    """Result of a file check; problems and warnings have line, field, value, rule and remedy."""

    accepted: bool
    problems: list[Json]
    warnings: list[Json]
    fixes: list[str]


@dataclass(frozen=True)
class Submitted:
    """A run that the site took.

    state: done, queued, running, failed, or waiting for judgments; held: an agent's file that becomes a run
    once an organiser accepts it, until then run_id is None. rank and scores are None and empty where they are
    held back. left_today and left_in_all: runs that the team may still send, None without a limit.
    """

    run_id: int | None
    task: str
    name: str
    team: str
    state: str
    rank: int | None
    scores: dict[str, float | None]
    warnings: list[Json]
    left_today: int | None
    left_in_all: int | None
    sha256: str
    url: str
    facts: Json = field(default_factory=dict)
    """All that the site says of the run."""
    limit: str = ""
    """The limit that leaves `left_today`, as text."""


class Client:
    """A site, asked with a token or, for what is public, without one.

    url: of the site, such as https://example.org. Every method raises a ClientError: NotAllowed, NotFound,
    OverQuota, Rejected, Refused, or Unreachable where the site does not answer.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout_s: float = 120.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._transport = Transport(url, token, timeout_s, sleep)
        self.url, self._sleep = self._transport.url, sleep
        self._teams: dict[int, str] = {}

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        file: str | os.PathLike[str] | bytes | None = None,
    ) -> Any:
        """The answer to any operation that the site's page /api lists; a POST is done once at most."""
        headers = {"Idempotency-Key": uuid.uuid4().hex} if method == "POST" else {}
        sent = file if file is None or isinstance(file, bytes) else Path(file)
        return self._transport.ask(method, path, body=body, query=query, file=sent, headers=headers)

    def account(self) -> Json:
        """Whose token it is, their teams, and what it is for."""
        return _object(self.ask("GET", "/account"))

    def tasks(self) -> list[Json]:
        """The tasks of the site that one may know of."""
        return list(self._parts("/tasks", "tasks"))

    def task(self, task: str) -> Json:
        """Rules, measures and phases of a task."""
        return _object(self.ask("GET", f"/tasks/{task}"))

    def board(self, task: str, **query: Any) -> Json:
        """The board of a task; measure, phase, edition, at, group and one_per_team choose which."""
        return _object(self.ask("GET", f"/tasks/{task}/board", query=query))

    def quota(self, task: str, team: int | str | None = None, phase: str = "") -> Json:
        """The number of runs that a team can still submit."""
        team_id = self._team(team)[0]
        return _object(self.ask("GET", f"/tasks/{task}/quota", query={"team": team_id, "phase": phase}))

    def run(self, run_id: int) -> Json:
        """Show a run with its state, rank and scores."""
        return _object(self.ask("GET", f"/runs/{run_id}"))

    def answer(self, run_id: int, topic: str) -> Json:
        """What a run of answers says on a topic: segments and what they cite, length, limit, what was cut."""
        return _object(self.ask("GET", f"/runs/{run_id}/answers/{topic}"))

    def limits(self, task: str, phase: str = "") -> precheck.Limits:
        """The known limits of a task, for a local check before the upload."""
        told = self.task(task)
        phases = [one for one in told["phases"] if one["name"] == phase or not phase]
        sizes = [one["largest_bytes"] for one in phases]
        try:
            topics = frozenset(str(row["topic"]) for row in self.rows(f"/tasks/{task}/topics"))
        except (NotFound, NotAllowed):
            topics = frozenset()
        return precheck.Limits(
            depth=told["depth"],
            topics=topics or None,
            largest_bytes=None if None in sizes else max(sizes, default=None),
        )

    def check(self, task: str, run: Any, *, tag: str = "run", phase: str = "") -> Verdict:
        """Check a file or rankings as `submit` does, without submitting them."""
        query = {"phase": phase}
        said = _object(self.ask("POST", f"/tasks/{task}/check", query=query, file=_content(run, tag)))
        return Verdict(
            said["state"] == "accepted", list(said["problems"]), list(said["warnings"]), list(said["fixes"])
        )

    def submit(
        self,
        task: str,
        run: Any,
        *,
        name: str | None = None,
        team: int | str | None = None,
        kind: str = "official",
        phase: str = "",
        description: str = "",
        facts: Mapping[str, str] | None = None,
        wait: bool = True,
        again: bool = False,
        late: str = "",
        timeout_s: float = 3600.0,
        progress: Progress | None = None,
    ) -> Submitted:
        """Submit a run, wait for its check and, with wait, for its scores.

        run: the path of a file, its bytes, or rankings as `written` takes them. name: else the file's tag.
        team: its name or number, needed by who is in several. The same file sent again under the same name
        makes no second run, unless again is true. late: why organisers let it count after the close. Raises
        Rejected with every problem.
        """
        team_id, team_name = self._team(team)
        name = name or _name_of(run)
        content = _content(run, name)
        sha256, until = _digest(content), time.monotonic() + timeout_s
        key = uuid.uuid4().hex if again else _key(task, team_id, name, kind, phase, sha256)
        query = {"team": team_id, "kind": kind, "phase": phase, "description": description}
        if late:
            query["late"] = late
        sent = self._send((task, name), content, query, (key, sha256), progress)
        upload = self._checked(sent, until)
        if upload.get("sha256") not in (None, sha256):
            raise Unreachable("The file was corrupted in transit.", "Submit the run again.", upload)
        run_id = None if upload["state"] == "held" else int(upload["run_id"])
        answer: Json = {"run": name, "state": "held", "rank": None, "scores": {}}
        if run_id is not None:
            if facts:
                self.describe(run_id, facts=facts)
            answer = self._scored(run_id, until) if wait else self.run(run_id)
        left = self.quota(task, team_id, phase)
        return Submitted(
            run_id=run_id,
            task=task,
            name=str(answer["run"]),
            team=team_name,
            state=str(answer["state"]),
            rank=answer["rank"],
            scores=dict(answer["scores"]),
            warnings=list(upload["warnings"]),
            left_today=left["left_today"],
            left_in_all=left["left_in_all"],
            limit=str(left.get("limit") or ""),
            sha256=sha256,
            url=f"{self.url}/uploads/{upload['upload']}" if run_id is None else f"{self.url}/runs/{run_id}",
            facts=answer,
        )

    def suite(self, suite: str, **query: Any) -> Json:
        """The board of a suite; by, members, domain, language, lag and baseline choose."""
        return _object(self.ask("GET", f"/suites/{suite}", query=query))

    def submit_suite(
        self,
        suite: str,
        archive: Path | bytes,
        *,
        name: str | None = None,
        team: int | str | None = None,
        kind: str = "official",
        description: str = "",
        again: bool = False,
    ) -> Json:
        """Send a zip or a tar with a folder for each member of a suite; its run in each of their tasks.

        All of it is taken or nothing: raises Rejected with every problem. The same archive sent again under
        the same name makes no second suite run, unless again is true.
        """
        team_id, _ = self._team(team)
        name = name or _name_of(archive)
        key = uuid.uuid4().hex if again else _key(suite, team_id, name, kind, "", _digest(archive))
        file_name = archive.name if isinstance(archive, Path) else ""
        query = {"team": team_id, "kind": kind, "description": description, "file_name": file_name}
        headers = {"Idempotency-Key": key}
        path = f"/suites/{suite}/archives/{name}"
        try:
            return _object(self._transport.ask("PUT", path, query=query, file=archive, headers=headers))
        except Refused as error:
            if error.problems:
                raise Rejected(error.message, error.remedy, error.facts) from None
            raise

    def describe(
        self, run_id: int, description: str | None = None, facts: Mapping[str, str] | None = None
    ) -> Json:
        """Say of a run what is given; the rest stays."""
        body: Json = {"facts": dict(facts or {})}
        if description is not None:
            body["description"] = description
        return _object(self.ask("PATCH", f"/runs/{run_id}", body))

    def choose(self, run_id: int, chosen: bool = True) -> Json:
        """Say whether a run counts at the end."""
        return _object(self.ask("POST", f"/runs/{run_id}/choose", {"chosen": chosen}))

    def withdraw(self, run_id: int, why: str) -> Json:
        """Take a run off the board."""
        return _object(self.ask("POST", f"/runs/{run_id}/withdraw", {"why": why}))

    def restore(self, run_id: int) -> Json:
        """Put a withdrawn run back."""
        return _object(self.ask("POST", f"/runs/{run_id}/restore"))

    def download(self, path: str, **query: Any) -> Iterator[bytes]:
        """A file that an operation answers with, piece by piece."""
        return self._transport.pieces(path, **query)

    def rows(self, path: str, **query: Any) -> Iterator[Json]:
        """All rows of a list, part by part, such as of `/tasks/TASK/topics`."""
        return self._parts(path, "rows", **query)

    def _parts(self, path: str, key: str, **query: Any) -> Iterator[Json]:
        """What the parts of a list have under a key; a site of an earlier version has all in one part."""
        cursor: str | None = None
        while True:
            answer = _object(self.ask("GET", path, query={**query, "cursor": cursor}))
            yield from answer[key]
            cursor = answer.get("next")
            if cursor is None:
                return

    def begin_login(
        self, label: str, scopes: tuple[str, ...] = ("read", "submit"), kind: str = "personal"
    ) -> Json:
        """Begin a login by a short code, which is to be typed at address; kind: personal or agent."""
        asked: Json = {"label": label, "scopes": list(scopes)}
        # Sites of earlier versions know one kind only.
        asked |= {} if kind == "personal" else {"kind": kind}
        return _object(self.ask("POST", "/device/codes", asked))

    def use(self, token: str) -> None:
        """Ask by another token from now on."""
        self._transport.token, self._teams = token, {}

    def wait_for_login(self, begun: Json) -> str:
        """The token, once its owner has answered; raises NotAllowed for a no or no answer."""
        until = time.monotonic() + begun["expires_in_s"]
        while time.monotonic() < until:
            said = _object(self.ask("POST", "/device/token", {"device_code": begun["device_code"]}))
            if said["state"] == "done":
                return str(said["token"])
            if said["state"] not in ("authorization_pending", "slow_down"):
                break
            self._sleep(begun["interval_s"])
        raise NotAllowed("The login was refused or timed out.", "Log in again.")

    def _send(
        self,
        named: tuple[str, str],
        content: Path | bytes,
        query: Json,
        known: tuple[str, str],
        progress: Progress | None,
    ) -> Json:
        """The upload that the site made from a file; raises Rejected.

        named: task and run. known: the key under which it is done once, and the file's digest.
        """
        (task, name), (key, sha256) = named, known
        said = {**query, "file_name": content.name if isinstance(content, Path) else ""}
        try:
            if isinstance(content, Path) and content.stat().st_size >= pieces.FROM_BYTES:
                texts = {key: str(value) for key, value in {**said, "name": name, "sha256": sha256}.items()}
                return pieces.send(self._transport, task, content, texts, progress, self._sleep)
            sent = self._transport.ask(
                "PUT",
                f"/tasks/{task}/runs/{name}",
                query=said,
                file=content,
                headers={"Idempotency-Key": key},
                progress=progress,
            )
        except Refused as error:
            if error.problems and "upload" in error.facts:
                raise Rejected(error.message, error.remedy, error.facts) from None
            raise
        return _object(sent)

    def _team(self, wanted: int | str | None) -> tuple[int, str]:
        # Asked for once, and again where a team is not among them: it may have been made since.
        known = {*map(str, self._teams), *self._teams.values()}
        if not known or (wanted is not None and str(wanted) not in known):
            listed = self.account()["teams"]
            self._teams = {int(team["team"]): str(team["name"]) for team in listed}
        teams = self._teams
        if wanted is None and len(teams) == 1:
            return next(iter(teams.items()))
        for team_id, name in teams.items():
            if wanted in (team_id, name) or str(wanted) == str(team_id):
                return team_id, name
        if not teams:
            raise NotAllowed(
                "You are not in a team.",
                "Create a team on the site, or ask a team captain for an invitation link.",
            )
        names = ", ".join(f"{name} ({team_id})" for team_id, name in teams.items())
        if wanted is None:
            raise Refused(f"You are in several teams: {names}.", "Name the team that submits the run.")
        raise NotFound(f"You are not in team {wanted!r}. Your teams are {names}.", "Name one of these.")

    def _checked(self, upload: Json, until: float) -> Json:
        """The upload when its check is done; raises Rejected."""
        # Looked for again and again: the site lets few wait within a request, and most checks are short.
        pause = FIRST_LOOK_S
        while upload["state"] == "received" and time.monotonic() < until:
            self._sleep(pause)
            pause = min(2 * pause, LATEST_LOOK_S)
            upload = _object(self.ask("GET", f"/uploads/{upload['upload']}"))
        if upload["state"] == "received":
            raise Unreachable(
                "The site received the file but has not checked it yet.", "Check the site later.", upload
            )
        if upload["state"] not in ("accepted", "held"):
            raise Rejected("The file was rejected.", "Correct the listed problems.", upload)
        return upload

    def _scored(self, run_id: int, until: float) -> Json:
        pause = FIRST_LOOK_S
        while (answer := self.run(run_id))["state"] in ON_ITS_WAY and time.monotonic() < until:
            self._sleep(pause)
            pause = min(2 * pause, LATEST_LOOK_S)
        return answer


def _object(answer: Any) -> Json:
    if not isinstance(answer, dict):
        raise Unreachable("The response is not from the API of a leaderboard.", "Check the address.")
    return answer


def _content(run: Any, tag: str) -> Path | bytes:
    if isinstance(run, bytes):
        return run
    if isinstance(run, (str, os.PathLike)):
        path = Path(run)
        if not path.is_file():
            raise Refused(f"There is no file {path}.", "Check its name.")
        return path
    return written(run, tag)


def _name_of(run: Any) -> str:
    if not isinstance(run, (str, os.PathLike)):
        raise Refused("A run that is not a file needs a name.", "Pass one with name=...")
    path = Path(run)
    return named(precheck.tag(path) if path.is_file() else "", path)


def named(tag: str, path: Path) -> str:
    """A run's name made from its tag or, without one, of its file's name, as the site makes it.

    >>> named("", Path("runs/bm25.run.gz")), named("BM25+RM3", Path("1.run"))
    ('bm25', 'BM25-RM3')
    """
    name = tag or path.name
    while any(name.lower().endswith(ending) for ending in ENDINGS):
        name = name[: name.rindex(".")]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:64] or "run"


def _digest(content: Path | bytes) -> str:
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    digest = hashlib.sha256()
    with content.open("rb") as file:
        while piece := file.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _key(*parts: Any) -> str:
    """The same for the same file under the same name, so that a command that died can be given again."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:32]

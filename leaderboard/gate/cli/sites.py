"""A baseline and its judgments from a site, by the client of its API."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from leaderboard_submit import Client, ClientError, NotFound, Refused, logins

from leaderboard.errors import Invalid


@dataclass(frozen=True, slots=True)
class SiteFiles:
    """Fetched files: the baseline under its name, and the judgments unless they were given."""

    name: str
    run: Path
    qrels: Path | None
    left_out: tuple[Path, ...]


def fetch(url: str, task: str, baseline: str, folder: Path, *, with_qrels: bool) -> SiteFiles:
    """Fetch a run, by its name or number, and the newest judgments of its task, into a folder.

    The token is that of the client: LEADERBOARD_TOKEN, or the one that it keeps for the site. Raises Invalid
    with what the site says.
    """
    try:
        client = Client(url, logins.token(url.rstrip("/")))
        run_id, name = _run(client, task, baseline)
        run = _written(folder / "baseline.run", client.download(f"/runs/{run_id}/file"))
        if not with_qrels:
            return SiteFiles(name, run, None, ())
        return SiteFiles(name, run, *_judgments(client, task, folder))
    except ClientError as error:
        raise Invalid(f"{error.message} {error.remedy}".rstrip()) from error


def _run(client: Client, task: str, baseline: str) -> tuple[int, str]:
    """The number and the name of a run of the task."""
    if baseline.isdecimal():
        answer = client.run(int(baseline))
        if answer["task"] != task:
            raise Invalid(f"Run {baseline} is of the task {answer['task']}, not {task}.")
        return int(baseline), str(answer["run"])
    rows = client.rows(f"/tasks/{task}/runs", search=baseline)
    runs = [row for row in rows if row["run"] == baseline]
    if not runs:
        raise Invalid(f"{task} has no run {baseline!r}; use the name or number of a run on its board.")
    if len(runs) > 1:
        numbers = ", ".join(f"{row['run_id']} ({row['team']})" for row in runs)
        raise Invalid(f"{task} has several runs {baseline!r}; use the number of one: {numbers}.")
    return int(runs[0]["run_id"]), baseline


def _judgments(client: Client, task: str, folder: Path) -> tuple[Path, tuple[Path, ...]]:
    """The newest revision of the judgments, and the documents that it leaves out."""
    numbers = [int(row["revision"]) for row in client.rows(f"/tasks/{task}/revisions")]
    if not numbers:
        raise Invalid(f"{task} has no judgments that you can see; provide them with --qrels.")
    address = f"/tasks/{task}/revisions/{max(numbers)}/file"
    qrels = _written(folder / "qrels.txt", client.download(address, part="qrels"))
    if _part(client, address, "distractors"):
        raise Invalid(f"The judgments of {task} have distractors, which only its site can score.")
    left_out = _part(client, address, "left_out")
    return qrels, (_written(folder / "left-out.txt", [left_out]),) if left_out else ()


def _part(client: Client, address: str, part: str) -> bytes:
    """A list next to the judgments; empty where the revision has none."""
    try:
        return b"".join(client.download(address, part=part))
    except (NotFound, Refused):
        return b""


def _written(path: Path, pieces: Iterable[bytes]) -> Path:
    with path.open("wb") as file:
        file.writelines(pieces)
    return path

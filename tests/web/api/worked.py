"""A worker on another machine, without a network: claims a job, computes it and hands it in."""

import threading
from typing import Any

from leaderboard import __version__
from leaderboard.errors import Forbidden
from leaderboard.remote import computing
from leaderboard.remote.site import HeldJob, Site
from tests.web.api.conftest import Program


def claim(worker: Program) -> dict[str, Any]:
    """What a worker is told that asks for a job."""
    return dict(worker.ask("POST", "/worker/claim", json={"version": __version__}).json)


def compute(worker: Program, job: dict[str, Any]) -> bytes:
    """What a worker computes for a job that it holds; raises Forbidden where the site refuses something."""

    class Asked(Site):
        """The site without a network."""

        def __init__(self) -> None:
            return

        def ask(self, method: str, path: str, body: Any = None, **query: int) -> bytes:
            answer = worker.ask(method, f"/worker{path}", query_string=query)
            if answer.status_code != 200:
                raise Forbidden(answer.json["detail"])
            return bytes(answer.data)

    held = HeldJob(job["job"], job["run"], job["fence"], job["lease_s"])
    return computing.computed(Asked(), held, threading.Event())


def hand_in(worker: Program, job: dict[str, Any], result: bytes) -> tuple[int, str]:
    """The status of the answer to a result, and what problem it names."""
    answer = worker.ask("PUT", f"/worker/jobs/{job['job']}/result?fence={job['fence']}", data=result)
    return answer.status_code, answer.json.get("type", "").rpartition("/")[2]

"""Clients that send runs to a real site and repeat each until it is answered."""

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path

from leaderboard.accounts.ops import accounts, sessions, teams
from leaderboard.core.policy import Viewer
from leaderboard.db import schema
from leaderboard.db.engine import Database
from tests.make import build

TIMEOUT_S = 120
PAUSE_S, REFUSED_S = 0.1, 1.0
"""Before what was not answered, or was refused, is sent again."""


class Sender(threading.Thread):
    """Sends `count` runs one after the other, each until it is answered, or until it is told to stop."""

    def __init__(self, address: str, cookie: str, team_id: int, number: int, count: int) -> None:
        super().__init__(daemon=True)
        self.address, self.cookie, self.team_id, self.number = address, cookie, team_id, number
        self.names = [f"run-{number}-{place}" for place in range(count)]
        self.accepted: dict[str, int | None] = {}
        self.refused: list[tuple[int, str]] = []
        """(status, text) of every answer that was not yes."""
        self.stop = threading.Event()

    def run(self) -> None:
        """Send every run."""
        for name in self.names:
            while name not in self.accepted and not self.stop.is_set():
                self._try(name)

    def _try(self, name: str) -> None:
        try:
            status, text = self._send(name)
        except (OSError, HTTPException):
            # The server was killed under the request: what a client does then is send it again.
            self.stop.wait(PAUSE_S)
            return
        if status == 201:
            self.accepted[name] = json.loads(text)["run"]
        else:
            self.refused.append((status, text[:200]))
            self.stop.wait(REFUSED_S)

    def _send(self, name: str) -> tuple[int, str]:
        request = urllib.request.Request(
            f"{self.address}/tasks/t/submit",
            data=_form({"key": f"key-{name}", "team": str(self.team_id), "name": name}, name),
            headers={
                "Content-Type": "multipart/form-data; boundary=edge",
                "Cookie": f"session={self.cookie}",
                "Sec-Fetch-Site": "same-origin",
                "Accept": "application/json",
            },
        )
        return answered(request)


def answered(request: urllib.request.Request | str) -> tuple[int, str]:
    """Status and text of an answer, whatever the status; raises OSError where there is none."""
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def sending_site(url: str, folder: Path, measures: tuple[str, ...]) -> tuple[Database, str, int]:
    """The database of a site with a task `t`, and who sends runs to it: session cookie and team."""
    database = Database(url)
    schema.upgrade(database)
    build.task(database, folder, measures=measures)
    with database.write() as session:
        account_id = accounts.create(session, "Sender")
        team_id = teams.create(session, Viewer(account_id=account_id, name="Sender"), "Senders")
        cookie = sessions.start(session, account_id, "127.0.0.1", "test")
    return database, cookie, team_id


def _form(fields: Mapping[str, str], name: str) -> bytes:
    number = int(name.rsplit("-", 1)[1])
    run = "".join(
        f"{topic} Q0 d{number}-{rank} {rank} {9 - rank} tag\n" for topic in "123" for rank in range(1, 6)
    )
    parts = [
        f'--edge\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'
        for key, value in fields.items()
    ]
    head = f'--edge\r\nContent-Disposition: form-data; name="file"; filename="{name}.txt"\r\n\r\n'
    file = f"{head}{run}\r\n--edge--\r\n"
    return ("".join(parts) + file).encode()

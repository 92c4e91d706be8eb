"""A large file in pieces, as tus 1.0.0 has it: what a cut took away is sent again, and nothing else."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

from leaderboard_submit.errors import NotFound, Refused, Unreachable
from leaderboard_submit.transport import Progress, Transport

Json = dict[str, Any]
FROM_BYTES = 32 * 2**20
"""Files from this size on go in pieces."""
PIECE_BYTES = 8 * 2**20
"""What a cut costs at most."""
TRIES = 8
"""Pieces in a row of which nothing came before it is given up."""
LONGEST_PAUSE_S = 30.0
HEADERS = {"Tus-Resumable": "1.0.0"}
PIECE = {**HEADERS, "Content-Type": "application/offset+octet-stream"}


def send(
    transport: Transport,
    task: str,
    path: Path,
    said: dict[str, str],
    progress: Progress | None,
    sleep: Callable[[float], None],
) -> Json:
    """The upload that the site made from the file; goes on with one of the same run that was begun before.

    said: team and name, and where requested kind, phase, description, file_name and sha256. Raises as
    `Transport.ask` does, and Unreachable where nothing comes through again and again.
    """
    length = path.stat().st_size
    begun = _begun(transport, task, said, length) or _begin(transport, task, said, length)
    address, failures = f"/tasks/{task}/uploads/{begun['id']}", 0
    with path.open("rb") as file:
        while begun["upload"] is None:
            offset = int(begun["offset"])
            file.seek(offset)
            headers = {**PIECE, "Upload-Offset": str(offset)}
            try:
                transport.ask("PATCH", address, file=file.read(PIECE_BYTES), headers=headers)
            except Unreachable:
                failures += 1
                if failures == TRIES:
                    raise
                sleep(min(0.5 * 2**failures, LONGEST_PAUSE_S))
            except Refused as error:
                # Another offset than we thought is said by 409; whatever else it is stands in the answer.
                failures += 1
                if error.facts.get("status") != 409 or failures == TRIES:
                    raise
            before, begun = offset, transport.ask("GET", address, headers=HEADERS)
            failures = 0 if begun["offset"] > before else failures
            if progress is not None:
                progress(int(begun["offset"]), length)
    upload: Json = transport.ask("GET", f"/uploads/{begun['upload']}")
    return upload


def _begun(transport: Transport, task: str, said: dict[str, str], length: int) -> Json | None:
    """What was begun of this run and is not over; of another file its digest tells at the end."""
    try:
        listed = transport.ask("GET", f"/tasks/{task}/uploads")["uploads"]
    except NotFound:
        return None
    mine = {"run": said["name"], "length": length, "upload": None, "team": int(said["team"])}
    return next((one for one in listed if {key: one.get(key) for key in mine} == mine), None)


def _begin(transport: Transport, task: str, said: dict[str, str], length: int) -> Json:
    pairs = (f"{key} {base64.b64encode(text.encode()).decode()}" for key, text in said.items() if text)
    headers = {**HEADERS, "Upload-Length": str(length), "Upload-Metadata": ",".join(pairs)}
    begun: Json = transport.ask("POST", f"/tasks/{task}/uploads", headers=headers)
    return begun

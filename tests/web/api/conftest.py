"""Programs that ask the API of a filled site."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from leaderboard import reference
from leaderboard.accounts.ops import tokens
from leaderboard.accounts.ops.tokens import TokenRequest
from leaderboard.core.policy import viewer_of
from leaderboard.web.api.operations import Operation
from tests.web.conftest import Site

Headers = dict[str, str]


@dataclass(frozen=True)
class Program:
    """A program with a token, or without one."""

    client: FlaskClient
    secret: str = ""

    def ask(self, method: str, path: str, headers: Headers | None = None, **options: Any) -> TestResponse:
        """The answer to a request below /api/v1."""
        given = {"Authorization": f"Bearer {self.secret}"} if self.secret else {}
        sent = {**given, **(headers or {})}
        return self.client.open(f"/api/v1{path}", method=method, headers=sent, **options)


Programs = Callable[..., Program]


def path_of(one: Operation, site: Site) -> str:
    """The operation's path with objects that there are; of what the site has none, with the first id."""
    values = {
        **{"slug": "robots", "run_id": site.world.run, "upload_id": site.world.accepted},
        **{"team_id": site.world.owls, "name": "x", "topic_id": "1", "token": "nonsense", "item": "nothing"},
        **{"message": "x", "suite": "both", "kind": "logo"},
    }
    return re.sub(r"{(\w+)}", lambda known: str(values.get(known[1], 1)), reference.address(one))


@pytest.fixture
def program(site: Site) -> Programs:
    """`program(name, scopes...)`: one with a new token of that account; without a name, without a token."""

    def made(name: str | None = None, *scopes: str, **bound: Any) -> Program:
        client = site.app.test_client()
        if name is None:
            return Program(client)
        account_id = getattr(site.world, name.lower())
        with site.database.write() as session:
            owner = viewer_of(session, account_id, name, name == "Olga")
            wanted = TokenRequest(label="test", scopes=scopes or ("read", "submit"), **bound)
            secret = tokens.make(session, owner, wanted, factor_needed=False).secret
        return Program(client, secret)

    return made

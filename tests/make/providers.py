"""A provider of OpenID Connect on this machine: real keys, real HTTP, and faults on demand."""

import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from flask import Flask, Response, jsonify, request
from joserfc import jwt
from joserfc.jwk import ECKey
from werkzeug.serving import make_server

CLIENT, SECRET = "leaderboard", "provider's secret"


@dataclass
class LocalProvider:
    """What it says of whoever asks next; `claims`, `signs_with` and `algorithm` replace what is right."""

    issuer: str = ""
    subject: str = "anna-1"
    key: Any = field(default_factory=lambda: ECKey.generate_key("P-256", {"kid": "one"}))
    signs_with: Any = None
    algorithm: str = "ES256"
    claims: dict[str, Any] = field(default_factory=dict)
    asked: dict[str, str] = field(default_factory=dict)

    def answer(self, address: str) -> str:
        """Where the browser goes back to, once its user has agreed: the path with code and state."""
        asked = {key: values[0] for key, values in parse_qs(urlsplit(address).query).items()}
        assert asked["client_id"] == CLIENT
        assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
        self.asked = asked
        back = {"code": "the-code", "state": asked["state"], "iss": self.issuer}
        return f"{urlsplit(asked['redirect_uri']).path}?{urlencode(back)}"

    def token(self) -> Response:
        """The answer to the site's own request: refused unless code, verifier and secret are right."""
        challenge = urlsafe_b64encode(sha256(request.form.get("code_verifier", "").encode()).digest())
        right = (
            request.form.get("code") == "the-code"
            and challenge.decode().rstrip("=") == self.asked["code_challenge"]
            and request.form.get("redirect_uri") == self.asked["redirect_uri"]
            and request.authorization is not None
            and (request.authorization.username, request.authorization.password) == (CLIENT, SECRET)
        )
        if not right:
            return Response('{"error": "invalid_grant"}', 400, mimetype="application/json")
        at = int(time.time())
        claims = {"iss": self.issuer, "sub": self.subject, "aud": CLIENT, "iat": at, "exp": at + 60}
        claims |= {"nonce": self.asked["nonce"], "email": "anna@example.org", **self.claims}
        return jsonify({"access_token": "access", "token_type": "Bearer", "id_token": self._signed(claims)})

    def _signed(self, claims: dict[str, Any]) -> str:
        if self.algorithm == "none":
            parts = (json.dumps(part).encode() for part in ({"alg": "none"}, claims))
            return ".".join(urlsafe_b64encode(part).decode().rstrip("=") for part in parts) + "."
        header = {"alg": self.algorithm, "kid": "one"}
        return jwt.encode(header, claims, self.signs_with or self.key, algorithms=[self.algorithm])

    def file(self, folder: Path) -> str:
        """A file of providers that names this one."""
        path = folder / "openid.toml"
        values = {"name": "Local", "issuer": self.issuer, "client_id": CLIENT, "client_secret": SECRET}
        path.write_text("[local]\n" + "".join(f'{key} = "{value}"\n' for key, value in values.items()))
        return str(path)


@contextmanager
def running() -> Iterator[LocalProvider]:
    """A provider that answers until the block ends."""
    provider, app = LocalProvider(), Flask("provider")
    server = make_server("127.0.0.1", 0, app)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    known = {
        "issuer": provider.issuer,
        "authorization_endpoint": f"{provider.issuer}/authorise",
        "token_endpoint": f"{provider.issuer}/token",
        "jwks_uri": f"{provider.issuer}/keys",
    }
    app.add_url_rule("/.well-known/openid-configuration", "known", lambda: known)
    app.add_url_rule("/keys", "keys", lambda: {"keys": [provider.key.as_dict(private=False)]})
    app.add_url_rule("/token", "token", provider.token, methods=["POST"])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield provider
    server.shutdown()
    thread.join()
    server.server_close()

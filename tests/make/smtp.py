"""A real mail server in a thread of the test's own, that answers as it is told."""

from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP

from leaderboard.settings import Settings

SENDER = "board@example.org"


class Post:
    """What a mail server was handed; `answers` are its next words to an address, then it takes all."""

    def __init__(self) -> None:
        self.letters: list[EmailMessage] = []
        self.raw: list[bytes] = []
        self.receivers: list[str] = []
        self.answers: list[str] = []
        self.data_answers: list[str] = []

    async def handle_RCPT(
        self, server: SMTP, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        """Refuse the address in the next words there are, else take it."""
        if self.answers:
            return self.answers.pop(0)
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Any, envelope: Any) -> str:
        """Keep the letter."""
        if self.data_answers:
            return self.data_answers.pop(0)
        self.raw.append(envelope.content)
        self.letters.append(message_from_bytes(envelope.content, policy=policy.default))  # type: ignore[arg-type]
        self.receivers += envelope.rcpt_tos
        return "250 2.0.0 taken"


class _OnAnyPort(Controller):
    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


@contextmanager
def server() -> Iterator[tuple[Post, str]]:
    """A mail server, and its address as a setting."""
    post = Post()
    controller = _OnAnyPort(post, hostname="127.0.0.1", port=0)
    controller.start()
    try:
        yield post, f"smtp://127.0.0.1:{controller.port}"
    finally:
        controller.stop()


def settings_of(url: str, **more: Any) -> Settings:
    """Settings that send mail there."""
    return Settings(smtp_url=url, mail_from=SENDER, **more)

"""`leaderboard mail`: whether the configured mail server accepts mail."""

import click

from leaderboard.errors import Invalid
from leaderboard.settings import Settings

TEXT = "This is a test message. Mail from this leaderboard reaches you.\n"


@click.group()
def mail() -> None:
    """Test the mail server."""


@mail.command()
@click.argument("address")
def test(address: str) -> None:
    """Send a test message to ADDRESS and print the server's response; exit code 1 if it was refused."""
    from datetime import UTC, datetime

    from leaderboard.core.jobs.queue import SENT
    from leaderboard.notify.ops import mail as mail_services
    from leaderboard.notify.ops.mail import is_address

    server = mail_services.server_of(Settings.from_env())
    if server is None:
        raise click.ClickException("LEADERBOARD_SMTP_URL is not set, so this site does not send mail.")
    if not is_address(address):
        raise Invalid(f"{address!r} is not a mail address.")
    letter = mail_services.Letter(
        number=0,
        written_at=datetime.now(UTC),
        to=address,
        subject="Test message from this leaderboard",
        body=TEXT,
    )
    result = mail_services.send_mail(server, letter)
    message = f"{server.host}:{server.port} answered: {result.response}"
    if result.state != SENT:
        raise click.ClickException(message)
    click.echo(message)

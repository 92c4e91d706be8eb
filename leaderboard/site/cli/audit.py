"""`leaderboard audit`: list and verify the audit log."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click

from leaderboard.accounts.ops import accounts
from leaderboard.core import audit as record
from leaderboard.core.audit import AuditRow
from leaderboard.core.cli.site import data_option, opened


@click.group()
def audit() -> None:
    """List and verify the audit log."""


@audit.command("list")
@click.option("--account", metavar="NAME", help="Only actions by or on this account.")
@click.option(
    "--action", default="", help="Only this action: a noun (account) or noun and verb (account.sign_in)."
)
@click.option("--since", type=click.DateTime(), help="Only from this time on (UTC).")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@data_option
def show(account: str | None, action: str, since: datetime | None, form: str, data: Path | None) -> None:
    """Print the audit log, oldest first, one action per line (JSON Lines with --format json)."""
    line = _json if form == "json" else _text
    moment = since.replace(tzinfo=UTC) if since else None
    with opened(data) as (database, _), database.read() as session:
        account_id = accounts.find(session, account) if account else None
        for row in record.rows(session, account_id=account_id, action=action, since=moment):
            click.echo(line(row))


@audit.command()
@data_option
def verify(data: Path | None) -> None:
    """Check that no row of the audit log was changed, removed or inserted; exit code 1 if one was."""
    with opened(data) as (database, _), database.read() as session:
        chain = record.verify(session)
    if chain.broken_at is not None:
        raise click.ClickException(
            f"Row {chain.broken_at} does not follow from the {chain.rows} rows before it: the audit log was "
            "changed. Compare it with a backup."
        )
    click.echo(f"{chain.rows} rows checked, no changes found. Last digest: {chain.digest or 'none'}")


def _text(row: AuditRow) -> str:
    # Names come from users: as JSON a line break in one cannot look like another act.
    who = row.account or ("-" if row.account_id is None else f"account:{row.account_id}")
    facts = "\t".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in row.detail.items())
    moment = f"{row.at:%Y-%m-%d %H:%M:%S}"
    return "\t".join(filter(None, (moment, who, row.ip or "-", row.action, row.subject, facts)))


def _json(row: AuditRow) -> str:
    return json.dumps({**asdict(row), "at": row.at.isoformat()}, ensure_ascii=False)

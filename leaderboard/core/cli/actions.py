"""The commands of declared actions: done by the operator, with an option a field."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from leaderboard import fields
from leaderboard.core.actions import Action, Outcome, Received, Sessions
from leaderboard.core.cli.site import FILE, data_option, opened
from leaderboard.core.policy import OPERATOR
from leaderboard.errors import Invalid
from leaderboard.fields import Asked
from leaderboard.settings import Settings

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

    from leaderboard.db.engine import Database

FIELD = "field_"
"""Before the names of what options say: an argument may have the name of a field."""
BY_KEY = "__"
"""Between a field of texts by key and a key, each of which has an option."""


class Acting:
    """Actions that the operator does, all in one transaction; files are read before it begins."""

    def __init__(self, database: "Database", settings: Settings, folder: Path, stack: ExitStack) -> None:
        self._database, self._settings, self._stack = database, settings, stack
        self._held: Session | None = None
        self._sessions = Sessions(self.reading, self.writing, lambda: folder)

    def __call__(
        self,
        action: Action,
        values: Mapping[str, Any] | None = None,
        files: Mapping[str, Path | None] = MappingProxyType({}),
        **at: Any,
    ) -> Outcome:
        """What was done; fields that are not given keep their values in an existing record.

        values: of the record's fields; files: field -> path, None for none; at: what the placeholders name.
        """
        received = {field: Received(path, path.name) for field, path in files.items() if path is not None}
        if action.now is not None:
            with self.reading() as session:
                now = fields.values(action.now(session, OPERATOR, *at.values()))
            values = now | dict(values or {})
        return action.do(self._sessions, OPERATOR, at, values, self._settings, received)

    @contextmanager
    def reading(self) -> Iterator["Session"]:
        """A session that sees what was done so far."""
        if self._held is not None:
            yield self._held
        else:
            with self._database.read() as session:
                yield session

    @contextmanager
    def writing(self) -> Iterator["Session"]:
        """The transaction, for what only commands do, such as making the team of a run."""
        if self._held is None:
            self._held = self._stack.enter_context(self._database.write())
        yield self._held


@contextmanager
def acting(data: Path | None) -> Iterator[Acting]:
    """How a command does one or several actions: all of them, or none if one is refused."""
    with opened(data) as (database, settings), TemporaryDirectory() as folder, ExitStack() as stack:
        yield Acting(database, settings, Path(folder), stack)


def command(
    action: Action,
    *,
    say: Callable[..., str] | None = None,
    asks: Callable[..., str] | None = None,
    back: Action | None = None,
    takes: str = "",
) -> click.Command:
    """The command of an action; fields that are not given keep their values in an existing record.

    say: what is printed if not what was done, if that has words, of the outcome and the names of what it was
    done to; asks: what has to be confirmed first unless `--yes` says so, of these names. back: the action
    that takes this one back, with `--back`. takes: what the file may be, where it is an option.
    """

    def run(
        data: Path | None, yes: bool = False, is_back: bool = False, file: Path | None = None, **given: Any
    ) -> None:
        act = back if back is not None and is_back else action
        at = {name: given[name] for name in action.placeholders}
        if asks is not None and not yes:
            click.confirm(asks(**at), abort=True)
        values = chosen(action.record, given) if action.record else None
        if action.now is not None and not values:
            raise click.UsageError("Give at least one setting to change; --help lists them.")
        with acting(data) as do:
            outcome = do(act, values, {action.file.field: file} if action.file else {}, **at)
            with do.reading() as session:
                warning = action.warning(session, OPERATOR, *at.values()) if action.warning else ""
        usual = f"{at['slug']}: {outcome.done}." if "slug" in at else f"{outcome.done}."
        if say is not None or outcome.done:
            click.echo(usual if say is None else say(outcome, **at))
        if warning:
            click.echo(warning, err=True)

    decorated = data_option(run)
    if back:
        decorated = click.option("--back", "is_back", is_flag=True, help=f"{back.summary}.")(decorated)
    if asks:
        decorated = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")(decorated)
    if action.record is not None:
        decorated = options(action.record, has_more=action.now is not None)(decorated)
    if action.file is not None:
        option = click.option(f"--{action.file.field}", "file", type=FILE, help=takes)
        decorated = (option if takes else click.argument("file", type=FILE))(decorated)
    for name in reversed(action.placeholders):
        is_number = f"<id:{name}>" in (action.path or action.form)
        decorated = click.argument(name, type=int if is_number else str)(decorated)
    more = (
        action.more if action.now is None else "Omitted settings keep their values; at least one is required."
    )
    name = action.command or action.name.partition("_")[0]
    asked = fields.of(action.record) if action.record else ()
    keyed = next((each.about for each in asked if each.kind == "keyed" and each.about.choices), None)
    keys = [f"  {key}: {title}" for key, title in keyed.choices.items()] if keyed else []
    epilog = "\n".join(["\b", f"{keyed.title}:", *keys]) if keyed else None
    return click.command(name, help=f"{action.summary}. {more}".strip(), epilog=epilog)(decorated)


def options(
    record: type, *, without: Collection[str] = (), has_more: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorator that gives a command the arguments and options of a record's fields.

    without: fields that the command asks for by itself; has_more: other values come from elsewhere.
    """

    def decorate(run: Callable[..., None]) -> Callable[..., None]:
        for each in reversed(_flat(record)):
            if each.name not in without:
                run = _parameter(each, has_more=has_more)(run)
        return run

    return decorate


def _flat(record: type) -> list[Asked]:
    flat: list[Asked] = []
    for each in fields.of(record):
        is_hidden = each.about.is_carried or each.about.is_of_api
        if each.kind == "record":
            flat += _flat(each.type)
        elif each.about.each:
            flat += [
                Asked(f"{each.name}{BY_KEY}{key}", "keyed", about, str, "")
                for key, about in each.about.each.items()
            ]
        elif not is_hidden and (each.kind != "keyed" or each.about.is_argument):
            flat.append(each)
    return flat


def _parameter(each: Asked, *, has_more: bool) -> Any:
    """The argument or option of a field; has_more: other values come from elsewhere."""
    about, name = each.about, f"{FIELD}{each.name}"
    if each.kind == "keyed" and about.is_argument:
        return click.argument(name, metavar="KEY=VALUE...", nargs=-1, required=True, callback=_pairs)
    if about.is_argument and not has_more:
        return click.argument(name, metavar=each.name.upper(), type=int if each.kind == "number" else str)
    option = f"--{about.option or each.name.replace('_', '-')}"
    is_named = about.title.lower().rstrip("s") in about.help.lower()
    help = about.help if is_named else f"{about.title.rstrip('.')}. {about.help}".rstrip()
    if not has_more and not isinstance(each.default, bool) and isinstance(each.default, str | int):
        help = f"{help} [{each.default}]" if each.default else help
    # An empty text by key removes it.
    blank = [""] if each.kind == "keyed" else []
    choices = click.Choice([*blank, *filter(None, about.choices)]) if about.choices else None
    if each.kind == "tick":
        return click.option(option, name, is_flag=True, default=None, help=help)
    if each.kind in ("ticks", "texts"):
        return click.option(option, name, type=choices, multiple=True, help=help)
    types = {"number": click.INT, "decimal": click.FLOAT}
    kind = types.get(each.kind, None if about.otherwise else choices)
    return click.option(option, name, type=kind, help=help, required=each.is_required and not has_more)


def _pairs(_: object, __: object, texts: tuple[str, ...]) -> dict[str, str]:
    """Key -> value; that of KEY=@FILE is what the file holds."""
    return dict(map(_pair, texts))


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"Write {text!r} as KEY=VALUE.")
    if value.startswith("@"):
        path = Path(value[1:])
        if not path.is_file():
            raise click.UsageError(f"There is no file {path}.")
        try:
            return key, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise Invalid(f"{path} is not UTF-8 text.") from None
    return key, value


def chosen(record: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a record's fields that `options` gave a command.

    One that is not among a field's choices belongs to another field.
    """
    values = {
        key.removeprefix(FIELD): value
        for key, value in given.items()
        if key.startswith(FIELD) and value not in (None, ())
    }
    for each in _flat(record):
        if each.about.otherwise and values.get(each.name, "") not in ("", *each.about.choices):
            choice, field = each.about.otherwise
            values |= {field: values[each.name], each.name: choice}
        elif BY_KEY in each.name and each.name in values:
            name, _, key = each.name.partition(BY_KEY)
            values[name] = values.get(name, {}) | {key: values.pop(each.name)}
    return values

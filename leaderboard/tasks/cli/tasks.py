"""`leaderboard task`: tasks made and listed from the command line."""

from pathlib import Path
from typing import Any

import click

from leaderboard import zones
from leaderboard.boards.ops import board
from leaderboard.core.cli import actions
from leaderboard.core.cli.kinds import mapping_option, tell_notes
from leaderboard.core.cli.site import FILE, data_option, opened
from leaderboard.core.kinds import KINDS, RANKINGS
from leaderboard.core.picture_kinds import LOGO, PICTURE, PictureKind
from leaderboard.core.policy import OPERATOR
from leaderboard.errors import Invalid
from leaderboard.scoring.ops import scored_topics
from leaderboard.tasks.cli import settings
from leaderboard.tasks.cli.phases import phase
from leaderboard.tasks.ops import drafts, roles
from leaderboard.tasks.ops import settings as tasks_settings
from leaderboard.tasks.ops.drafts import TaskDraft, TaskForm
from leaderboard.tasks.ops.pictures import pictures, prepare
from leaderboard.tasks.ops.pictures.pictures import PictureChange, PictureText
from leaderboard.tasks.ops.pseudonyms import pseudonyms as drawing
from leaderboard.tasks.ops.pseudonyms.pseudonyms import TITLES, UNTIL, Naming
from leaderboard.tasks.ops.settings import COMPARISONS
from leaderboard.tasks.page import landing, naming
from leaderboard.tasks.page import settings as pages
from leaderboard.tasks.page.landing import TaskOverview
from leaderboard.tasks.page.members import groups_page


def _command(kind: PictureKind, about: str) -> click.Command:
    @click.command(kind.name, help=about)
    @click.argument("slug")
    @click.argument("file", type=FILE, required=False)
    @click.option(
        "--alt",
        default="",
        help="Alternative text, for screen readers.  [required with FILE; without FILE it replaces the text]",
    )
    @click.option("--remove", is_flag=True, help="Remove it.  [this, FILE or --alt is required]")
    @click.option("--reason", default="", help="Reason; shown to participants of a published task.")
    @data_option
    def command(slug: str, file: Path | None, alt: str, remove: bool, reason: str, data: Path | None) -> None:
        if remove == bool(file or alt):
            raise click.UsageError("Give FILE, --alt or both, or only --remove.")
        with opened(data) as (database, _):
            prepared = prepare.prepare(file, kind) if file else None
            with database.write() as session:
                if remove:
                    pictures.remove(session, OPERATOR, slug, kind.name, PictureChange(reason=reason))
                    message = f"{slug} no longer has a {kind.name}."
                else:
                    text = PictureText(alt=alt, reason=reason)
                    picture = pictures.put(session, OPERATOR, slug, kind.name, prepared, text)
                    size = f"{picture.width} x {picture.height} pixels"
                    message = f"{slug} has a {kind.name} of {size}: {picture.alt}"
            click.echo(message)

    return command


COMMANDS = (
    _command(LOGO, "Set a task's logo, shown small on its pages and on the front page."),
    _command(PICTURE, "Set a task's picture, shown wide on its About page."),
)


@click.group()
def task() -> None:
    """Shared tasks."""


task.add_command(phase)
for command in (*settings.COMMANDS, *COMMANDS):
    task.add_command(command)


@task.command()
@actions.options(
    TaskForm, without=("kind", "template", "description", "measures", "links", "agreement", "map")
)
@click.option("--topics", required=True, type=FILE, help="TREC SGML, XML, JSON, or a table.")
@click.option("--qrels", type=FILE, help="Judgments; you can add them later with `qrels add`.")
@click.option("--documents", type=FILE, help="Documents of a new collection named after the task.")
@click.option("--description", type=FILE, help="A Markdown file.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice([*drafts.TEMPLATES, *KINDS]),
    multiple=True,
    help="What participants submit [rankings], or a preset of limits, visibility and counted runs, as in "
    "the browser's form; may be given twice.",
)
@click.option("--organiser", help="Account that organises it in the browser [the only organiser].")
@click.option(
    "-m", "--measure", "measures", multiple=True, help="Measure such as nDCG@10 [chosen from the grades]."
)
@mapping_option("the judgments", "--qrels-map", has_topics=True)
@click.option("--draft", is_flag=True, help="Keep the task a draft, visible only to organisers.")
@data_option
def create(
    topics: Path,
    qrels: Path | None,
    documents: Path | None,
    description: Path | None,
    measures: tuple[str, ...],
    mapping: tuple[str, ...],
    draft: bool,
    organiser: str | None,
    kinds: tuple[str, ...],
    data: Path | None,
    **given: Any,
) -> None:
    """Create and publish a task; prints counts and mismatches."""
    with opened(data) as (database, _):
        task_draft = TaskDraft(
            kind=next((kind for kind in kinds if kind in KINDS), RANKINGS),
            template=next((kind for kind in kinds if kind in drafts.TEMPLATES), drafts.LIVING),
            topics=topics,
            qrels=qrels,
            documents=documents,
            description=description.read_text(encoding="utf-8") if description else "",
            measures=measures,
            map="\n".join(mapping),
            **actions.chosen(TaskForm, given),
        )
        slug = task_draft.slug
        prepared = drafts.prepare(task_draft)
        click.echo(f"Topics: {prepared.topics}")
        tell_notes(prepared.qrels.warnings if prepared.qrels is not None else ())
        with database.write() as session:
            drafts.create(session, OPERATOR, prepared)
            if organiser:
                roles.give(session, OPERATOR, slug, organiser, "organiser")
            else:
                roles.adopt(session, OPERATOR)
            if not draft:
                drafts.publish(session, OPERATOR, slug)
            shown = landing.overview(session, OPERATOR, slug)
            people = pages.people(session, OPERATOR, slug).people
        click.echo("\n".join([*_lines(shown), _organised(slug, [row.name for row in people])]))


def _organised(slug: str, names: list[str]) -> str:
    if names:
        return f"Organised in the browser by: {', '.join(names)}."
    return (
        f"No account organises it in the browser yet; add one with `leaderboard task organiser {slug} "
        "ACCOUNT`."
    )


@task.command()
@click.argument("slug")
@click.argument("method", metavar="METHOD")
@data_option
def comparison(slug: str, method: str, data: Path | None) -> None:
    """Choose how a task's board compares runs.

    METHOD is test+correction (t, wilcoxon, sign or randomisation with holm, bonferroni or bh), tukey or
    randomised_tukey.
    """
    with opened(data) as (database, _):
        with database.write() as session:
            tasks_settings.change_settings(session, OPERATOR, slug, {"comparison": method})
        click.echo(f"{slug} compares runs by: {COMPARISONS[method]}.")


@task.command("score-judged")
@click.argument("slug")
@click.option("--all", "count_all", is_flag=True, help="Include all topics again.")
@data_option
def score_judged(slug: str, count_all: bool, data: Path | None) -> None:
    """Require and score only the topics that have judgments."""
    with opened(data) as (database, _):
        with database.write() as session:
            if count_all:
                scored_topics.score_all(session, OPERATOR, slug)
                left_out = 0
            else:
                left_out = scored_topics.score_judged(session, OPERATOR, slug)
        click.echo(f"{slug} leaves out {left_out} unjudged topics.")


@task.command()
@click.argument("slug")
@click.option("--like", "kind", type=click.Choice(tuple(TITLES)), default="animals", show_default=True)
@click.option("--until", type=click.Choice(tuple(UNTIL)), default="close", show_default=True)
@click.option("--date", "names_at", default="", help="With --until date: when names are shown, UTC.")
@click.option("--sure", is_flag=True, help="Even if runs were already shown under team names.")
@click.option("--show-names", is_flag=True, help="Show all names again and delete the pseudonyms.")
@data_option
def pseudonyms(
    slug: str, kind: str, until: str, names_at: str, sure: bool, show_names: bool, data: Path | None
) -> None:
    """Assign pseudonyms to a task's teams and print them."""
    at = zones.read(names_at, "UTC", "names_at")
    with opened(data) as (database, _):
        with database.write() as session:
            if show_names:
                drawing.take_back(session, OPERATOR, slug)
            else:
                wanted = Naming(kind=kind, until=until, names_at=at, is_sure=sure)
                drawing.give(session, OPERATOR, slug, wanted)
            teams = naming.naming_page(session, OPERATOR, slug).teams
        for team in teams:
            click.echo(f"{team.pseudonym}\t{team.team}" if team.pseudonym else team.team)


@task.command()
@click.argument("slug")
@click.argument("name")
@click.option("--team", "teams", multiple=True, help="A team of the task, by name; may be repeated.")
@click.option("--run", "runs", multiple=True, type=int, help="A run of the task, by id; may be repeated.")
@data_option
def group(slug: str, name: str, teams: tuple[str, ...], runs: tuple[int, ...], data: Path | None) -> None:
    """Declare a group of teams, or a family of runs, with its own board.

    Significance is tested within a group only if you declare it before the task's first score. Without teams
    and runs, the group is removed.
    """
    with opened(data) as (database, _):
        with database.write() as session:
            known = groups_page(session, OPERATOR, slug)
            if not teams and not runs:
                gone = next((each.id for each in known.groups if each.name == name), 0)
                board.remove_group(session, OPERATOR, slug, gone)
                message = f"{slug} no longer has the group {name}."
            else:
                ids = {team: team_id for team_id, team in known.teams.items()}
                if unknown := [team for team in teams if team not in ids]:
                    raise Invalid(f"{unknown[0]} is not a team of {slug}; its teams are {', '.join(ids)}.")
                chosen = [ids[team] for team in teams]
                made = board.declare_group(session, OPERATOR, slug, name, teams=chosen, runs=runs)
                tested = "tested within" if made.is_early else "declared after the first score: no verdicts"
                message = f"{name}: {len(made.members)} {made.kind}, {tested}."
        click.echo(message)


@task.command("list")
@data_option
def list_(data: Path | None) -> None:
    """List all tasks and drafts."""
    with opened(data) as (database, _), database.read() as session:
        for row in landing.listing(session, OPERATOR):
            state = "published" if row.published_at else "draft"
            click.echo(
                f"{row.slug}\t{row.name}\t{row.visibility}\t{state}\t{row.topics} topics\t{row.runs} runs"
            )


def _lines(shown: TaskOverview) -> list[str]:
    task, state = shown.of, "published" if shown.of.published_at else "a draft"
    lines = [
        f"Task {task.slug} ({task.name}) is {state}.",
        f"Topics: {shown.topics}. Measures: {', '.join(task.measures)}; ranked by {task.primary_measure}.",
    ]
    if shown.revision is None:
        lines.append("No judgments yet: runs wait unranked. Add judgments with `leaderboard qrels add`.")
        return lines
    grades = ", ".join(f"{grade}: {count}" for grade, count in shown.grades.items())
    lines.append(f"Judgments: {shown.judgments} (grade: number; {grades}).")
    lines += [f"How they were read: {note}" for note in shown.read_as]
    for title, ids in (
        ("Topics without judgments", shown.topics_without_judgments),
        ("Judged ids that are not topics", shown.judged_not_topics),
        ("Judged topics without a relevant document", shown.topics_without_relevant),
    ):
        if ids:
            more = f" and {len(ids) - 10} more" if len(ids) > 10 else ""
            lines.append(f"{title}: {len(ids)} ({', '.join(ids[:10])}{more}).")
    return lines

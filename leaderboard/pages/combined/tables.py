"""The tables of a combined board: its runs, and whom the machine favours."""

from typing import Any

from leaderboard.pages.combined import plans
from leaderboard.pages.combined.board import CombinedPage
from leaderboard.pages.combined.favoured import FavouredRuns
from leaderboard.pages.combined.standings import CombinedRow
from leaderboard.stats.combined.bias import VERSION
from leaderboard.tables.record import Column, Files, Place, Table, columns_from


def runs_table(page: CombinedPage) -> Table[CombinedRow]:
    """The ranked runs by people and machine together, by each alone, and how they move."""
    digits = page.column.digits if page.column else None
    key = page.column.key if page.column else ""
    return Table(
        page.name,
        _caption(page, f"Ranked runs by {key}, by people and machine together"),
        columns_from(
            CombinedRow,
            "rank",
            Column("rank_low", lambda row: row.place and row.place.rank_low, shown=Place.DATA),
            Column("rank_high", lambda row: row.place and row.place.rank_high, shown=Place.DATA),
            "name run_id",
            Column("team", lambda row: row.team, "Team", shown=~Place.PAGE),
            Column("score", lambda row: row.score, f"{key}, combined", digits=digits),
            _end("low", "From", digits),
            _end("high", "To", digits),
            Column("verdict", _verdict, "Beats · undecided · beaten by", words=_verdict, shown=Place.PAGE),
            *(_of_place(name) for name in ("beats", "undecided", "beaten_by", "best_set")),
            Column("machine", lambda row: row.machine, "By the machine", digits=digits),
            "machine_rank move",
            Column("people", lambda row: row.people, "By people alone", digits=digits),
            "people_rank outside",
        ),
        page.board.rows if page.board else (),
    )


def teams_table(page: CombinedPage) -> Table[FavouredRuns]:
    """What the machine gives each team's runs beyond what it gives others for documents like theirs."""
    name: Column[FavouredRuns] = Column("team", lambda row: row.name, "Team")
    return _favoured(page, "teams", name, page.board.teams if page.board else ())


def models_table(page: CombinedPage) -> Table[FavouredRuns]:
    """The same of the runs that declare each family of language models, the machine's own among them."""
    name: Column[FavouredRuns] = Column(
        "model",
        lambda row: row.name,
        "Model",
        words=lambda row: f"{row.name}, the judge’s own" if row.is_own else row.name,
    )
    own: Column[FavouredRuns] = Column("is_own", lambda row: row.is_own, shown=Place.DATA)
    return _favoured(page, "models", name, page.board.models if page.board else (), own)


def _favoured(
    page: CombinedPage,
    what: str,
    name: Column[FavouredRuns],
    rows: tuple[FavouredRuns, ...],
    *more: Column[FavouredRuns],
) -> Table[FavouredRuns]:
    digits = page.column.digits if page.column else None
    return Table(
        f"{page.name}-{what}",
        _caption(page, "What the machine gives runs beyond others for documents like theirs"),
        [
            name,
            Column("runs", lambda row: row.runs, "Runs", digits=0),
            Column("favour", lambda row: row.favour.mean, "Favour", digits=digits),
            Column("low", lambda row: row.favour.low, "From", digits=digits),
            Column("high", lambda row: row.favour.high, "To", digits=digits),
            Column("p", lambda row: row.favour.adjusted, "p", digits=4),
            Column(
                "is_favoured",
                lambda row: row.favour.is_favoured,
                "Favoured",
                words=lambda row: "yes" if row.favour.is_favoured else "not found",
            ),
            Column("visible", lambda row: row.favour.visible, "Would show from", digits=digits),
            *more,
        ],
        rows,
    )


def facts(page: CombinedPage) -> dict[str, Any]:
    """The page as plain values at full precision."""
    sample = page.sample
    return {
        "task": page.slug,
        "measure": page.column.key if page.column else None,
        "refused": list(page.refused),
        "sample": None
        if sample is None
        else {
            "pool": sample.number,
            "design": "topics" if sample.is_of_topics else "documents",
            "share": sample.share,
            "seed": sample.seed,
            "revision": sample.revision,
            "revision_sha256": sample.source.revision_sha256,
            "labels_sha256": sample.digest,
            "machine": sample.machine,
            "documents": sample.documents,
            "drawn": sample.drawn,
            "judged": sample.judged,
            "topics": list(sample.source.topics),
            "topics_drawn": sample.topics,
        },
        "runs": runs_table(page).facts(),
        "teams": teams_table(page).facts(),
        "models": models_table(page).facts(),
        "favour_version": VERSION,
        "machine_share": page.board.believed if page.board else None,
        "plan": plans.facts(page.board.plan) if page.board and page.board.plan else None,
    }


FILES = Files(facts=facts, tables={"runs": runs_table, "teams": teams_table, "models": models_table})


def _end(name: str, head: str, digits: int | None) -> Column[CombinedRow]:
    """An end of the interval, which the page writes below the score."""
    return Column(name, lambda row: getattr(row, name), head, digits=digits, shown=~Place.PAGE)


def _of_place(name: str) -> Column[CombinedRow]:
    return Column(name, lambda row: row.place and getattr(row.place, name), shown=Place.DATA)


def _verdict(row: CombinedRow) -> str | None:
    place = row.place
    if place is None:
        return None
    beaten = f"{place.beaten_by}+" if place.beaten_by and not place.named else f"{place.beaten_by}"
    return f"{place.beats} · {place.undecided} · {beaten}"


def _caption(page: CombinedPage, what: str) -> str:
    sample = page.sample
    if sample is None:
        return f"{what} on {page.task}."
    return (
        f"{what} on {page.task}: {sample.finished} topics, sample {sample.number} of the machine’s revision "
        f"{sample.revision}."
    )

"""The catalogue of measures as tables and plain values: the list, and a page for each measure."""

from typing import Any

from leaderboard.measures.catalogue.entries import Entry, MeasurePage, ParameterFacts, Section
from leaderboard.measures.catalogue.examples import Place, Worked
from leaderboard.measures.catalogue.names import TrecForm
from leaderboard.tables.record import Column, Files, Table, columns_from
from leaderboard.tables.record import Place as On

Sections = tuple[Section, ...]


def facts(sections: Sections) -> dict[str, Any]:
    """The list as plain values."""
    return {"measures": [_entry_facts(entry) for section in sections for entry in section.entries]}


def table(sections: Sections) -> Table[Entry]:
    """The list, families one after the other."""
    columns = columns_from(
        Entry,
        "name title family formula direction aggregate",
        Column("needs", lambda row: ", ".join(row.needs), shown=On.DATA),
        Column("aliases", lambda row: ", ".join(row.aliases), shown=On.DATA),
        Column("trec_eval", lambda row: ", ".join(row.trec_names), shown=~On.PRINT),
        "citation version",
    )
    return Table(
        "measures",
        "Measures: which direction is better, how topics are brought together, and the version of "
        "the definition.",
        columns,
        [entry for section in sections for entry in section.entries],
    )


FILES = Files(facts=facts, tables={"measures": table})


def page_facts(page: MeasurePage) -> dict[str, Any]:
    """A measure in full as plain values at full precision."""
    return {
        **_entry_facts(page.entry),
        "definition": list(page.definition),
        "grammar": page.grammar,
        "examples": list(page.examples),
        "parameters": [
            {
                "name": parameter.name,
                "written": parameter.written,
                "text": parameter.text,
                "rule": parameter.rule,
                "default": parameter.default,
            }
            for parameter in page.parameters
        ],
        "range": [page.low, page.high],
        "undefined": page.undefined,
        "note": page.note,
        "example": {"text": page.explanation, "rankings": [_worked_facts(worked) for worked in page.worked]},
    }


def parameters(page: MeasurePage) -> Table[ParameterFacts]:
    """A measure's parameters, with their values in the requested form."""
    columns = columns_from(ParameterFacts, "written text rule default")
    caption = "Parameters."
    if page.written:
        columns.append(Column("value", lambda row: row.value, page.written))
        caption = f"Parameters. The last column has their values in {page.written}."
    return Table("parameters", caption, columns, page.parameters)


def trec_names(page: MeasurePage) -> Table[TrecForm]:
    """Table of trec_eval names of a measure."""
    columns: list[Column[TrecForm]] = [
        Column("name", lambda row: row.name, "In trec_eval"),
        Column("here", lambda row: row.here, "Here"),
        Column("option", lambda row: f"-m {row.option or row.name}", "Asked for as"),
    ]
    caption = "What trec_eval calls it. These names are understood here too."
    return Table("trec-names", caption, columns, page.trec_forms)


def example(worked: Worked) -> Table[Place]:
    """Table of a worked example, rank by rank, then documents not retrieved."""
    ranking = worked.ranking
    columns: list[Column[Place]] = [
        Column("rank", lambda row: row.name, "Rank"),
        Column("document", _grade, ranking.heading),
    ]
    if ranking.has_subtopics:
        columns.append(Column("subtopics", _subtopics, "Subtopics"))
    return Table("example", worked.summary, columns, ranking.places)


def _grade(place: Place) -> str:
    return place.document.grade_words if place.document else "not in the judgments"


def _subtopics(place: Place) -> str:
    return place.document.subtopic_words if place.document else ""


def _entry_facts(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "title": entry.title,
        "family": entry.family,
        "formula": entry.formula,
        "direction": entry.direction,
        "aggregate": entry.aggregate,
        "needs": list(entry.needs),
        "aliases": list(entry.aliases),
        "trec_eval": list(entry.trec_names),
        "citation": entry.citation,
        "version": entry.version,
    }


def _worked_facts(worked: Worked) -> dict[str, Any]:
    return {
        "ranking": [_place_facts(place) for place in worked.ranking.places],
        "facts": list(worked.ranking.facts),
        "scores": {score.written: score.value for score in worked.scores},
    }


def _place_facts(place: Place) -> dict[str, Any]:
    document = place.document
    facts = {
        "rank": place.name,
        "grade": document.grade if document else None,
        "subtopics": {str(number): grade for number, grade in document.subtopics} if document else {},
    }
    return {**facts, "document": document.letter} if document and document.letter else facts

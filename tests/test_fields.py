"""A record of declared fields is read alike from a form, a JSON body and a command's options."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, get_type_hints

import msgspec
import pytest

from leaderboard import fields
from leaderboard.errors import Invalid
from leaderboard.fields import Field


@dataclass(frozen=True, kw_only=True)
class Guest:
    """Who comes along."""

    name: Annotated[str, Field(title="Name")]
    line: Annotated[int | None, Field(title="Line", is_carried=True)] = None


def _guests(text: str) -> tuple[Guest, ...]:
    return tuple(Guest(name=name, line=line) for line, name in enumerate(text.splitlines(), 1))


@dataclass(frozen=True, kw_only=True)
class Party:
    """Several guests."""

    guests: Annotated[tuple[Guest, ...], Field(title="Guests", read=_guests, least=1, most=3)]


def _code(text: str) -> str:
    if text.strip() and not text.strip().isdigit():
        raise ValueError("must be digits.")
    return text.strip()


@dataclass(frozen=True, kw_only=True)
class Visit:
    """A visit to a museum."""

    place: Annotated[str, Field(title="Place", longest=12)]
    comes_at: Annotated[datetime | None, Field(title="Comes", help="When the doors open.")] = None
    zone: Annotated[str, Field(title="Time zone")] = "UTC"
    guests: Annotated[int | None, Field(title="Guests", most=9)] = None
    tour: Annotated[str, Field(title="Tour", choices={"": "none", "short": "an hour"})] = ""
    rooms: Annotated[tuple[str, ...], Field(title="Rooms", choices={"a": "first", "b": "second"})] = ()
    paid: Annotated[bool, Field(title="Paid")] = False
    code: Annotated[str, Field(title="Code", read=_code, is_secret=True)] = ""
    seen: Annotated[str, Field(title="Seen", is_carried=True)] = ""
    tickets: Annotated[tuple[int, ...], Field(title="Tickets")] = ()


@dataclass(frozen=True, kw_only=True)
class ChangedVisit:
    """All of a visit, and why it is another one."""

    visit: Annotated[Visit, Field(title="Visit")]
    reason: Annotated[str, Field(title="Reason")] = ""


NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "said",
    [
        # As a form says it, as JSON does, and as it is held.
        {
            "comes_at": "2026-11-30T00:00",
            "guests": " 3 ",
            "rooms": ["b", "a"],
            "paid": "on",
            "tickets": ["7"],
        },
        {"comes_at": "2026-11-30T00:00", "guests": 3, "rooms": ("a", "b"), "paid": True, "tickets": [7]},
        {"comes_at": NOON, "guests": 3, "rooms": ("a", "b"), "paid": True, "tickets": (7,)},
    ],
)
def test_texts_and_values_make_the_same_record(said: dict[str, Any]) -> None:
    """Moments are of the record's zone; what is ticked comes in the order of the choices."""
    visit = Visit(
        place="Hall", comes_at=NOON, zone="AoE", guests=3, rooms=("a", "b"), paid=True, tickets=(7,)
    )
    said = {"place": "Hall", "zone": "AoE", **said}
    assert fields.read(Visit, said) == visit
    assert fields.read(Visit, fields.texts(visit)) == visit, "what a form shows it reads"
    for nested in (said, {"visit": said}):
        assert fields.read(ChangedVisit, {**nested, "reason": "x"}) == ChangedVisit(visit=visit, reason="x")


def test_every_field_that_is_wrong_is_told_with_its_rule() -> None:
    """At once, by name, with the value; the sentence above is that of the first."""
    said = {
        "comes_at": "soon",
        "guests": "10",
        "tour": "long",
        "rooms": ["c"],
        "place": "x" * 13,
        "tickets": ["x"],
    }
    with pytest.raises(Invalid) as caught:
        fields.read(Visit, said)
    told = {problem.field: problem.rule for problem in caught.value.problems}
    assert told == {
        "place": "must have at most 12 characters.",
        "comes_at": "must be a date, or a date and time.",
        "guests": "must be a whole number from 1 to 9.",
        "tour": "must be one of short.",
        "rooms": "must be among a, b.",
        "tickets": "must be a whole number from 1 on.",
    }
    assert caught.value.message == "Place must have at most 12 characters."
    assert all(problem.remedy for problem in caught.value.problems)
    with pytest.raises(Invalid, match=r"Place is missing\."):
        fields.read(Visit, {})


def test_rows_are_lines_in_a_form_and_records_in_json() -> None:
    """And the document says how many there may be."""
    assert fields.read(Party, {"guests": "Ann\nBob"}) == Party(guests=_guests("Ann\nBob"))
    assert fields.read(Party, {"guests": [{"name": "Ann"}]}) == Party(guests=(Guest(name="Ann"),))
    with pytest.raises(Invalid, match=r"is missing\."):
        fields.read(Party, {"guests": [{}]})
    sent = fields.as_sent(Party)
    assert msgspec.to_builtins(msgspec.convert({"guests": [{"name": "Ann"}]}, sent)) == {
        "guests": ({"name": "Ann"},)
    }
    guests = msgspec.json.schema(sent)["$defs"]["Party"]["properties"]["guests"]
    assert (guests["minItems"], guests["maxItems"]) == (1, 3)


def test_a_field_may_read_its_text_by_a_rule_of_its_own() -> None:
    """A secret that breaks it is not said again."""
    assert fields.read(Visit, {"place": "Hall", "code": " 12 "}).code == "12"
    with pytest.raises(Invalid, match="Code must be digits") as caught:
        fields.read(Visit, {"place": "Hall", "code": "sesame"})
    assert [problem.value for problem in caught.value.problems] == [""]


def test_a_blank_is_none_where_that_may_be() -> None:
    """An empty field of a form, or null."""
    blank = fields.read(Visit, {"place": "Hall", "guests": " ", "comes_at": ""})
    assert blank == fields.read(Visit, {"place": "Hall", "guests": None, "comes_at": None})
    assert (blank.guests, blank.comes_at) == (None, None)


def test_a_new_form_shows_the_defaults() -> None:
    """Empty where there is none."""
    shown = fields.empty(ChangedVisit)
    assert (shown["place"], shown["zone"], shown["guests"], shown["rooms"]) == ("", "UTC", "", ())
    assert shown["reason"] == ""


def test_as_json_moments_are_texts_and_what_forms_carry_is_not_there() -> None:
    """And the document says the limits, and what each field means."""
    sent = fields.as_sent(ChangedVisit)
    body = {"visit": {"place": "Hall", "comes_at": "2026-11-30"}}
    read = msgspec.convert(body, sent)
    assert (read.visit.place, read.visit.comes_at, read.reason) == ("Hall", "2026-11-30", "")
    part = get_type_hints(sent)["visit"]
    assert "seen" not in get_type_hints(part)
    assert fields.words(part)["comes_at"] == "When the doors open."
    properties = msgspec.json.schema(part)["$defs"]["Visit"]["properties"]
    assert (properties["guests"]["minimum"], properties["guests"]["maximum"]) == (1, 9)
    assert properties["tour"]["enum"] == ["", "short"]


def test_a_field_that_says_nothing_of_itself_is_no_field() -> None:
    """It is found when the record is first read, not by a user."""

    @dataclass(frozen=True)
    class Silent:
        name: str = ""

    with pytest.raises(TypeError, match="name is not a field"):
        fields.of(Silent)


@dataclass(frozen=True, kw_only=True)
class Ticket:
    """A visit by its number or address, and remarks."""

    visit: Annotated[
        int, Field(title="Visit", missing="Choose a visit.", read=lambda text: text.rpartition("/")[2])
    ]
    notes: Annotated[
        Mapping[str, str], Field(title="Notes", each={"meal": Field(title="Meal"), "bag": Field(title="Bag")})
    ] = field(default_factory=dict)


def test_a_number_may_be_read_from_an_address_and_asked_for_in_a_sentence() -> None:
    """The rule of the field finds the digits; without them its own sentence is the whole problem."""
    made = fields.read(Ticket, {"visit": "https://museum.example/visits/12", "notes": {"bag": "red"}})
    assert made == fields.read(Ticket, {"visit": 12, "notes": {"bag": "red"}})
    for given in ({}, {"visit": " "}):
        with pytest.raises(Invalid, match=r"^Choose a visit\.$") as caught:
            fields.read(Ticket, given)
        assert [(each.field, each.remedy) for each in caught.value.problems] == [("visit", "")]


def test_texts_by_key_have_the_declared_keys_alone() -> None:
    """Another key is refused by name, with those that there are."""
    with pytest.raises(Invalid, match="^The key 'hat' is not known; use one of meal, bag"):
        fields.read(Ticket, {"visit": 1, "notes": {"hat": "x"}})

"""Topic files: every format, and one test for each rule that shows its message."""

import json

import pytest

from leaderboard.errors import Invalid
from leaderboard.trec.topics.topics import Subtopic, Topic, read_topics
from tests.trec.conftest import Written

SGML = """
<top>
<num> Number: 051
<title> Topic:  Airbus &amp; subsidies,
  AT&T

<desc> Description:
A document where a < b holds.

<narr> Narrative:
Relevant is
what is said.
</top>
<top><num>52</num><title>Closed tags</title></top>
"""

WEB = """<?xml version="1.0" encoding="ISO-8859-1"?>
<webtrack2011>
<topic number="101" type="faceted">
  <query>ritz carlton lake las vegas</query>
  <description> Find information about
     the Ritz Carlton &#252; resort. </description>
  <subtopic number="1" type="inf"> Find <b>information</b>. </subtopic>
  <subtopic number="2" type="nav">Home page.</subtopic>
</topic>
</webtrack2011>
"""


def refusal(written: Written, content: str | bytes) -> str:
    """The message with which a topics file is refused."""
    with pytest.raises(Invalid) as caught:
        read_topics(written(content))
    return caught.value.message


def test_trec_sgml_with_open_tags(written: Written) -> None:
    """Tags may be left open; labels go, zeros stay, character references are resolved."""
    first, second = read_topics(written(SGML))
    assert first == Topic(
        "051", "Airbus & subsidies, AT&T", "A document where a < b holds.", "Relevant is what is said."
    )
    assert second == Topic("52", "Closed tags")


def test_trec_web_xml(written: Written) -> None:
    """Number, query, description and subtopics with their type are read from the web tracks' XML."""
    (topic,) = read_topics(written(WEB))
    assert topic == Topic(
        "101",
        "ritz carlton lake las vegas",
        "Find information about the Ritz Carlton ü resort.",
        "",
        (Subtopic("1", "Find information.", "inf"), Subtopic("2", "Home page.", "nav")),
    )


@pytest.mark.parametrize(
    "content",
    [
        "<topics><topic><number>7</number><title>t</title></topic></topics>",
        '<topics><topic number="7">t</topic></topics>',
        '<topics><topic number="7"><query>t</query></topic></topics>',
        "7\tt\n",
        "\ufeff7\tt\n",
        "qid\tquery\n7\tt\n",
        '{"_id": "7", "text": "t", "metadata": {}}\n',
        '{"qid": "7", "query": "t"}\n',
        '{"id": 7, "title": "t"}\n',
        '{"number": "7", "title": "t", "description": null}\n',
    ],
)
def test_formats_say_the_same(content: str, written: Written) -> None:
    """The same topic in every accepted format is the same topic."""
    assert read_topics(written(content)) == (Topic("7", "t"),)


def test_json_lines_hold_everything(written: Written) -> None:
    """Description, narrative and subtopics come from JSON too; zeros of a text id stay."""
    line = {
        "id": "007",
        "title": "t",
        "description": "d",
        "narrative": "n",
        "subtopics": [{"number": "a", "text": "x", "kind": "inf"}, "y"],
    }
    (topic,) = read_topics(written(json.dumps(line)))
    assert topic == Topic("007", "t", "d", "n", (Subtopic("a", "x", "inf"), Subtopic("2", "y")))


@pytest.mark.parametrize(
    "content",
    ["1\ta\n2\tb\n1\tc\n", '{"id": 1}\n{"id": 2}\n{"id": "1"}\n', "<top><num>1</top>\n\n<top><num>1</top>"],
)
def test_doubled_ids_are_refused(content: str, written: Written) -> None:
    """Two topics of one id are refused, naming both lines."""
    message = refusal(written, content)
    assert "line 3: topic id '1': The topic is already on line 1. Give each topic its own id." in message


@pytest.mark.parametrize(
    ("topic_id", "message"),
    [
        ("a\x07b", "A topic id may not contain control characters."),
        ("a\x00b", "A topic id may not contain control characters."),
        ("a b", "A topic id may not contain blanks: they separate the columns of runs."),
        ("x" * 256, "A topic id has at most 255 bytes."),
        ("", "The topic has no id: id must be text or a whole number. Number it."),
    ],
)
def test_ids_that_no_run_can_have_are_refused(topic_id: str, message: str, written: Written) -> None:
    """Each id that could not stand in a line of a run is refused with its own remedy."""
    assert message in refusal(written, json.dumps({"id": topic_id, "title": "t"}))


def test_text_the_database_cannot_hold_is_refused(written: Written) -> None:
    """NUL and half surrogate pairs, which JSON can write, are refused."""
    assert "The topic's text contains NUL" in refusal(written, '{"id": "1", "title": "a\\u0000b"}')
    assert "half a surrogate pair" in refusal(written, '{"id": "1", "narrative": "\\ud800"}')


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE topics [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>',
        '<!DOCTYPE topics [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE topics [<!ENTITY % x SYSTEM "http://example.org/x.dtd"> %x;]>',
    ],
)
def test_xml_entities_are_refused(declaration: str, written: Written) -> None:
    """No entity is expanded: declaring one is refused."""
    content = f'<?xml version="1.0"?>\n{declaration}<topics><topic number="1">&b;</topic></topics>'
    assert "line 2: The XML declares its own entities, which are not read." in refusal(written, content)


def test_a_document_type_is_neither_fetched_nor_a_reason_to_refuse(written: Written) -> None:
    """The DTD at an address that does not exist is not asked for, and what is not declared stays text."""
    content = (
        '<!DOCTYPE topics SYSTEM "http://no.invalid/t.dtd"><topics><topic number="1">a &b; c</topic></topics>'
    )
    assert read_topics(written(content)) == (Topic("1", "a &b; c"),)


def test_broken_xml_is_refused_with_its_line(written: Written) -> None:
    """XML that is not well-formed is refused with the line."""
    message = refusal(written, '<topics>\n<topic number="1">a<br></topic>\n</topics>')
    assert "line 2: This is not well-formed XML: mismatched tag." in message
    deep = "<topics>" + "<a>" * 200 + "</a>" * 200 + "</topics>"
    assert "The XML has more than 100 nested elements" in refusal(written, deep)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "1\ta\n2 b\n",
            "line 2: '2 b': A topic has 2 columns, id and title, separated by a tab; this line has 1.",
        ),
        ("1 0 d1 2\n1 0 d2 0\n", "This is a qrels file, not topics. Submit it as judgments."),
        ("1\t0\td1\tL2\n", "This is a qrels file"),
        ("query-id\tcorpus-id\tscore\n1\td1\t1\n", "This is a qrels file"),
        ("1 Q0 d1 1 3.0 tag\n", "This is a run, not topics."),
        ("1\ta\n2\tb\tc\n", "Remove the tabs from the title."),
        ('{"id": "1"}\n{"id": \n', "line 2: '{\"id\": ': The line is not valid JSON"),
        ('[{"id": "1",\n "title": "one"},\n {"id": "2" "title": "two"}]\n', "line 3: "),
        ('{\n"topics": [\n{"id": "1"},\n]}\n', "line 4: "),
        ('{"id": "1"}\n[]\n', "line 2: '[]': The line is JSON but not an object."),
        ('{"id": 1.5}\n', "id '1.5': The topic has no id: id must be text or a whole number. Number it."),
        ('{"id": true}\n', "id 'True': The topic has no id: id must be text or a whole number."),
        ('{"title": "t"}\n', "A topic needs an id, as text, under one of"),
        ('[{"id": "1"}, 7]\n', "'7': 1 of 2 values of the array are not objects."),
        ('{"1": "a", "1": "b"}', "key '1': The key occurs twice in one object. Keep one of them."),
        ("<top>\n<num> 1\n", "line 1: The last topic has no </top>."),
        ("", "The file has no topics."),
        ("<html></html>", "This is a web page (HTML)"),
        ("<feed><entry>a</entry></feed>", "This is XML, but no element in <feed> is a topic with an id."),
        ('{"id": ' + "[" * 100_000, "The line is not valid JSON: it is nested too deeply"),
    ],
)
def test_lines_unlike_the_first_are_refused(content: str, message: str, written: Written) -> None:
    """What is not as the format asks is refused with line and remedy."""
    assert message in refusal(written, content)

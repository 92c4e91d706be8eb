"""The forms in which topics are published: what each is called, its topics, and what is said of it."""
# ruff: noqa: E501 - a table of files, one or two lines each

import json
from pathlib import Path

import pytest

from leaderboard.errors import Invalid
from leaderboard.trec.topics.forms import form
from leaderboard.trec.topics.topics import Subtopic, Topic, read, read_topics
from tests.trec.conftest import Written

CLEF = """<top lang="fr">
<num> C041 </num>
<FR-title> Des pesticides </FR-title>
<FR-desc> Trouver des rapports. </FR-desc>
<FR-narr> Tous les documents. </FR-narr>
</top>
"""
NTCIR = """<TOPIC>
<NUM>004</NUM>
<SLANG>CH</SLANG>
<TITLE>E-Commerce</TITLE>
<DESC>Find reports.</DESC>
</TOPIC>
<TOPIC>
<NUM>005</NUM>
<TITLE>R & D</TITLE>
</TOPIC>
"""
MEDICINE = """<topics task="2017 TREC Precision Medicine"><topic number="1">
<disease>Liposarcoma</disease><gene>CDK4</gene><demographic>38-year-old male</demographic></topic></topics>
"""
TRIALS = """<topics><topic number="1" template="glaucoma">
<field name="definition">glaucoma</field><field name="age">60</field></topic></topics>
"""
DECISIONS = """<topics><topic number="1" type="diagnosis"><description>A long story.</description>
<summary>A short one.</summary></topic></topics>
"""
REVIEW = """Topic: CD010409

Title: Sentinel node biopsy

Query:
exp Vulvar Neoplasms/
vulva$.tw.

Pids:
    25173106
"""
BACKGROUND = """<top>
  <num> Number: 886 </num>
  <docid>AEQZ</docid>
  <url>https://example.org/a</url>
</top>
"""
LANGUAGES = {
    "topic_id": "1",
    "topics": [
        {"lang": "fas", "topic_title": "x", "topic_description": "y"},
        {"lang": "eng", "topic_title": "Floods", "topic_description": "What floods?"},
    ],
}
CAST = [
    {
        "number": 106,
        "turn": [
            {"number": 1, "raw_utterance": "Why?", "manual_rewritten_utterance": "Why is the sky blue?"},
            {"number": 2, "raw_utterance": "And red?", "manual_rewritten_utterance": "And red at night?"},
        ],
    }
]
TREE = [
    {
        "number": 132,
        "turn": [
            {"participant": "User", "number": "1-1", "utterance": "Why?"},
            {"participant": "System", "number": "1-2", "response": "Because.", "utterance": ""},
        ],
    }
]
IKAT = [
    {
        "number": "9-1",
        "title": "Diets",
        "ptkb": {"1": "I am vegan."},
        "turns": [
            {"turn_id": 1, "utterance": "Help me?", "resolved_utterance": "Help me eat?", "response": "r"}
        ],
    }
]

SHAPES: dict[str, tuple[str, str, str, tuple[Topic, ...]]] = {
    "CLEF": (CLEF, "TREC SGML", "id=num, title=fr-title, description=fr-desc, narrative=fr-narr", (
        Topic("C041", "Des pesticides", "Trouver des rapports.", "Tous les documents."),)),
    "NTCIR, several roots and a bare &": (NTCIR, "XML", "id=num, title=title, description=desc", (
        Topic("004", "E-Commerce", "Find reports."), Topic("005", "R & D"))),
    "CLEF with identifiers": (
        '<topics><topic lang="en"><identifier>10.2452/451-AH</identifier><title>t</title></topic></topics>',
        "XML", "id=identifier, title=title", (Topic("10.2452/451-AH", "t"),)),
    "queries": ("<queries>\n<query><qid>0001</qid><content>one</content></query>\n"
        "<query><id> 2 </id><en> two </en></query>\n</queries>\n",
        "XML", "id=id|qid, title=content|en", (Topic("0001", "one"), Topic("2", "two"))),
    "arguments": ("<arguments><argument><id>1-1</id><topic>Trams</topic><claim>Trams are quiet</claim></argument>"
        "</arguments>", "XML", "id=id, title=claim", (Topic("1-1", "Trams are quiet"),)),
    "web track": ('<?xml version="1.0"?>\n<!DOCTYPE track [\n <!ELEMENT track (topic)*>\n'
        ' <!ATTLIST topic number CDATA #REQUIRED>\n]>\n<track><topic number="1" type="faceted"><query>bird maps'
        '</query><subtopic number="1" type="inf">routes</subtopic></topic></track>', "XML",
        "id=number, title=query", (Topic("1", "bird maps", subtopics=(Subtopic("1", "routes", "inf"),)),)),
    "precision medicine": (MEDICINE, "XML", "id=number, title=disease+gene+demographic", (
        Topic("1", "Liposarcoma; CDK4; 38-year-old male"),)),
    "clinical trials": (TRIALS, "XML", "id=number, title=definition+age", (Topic("1", "glaucoma; 60"),)),
    "clinical decisions": (DECISIONS, "XML", "id=number, title=summary, description=description", (
        Topic("1", "A short one.", "A long story."),)),
    "sessions": ('<sessions><session num="3"><topic num="8"><title>t</title></topic></session></sessions>', "XML",
        "id=num, title=topic.title", (Topic("3", "t"),)),
    "HTML's names of characters": ("<topics><topic number='1'><title>caf&eacute; &amp; R&D</title></topic></topics>",
        "XML", "id=number, title=title", (Topic("1", "café & R&D"),)),
    "CDATA": ("<topics><topic number='1'><title><![CDATA[a & b]]></title></topic></topics>",
        "XML", "id=number, title=title", (Topic("1", "a & b"),)),
    "reviews": (REVIEW, "labelled lines", "id=topic, title=title", (Topic("CD010409", "Sentinel node biopsy"),)),
    "background linking": (BACKGROUND, "TREC SGML", "id=num, title=docid+url", (
        Topic("886", "AEQZ; https://example.org/a"),)),
    "microblog": ("<top>\n<num> Number: MB001 </num>\n<query> BBC staff cuts </query>\n"
        "<querytime> Tue Feb 08 </querytime>\n</top>\n", "TREC SGML", "id=num, title=query", (
        Topic("MB001", "BBC staff cuts"),)),
    "million queries": ("1:after school\n4:stockley\n", "an id, a colon and a title on each line",
        "id=column1, title=column2", (Topic("1", "after school"), Topic("4", "stockley"))),
    "million queries with priorities": ("20001:1:obama family\n20002:2:what: now\n",
        "an id, a colon and a title on each line", "id=column1, title=column3", (
        Topic("20001", "obama family"), Topic("20002", "what: now"))),
    "blank": ("1 one two\n2 three\n", "an id, a blank and a title on each line", "id=column1, title=column2", (
        Topic("1", "one two"), Topic("2", "three"))),
    "ids": ("Taste/Aftertaste\nTaste/Sweet\n", "ids only", "id=column1", (
        Topic("Taste/Aftertaste", ""), Topic("Taste/Sweet", ""))),
    "three columns": ("1\tone\tabout one\n2\ttwo\n", "tab-separated columns",
        "id=column1, title=column2, description=column3", (Topic("1", "one", "about one"), Topic("2", "two"))),
    "headings in another order": ("query\tquery_id\none\t1\n", "tab-separated columns",
        "id=query_id, title=query", (Topic("1", "one"),)),
    "headings with a description": ("topic_id\ttitle\tdescription\n1\tone\tabout\n", "tab-separated columns",
        "id=topic_id, title=title, description=description", (Topic("1", "one", "about"),)),
    "CSV": ('qid,query\n1,"one, two"\n2,three\n', "comma-separated columns", "id=qid, title=query", (
        Topic("1", "one, two"), Topic("2", "three"))),
    "CSV over two lines": ('qid,query\n1,"one\ntwo"\n', "comma-separated columns", "id=qid, title=query", (
        Topic("1", "one two"),)),
    "CSV without headings": ('1,"one, two"\n2,three\n', "comma-separated columns", "id=column1, title=column2", (
        Topic("1", "one, two"), Topic("2", "three"))),
    "semicolons": ("id;title\n1;one\n", "semicolon-separated columns", "id=id, title=title", (Topic("1", "one"),)),
    "numbers and hashes": ("#a\tfirst\n#b\tsecond\n", "tab-separated columns", "id=column1, title=column2", (
        Topic("#a", "first"), Topic("#b", "second"))),
    "array": ('[{"qid":"1","query":"one"},\n {"qid":"2","query":"two"}]', "JSON", "id=qid, title=query", (
        Topic("1", "one"), Topic("2", "two"))),
    "objects over several lines": ('{\n"qid": "1",\n"query": "one"\n}\n{\n"qid": "2",\n"query": "two"\n}\n',
        "JSON", "id=qid, title=query", (Topic("1", "one"), Topic("2", "two"))),
    "dictionary": ('{"1":"one","2":"two"}', "JSON", "id=key, title=value", (Topic("1", "one"), Topic("2", "two"))),
    "dictionary of objects": ('{"1":{"query":"one"}}', "JSON", "id=key, title=query", (Topic("1", "one"),)),
    "questions": ('{"questions":[{"id":"b1","body":"Which?","documents":["u"]}]}', "JSON", "id=id, title=body", (
        Topic("b1", "Which?"),)),
    "nested title": ('{"id":"1","title":{"en":"one"}}\n{"id":"2","title":{"en":"two"}}\n', "JSON lines",
        "id=id, title=title.en", (Topic("1", "one"), Topic("2", "two"))),
    "MTEB": ('{"_id":"q1","text":"one","instruction":"i"}\n{"_id":"q2","text":"two"}\n', "JSON lines",
        "id=_id, title=text", (Topic("q1", "one"), Topic("q2", "two"))),
    "reports": ('{"request_id":"1","title":"t","problem_statement":"p","background":"b"}\n', "JSON",
        "id=request_id, title=title, description=problem_statement, narrative=background", (
        Topic("1", "t", "p", "b"),)),
    "several languages": (json.dumps(LANGUAGES), "JSON",
        "id=topic_id, title=topics.topic_title, description=topics.topic_description", (
        Topic("1", "Floods", "What floods?"),)),
    "CAsT": (json.dumps(CAST, indent=1), "JSON",
        "id=id, title=turn.raw_utterance, description=turn.manual_rewritten_utterance", (
        Topic("106_1", "Why?", "Why is the sky blue?"), Topic("106_2", "And red?", "And red at night?"))),
    "CAsT's trees": (json.dumps(TREE), "JSON", "id=id, title=turn.utterance", (Topic("132_1-1", "Why?"),)),
    "iKAT": (json.dumps(IKAT), "JSON", "id=id, title=turn.utterance, description=turn.resolved_utterance", (
        Topic("9-1_1", "Help me?", "Help me eat?"),)),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_published_forms(name: str, written: Written) -> None:
    """Each form is named, its fields are, and its topics are those of the file."""
    content, known_as, fields, topics = SHAPES[name]
    assert form(content.encode()) == known_as
    file = read(written(content))
    assert (file.form, file.fields, file.topics) == (known_as, fields, topics)


OTHERS = {
    b"PAR1\x15\x04": "This is a Parquet table, not topics. Write it as lines, for example with pandas: df.to_json(",
    b"PK\x03\x04\x14\x00\x00\x00[Content_Types].xml": "This is a spreadsheet, not topics. Save the sheet as CSV and submit that.",
    b"%PDF-1.7\n": "This is a PDF document, not topics.",
    b"\x89PNG\r\n\x1a\n": "This is a picture, not topics. Submit the plain text file: one line `id, a tab and the title`",
    b'{"mteb_version": "1.0", "scores": {"test": []}}': "This is a file of MTEB results, which has scores but no rankings, not topics.",
    b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n": "Run `git lfs pull` and submit the file that it fetches.",
    b"<!DOCTYPE html>\n<html><head></head></html>": "This is a web page (HTML), perhaps the error page of a failed download, not topics.",
    b"topics:\n  - id: 1\n    title: one\n": "This is a YAML file, not topics. Write one line `id, a tab and the title` each.",
    b"- id: 1\n  title: one\n": "This is a YAML file, not topics.",
    b"2 qid:1 1:0.5 2:0.25 # d1\n0 qid:1 1:0.1 # d2\n": "This is a file of LETOR or RankLib judgments, not topics.",
    b"1 0 a 1.0\n1 0 b 0.0\n": "This is a qrels file, not topics.",
    b"1 0 a relevant\n1 0 b nonrelevant\n": "This is a qrels file, not topics.",
    b"1 d1 0 1 0.25\n1 d2 1 0 1\n": "This is a qrels file, not topics.",
    b"1 0 a 1 0.5\n1 0 b 0 1.0\n": "This is a qrels file, not topics.",
    b"qid\tcid\tscore\n1\ta\t1\n": "This is a qrels file, not topics.",
    b"query_id,iter,doc_id,rel\n1,0,a,1\n": "This is a qrels file, not topics.",
    b"topic_id\tdoc\trank\n1\ta\t1\n": "This is a run, not topics.",
    b"1\ta\t1\t13.2\n1\tb\t2\t12.1\n": "This is a run, not topics.",
    b'{"1":{"a":1,"b":0},"2":{"a":1}}': "This is a qrels file, not topics.",
    b'{"1":{"a":1.5},"2":{"b":2}}': "This is a run, not topics.",
    b'<results><run pid="X"><topic tNum="1"><item seqNum="1" shotId="s"/></topic></run></results>': "This is a TRECVID run in XML, not topics. Submit it as a run.",
    b"what is this\nand this one\n": "The lines do not begin with topic ids, so this is plain text and not topics.",
}


@pytest.mark.parametrize("content", OTHERS)
def test_what_holds_no_topics_is_named(content: bytes, written: Written) -> None:
    """With one step that leads on."""
    with pytest.raises(Invalid) as refused:
        read(written(content))
    assert OTHERS[content] in refused.value.message


SAID = {
    "query-id\ttext\n1\tone\n": ("The first line is read as headings (query-id, text).", False),
    '1\t"she wrote ""now"" twice"\n2\ttwo\n': (
        '1 cell were in quotes, which are removed (for example "she wrote ""now"" twice").', True),
    "1\tone\tabout\n": ("The columns have no headings, so they are identified by their order.", True),
    "1 one\n2 two\n": ("The text before the first blank of a line is read as the id.", True),
    "a1\nb2\n": ("2 topics have no title (for example a1).", True),
    '{"id": "1", "title": "a"}\n{"id": "2"}\n': ("1 topic has no title (for example 2).", True),
    DECISIONS.replace("summary", "note"): ("No field is called a title: description is taken as title.", True),
    MEDICINE: ("No field is called a title: disease, gene, demographic are joined as title.", True),
    json.dumps(LANGUAGES): ("Where a topic has several topics, the English one is read, or else the first.", True),
    json.dumps(CAST): (
        "Each turn of a conversation is read as a topic, 2 in total (such as 106_1).", True),
    json.dumps(TREE): ("1 turn without a user's words is no topic (for example 132_1-2).", True),
    '{"_id": "q1", "text": "one", "instruction": "i"}\n': ("Not read: instruction.", False),
    "\ufeff1\tone\n": ("The file starts with a byte order mark. It was ignored.", False),
    NTCIR: ("1 & that begins no character reference is kept as text.", False),
}  # fmt: skip


@pytest.mark.parametrize("content", SAID)
def test_what_is_guessed_or_left_is_said(content: str, written: Written) -> None:
    """With number and example; what was guessed asks for a look, and the sentence says the first topics."""
    sentence, asks = SAID[content]
    file = read(written(content))
    assert sentence in [note.text for note in file.notes]
    assert file.asks is asks
    if asks:
        with pytest.raises(Invalid, match="Nothing is stored yet: check how the") as asked:
            file.require_seen("")
        assert asked.value.facts["fields"] == file.fields
        file.require_seen(asked.value.facts["topics_seen"])
        assert sentence in asked.value.message


def test_plain_forms_say_nothing(written: Written) -> None:
    """Two columns without anything odd need no look."""
    file = read(written("1\tone\n2\ttwo\n"))
    assert (file.notes, file.asks) == ((), False)


@pytest.mark.parametrize(
    ("content", "fields", "topics"),
    [
        ("1\ten\tone\n", "title=column3", (Topic("1", "one"),)),
        ("a\tid\n1\t7\n", "id=column2, title=column1", (Topic("id", "a"), Topic("7", "1"))),
        ("query-id\ttext\n1\tone\n", "headings=no", (Topic("query-id", "text"), Topic("1", "one"))),
        ("key\twords\n1\tone\n", "headings=yes, title=words", (Topic("1", "one"),)),
        (
            '{"nr": 1, "ask": "a"}\n{"nr": 2, "ask": "b"}\n',
            "id=nr, title=ask",
            (Topic("1", "a"), Topic("2", "b")),
        ),
        ('{"id": "1", "a": "x", "b": "y"}\n', "title=a+b", (Topic("1", "x; y"),)),
        ('{"id": "1", "a": "x"}\n{"id": "2", "b": "y"}\n', "title=a|b", (Topic("1", "x"), Topic("2", "y"))),
        ('{"id": "1", "title": "x"}\n', "title=", (Topic("1", ""),)),
    ],
)
def test_the_fields_can_be_corrected(
    content: str, fields: str, topics: tuple[Topic, ...], written: Written
) -> None:
    """Which field is which is taken as it is given."""
    assert read(written(content), fields).topics == topics


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("title=ask", "No topic has the field 'ask'. The fields of this file are id, title."),
        (
            "headline=title",
            "'headline=title' is not a valid mapping of topic fields. Write pairs such as id=qid",
        ),
        ("id", "'id' is not a valid mapping of topic fields."),
    ],
)
def test_fields_that_the_file_lacks_are_refused(fields: str, message: str, written: Written) -> None:
    """With those it has."""
    with pytest.raises(Invalid) as refused:
        read(written('{"id": "1", "title": "x"}\n'), fields)
    assert message in refused.value.message


def test_real_topics_ask_nothing(shared_data: Path) -> None:
    """The topics of TREC, MS MARCO and Touché are read without a question."""
    for name in (
        "robust03/topics.robust04-superset.trec.gz",
        "tilde-dl19/topics.tsv.gz",
        "touche2020-beir/topics.tsv.gz",
    ):
        assert not read(shared_data / name).asks, name
    assert read_topics(shared_data / "odd-inputs" / "header.topics.tsv") == (
        Topic("1", "one"),
        Topic("2", "two"),
    )

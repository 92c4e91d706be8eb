"""The files that are mutated, by what they hold, and the pieces that are put into them."""

import bz2
import gzip
import json
import lzma

import zstandard

RUNS = (
    b"1 Q0 a 1 2.5 tag\n1 Q0 b 2 1.5 tag\n2 Q0 a 1 7 tag\n",
    b"# ir_metadata.start\n# tag: x\n# ir_metadata.end\n1 Q0 a 1 2.5 tag\r\n\r\n1 Q0 b 2 1.5 tag",
    b"1\ta\t1\n1\tb\t2\n2\tc\t1\n",
    b"".join(
        b"%d Q0 doc-%04d %d %d.%06d run_1\n" % (n // 8, n * 37 % 999, n % 8 + 1, 90 - n, n) for n in range(48)
    ),
    b"".join(b"%d Q0 d%d 1 -%de-3 t\n" % (n % 3, n, n) for n in range(12)),
    "1 Q0 ä 1 0.1234567890123456789 tag\n1 Q0 ß 2 1e-400 täg\n".encode(),
    b"1  Q0\ta 1 +.5 t more\n 2 Q0 b 0 16777217 t\n2 Q0 c 0 16777216. t\n",
)
QRELS = (
    b"1 0 a 1\n1 0 b -2\n2 0 a 3\n",
    b"1 0 a L3\n1 0 b L0\n",
    b"query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n",
    b"1 1 a 1\n1 2 a 2\n1 1 b 0\n2 1 a 0\n",
    b"# judged twice\r\n1 0 a 1\r\n1 0 a 1\r\n",
    b"".join(b"%d 0 doc-%04d %d\n" % (n // 6, n * 37 % 999, n % 4 - 1) for n in range(36)),
    "1 0 ä 999999999\n1 0 b -999999999\n".encode(),
)
TOPICS = (
    b"<top>\n<num> Number: 1\n<title> x\n<desc> Description:\ny\n<narr> Narrative:\nz\n</top>\n",
    b'<?xml version="1.0"?><t><topic number="1"><query>x</query><subtopic number="1">y</subtopic></topic>'
    b"</t>",
    b'{"_id": "1", "title": "x", "text": "y", "subtopics": [{"number": 1, "text": "z"}]}\n',
    b'{"_id": "\\u0031", "title": "\\ud800", "text": "\\u0000", "subtopics": [{"number": "\\udfff", '
    b'"text": 1e400}]}\n',
    b"1\tfirst topic\n2\tsecond topic\n",
)
DOCUMENTS = (
    b"<DOC><DOCNO>1</DOCNO><TITLE>t</TITLE><TEXT>x &amp; y</TEXT></DOC>\n"
    b"<DOC>\n<DOCNO>2</DOCNO>\nz\n</DOC>\n",
    b'{"_id": "1", "title": "x", "text": "y"}\n{"docno": "2", "contents": "z"}\n',
    b'{"_id": "\\u0031", "title": "\\ud800", "text": "\\u0000"}\n{"docno": "\\udfff", "contents": 1e400}\n',
    b"d1\tfirst text\nd2\tsecond text\n",
)
POOLS = (
    b"1 a\n1 b\n2 a\n",
    b"topic,docno,priority,stratum,probability\r\n1,a,2.5,top,1\r\n1,'=b,1,,0.5\r\n",
    b'{"topic": "1", "docno": "a", "priority": 2, "stratum": "x", "probability": 0.5}\n'
    b'{"topic": "1", "docno": "b"}\n',
    b'{"topic": "\\u0031", "docno": "a\\u0000", "priority": 1e400}\n{"topic": "2", "docno": "\\ud800"}\n',
)
DISTRACTORS = (b"d1\nd2\n# comment\n\nd3\n", "ä\r\nß\r\n".encode())
DISSIMILARITIES = (b"a b 0.5\na c 1\nb c 0.25\n", b"a\tb\t.5\n# comment\nb\tc\t1e-3\n")
PREFERENCES = (b"1 a b\n1 a c 0.5\n2 b a\n", b"1 0 g1 a 2\n1 0 g1 b 1\n1 1 g1 a 0\n1 1 g2 c 3\n", *QRELS[:2])
_CLICKS = {"user": "u", "session": "s", "topic": "1", "docno": "a", "rank": 1, "clicked": 1, "time": 1.5}
CLICKS = (
    b"user,session,topic,docno,rank,clicked,time\nu,s,1,a,1,0,2026-01-01T00:00:00Z\nu,s,1,b,2,1,1767225600\n",
    b"session;query;docid;position;click\ns;x;a;1;true\ns;x;b;2;0\n",
    (
        json.dumps(_CLICKS) + "\n" + json.dumps(_CLICKS | {"docno": "b", "rank": 2, "clicked": False}) + "\n"
    ).encode(),
)


def _packed(plain: bytes) -> tuple[bytes, ...]:
    return (
        gzip.compress(plain, mtime=0),
        bz2.compress(plain),
        lzma.compress(plain),
        zstandard.ZstdCompressor().compress(plain),
    )


ARCHIVES = (
    *(packed for plain in (RUNS[0], RUNS[3]) for packed in _packed(plain)),
    *_packed(b"1 Q0 a 1 1 t\n" * 50_000),
    gzip.compress(RUNS[0], mtime=0) + gzip.compress(RUNS[2], mtime=0),
    b"PK\x03\x04" + RUNS[0],
    bytes(257) + b"ustar" + bytes(250),
)

FRAGMENTS = (
    b" ", b"\n", b"\t", b"\r", b"\r\n", b"\r\r\n", b"#", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe",
    b"\x7f", b"\x0b", b"\x0c", b"\x1b", b"\x1c", b"nan", b"inf", b"-", b"+", b".", b"e", b"1e999",
    b"1e-999", b"1_0", b"0x1", b"9" * 19, b"9" * 20, b"9" * 400, b"0." + b"3" * 30,
    b"18446744073709551616", b"-9223372036854775809", b"9007199254740993", b"1234567890", b"1.5", b"L1",
    b"x" * 255, b"x" * 256, b"y" * 5000, b" " * 300, b"\n" * 300, b"<top>", b"</top>", b"<DOC>",
    b"</DOC>", b"<num>", b"<!DOCTYPE a>", b"&#0;", b"&amp;", b"<![CDATA[", b"]]>", b"{", b"}",
    b"[" * 3000, b"]", b'"', b"'", b",", b";", b"\\u0000", b"\\ud800", b"null", b"true", b"1e400",
    b"\xc2\xa0", b"\xe2\x80\xa8", b"\xd9\xa3", b"# c\r1 0 a 1", b"1 Q0 a 1 2.5 tag\n", b"1 0 a 1\n",
    b"1 Q0 b 2 1 t x\0\n", b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04",
)  # fmt: skip

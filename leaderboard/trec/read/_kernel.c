/* The inner loops of reading runs and qrels: fields, scores, order, duplicates, judged documents.

   Optional: numpy_kernel.py has the same functions and gives the same bits. Every function works on
   one block of whole lines and on arrays that the caller owns; kernel.py says what each one means.
   Long loops run without the interpreter's lock: the buffers are held, and nothing else is touched.
   Build without -ffast-math and with -ffp-contract=off. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#if !defined(__SIZEOF_INT128__) || !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "needs a little-endian machine and 128-bit integers; the package works without this module"
#endif

typedef unsigned char byte;

/* Bytes that must be readable behind the end of a block: words are loaded whole. */
enum { SLACK = 16 };

/* Most digits of a grade; numpy_kernel.py has the same. */
enum { GRADE_DIGITS = 9 };

enum { FLAG_SECOND = 1, FLAG_RANK = 2, FLAG_AGAINST = 4, FLAG_TAGS = 8, FLAG_COMMENTS = 16, FLAG_BYTES = 32 };

/* Bytes or entries from which other threads may run meanwhile: waiting to go on again costs more than less. */
enum { LONG_LOOP = 1 << 13 };

/* Lets other threads run, if the loop that follows is long; `take_back` ends it. */
static PyThreadState *let_go(int64_t work) { return work < LONG_LOOP ? NULL : PyEval_SaveThread(); }

static void take_back(PyThreadState **released) {
    if (*released) PyEval_RestoreThread(*released);
    *released = NULL;
}

static inline uint64_t word_at(const byte *p) {
    uint64_t word;
    memcpy(&word, p, 8);
    return word;
}

/* The first byte from p on that is a blank, a line end or a control character. */
#ifdef __SSE2__
static inline const byte *token_end(const byte *p) {
    const __m128i highest = _mm_set1_epi8(32);
    for (;; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)p);
        int low = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(bytes, highest), bytes));
        if (low) return p + __builtin_ctz((unsigned)low);
    }
}

/* Which of the 32 bytes from p on such are, the first in the lowest bit. */
static inline uint32_t token_ends(const byte *p) {
    const __m128i highest = _mm_set1_epi8(32);
    __m128i one = _mm_loadu_si128((const __m128i *)p), two = _mm_loadu_si128((const __m128i *)(p + 16));
    uint32_t first = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(one, highest), one));
    uint32_t second = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(two, highest), two));
    return first | second << 16;
}
#else
static inline const byte *token_end(const byte *p) {
    for (;; p += 8) {
        uint64_t word = word_at(p);
        uint64_t low = (word - 0x2121212121212121u) & ~word & 0x8080808080808080u;
        if (low) return p + (__builtin_ctzll(low) >> 3);
    }
}
#endif

static inline int parts(byte c) { return c == ' ' || c == '\t'; }

static inline int is_blank(byte c) { return c == ' ' || c == '\t' || (c >= 11 && c <= 13); }

/* Whether two ids of one length are the same bytes; cheaper than a call of memcmp for a few bytes. */
static inline int same_bytes(const byte *one, const byte *two, int64_t length) {
    for (; length >= 8; one += 8, two += 8, length -= 8)
        if (word_at(one) != word_at(two)) return 0;
    return !length || !((word_at(one) ^ word_at(two)) << (64 - 8 * length));
}

/* Bytes that many lines share, ready to be compared: at most 16 at once. */
typedef struct {
    const byte *bytes;
    int64_t length;
#ifdef __SSE2__
    __m128i first;
    unsigned beyond;
#endif
} Shared;

static inline Shared shared_bytes(const byte *bytes, int64_t length) {
    Shared made = {.bytes = bytes, .length = length};
#ifdef __SSE2__
    made.first = _mm_loadu_si128((const __m128i *)bytes);
    made.beyond = length < 16 ? 0xFFFFu << length : 0;
#endif
    return made;
}

/* Whether they are at p too, of which 16 bytes can be read. */
static inline int are_at(const Shared *shared, const byte *p) {
#ifdef __SSE2__
    __m128i same = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)p), shared->first);
    if ((((unsigned)_mm_movemask_epi8(same) | shared->beyond) & 0xFFFF) != 0xFFFF) return 0;
    return shared->length <= 16 || same_bytes(p + 16, shared->bytes + 16, shared->length - 16);
#else
    return same_bytes(p, shared->bytes, shared->length);
#endif
}

static inline uint64_t mixed(uint64_t state) {
    state *= 0x9E3779B97F4A7C15u;
    return state ^ (state >> 29);
}

static inline uint64_t hash_of(const byte *p, int64_t length) {
    uint64_t state = (uint64_t)length;
    for (; length >= 8; p += 8, length -= 8) state = mixed(state ^ word_at(p));
    if (length) state = mixed(state ^ (word_at(p) & (~(uint64_t)0 >> (64 - 8 * length))));
    return mixed(state);
}

static const double POWERS[23] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static const uint64_t WHOLE_POWERS[20] = {
    1u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u, 1000000000u, 10000000000u,
    100000000000u, 1000000000000u, 10000000000000u, 100000000000000u, 1000000000000000u, 10000000000000000u,
    100000000000000000u, 1000000000000000000u, 10000000000000000000u};

/* mantissa / 10^places, correctly rounded: the quotient has at least 62 bits and its lowest one says
   whether anything was left over, so that the conversion rounds as if it were exact. The power of two that
   it is multiplied with then is neither too large nor too small for a double: that changes no bit. */
static double quotient(uint64_t mantissa, int places) {
    uint64_t divisor = WHOLE_POWERS[places];
    int shift = (64 - __builtin_clzll(divisor)) + 63 - (64 - __builtin_clzll(mantissa));
    unsigned __int128 shifted = (unsigned __int128)mantissa << shift;
    uint64_t whole = (uint64_t)(shifted / divisor), scale_bits = (uint64_t)(1023 - shift) << 52;
    double scale;
    memcpy(&scale, &scale_bits, 8);
    if (shifted != (unsigned __int128)whole * divisor) whole |= 1;
    return (double)whole * scale;
}

/* mantissa * 10^power, correctly rounded, into *value; 0 where that needs more than these ways. */
static inline int scaled(uint64_t mantissa, int power, double *value) {
    if (!mantissa) *value = 0.0;
    else if (mantissa <= (uint64_t)1 << 53 && power >= -22 && power <= 22)
        *value = power < 0 ? (double)mantissa / POWERS[-power] : (double)mantissa * POWERS[power];
    else if (power < 0 && power >= -19) *value = quotient(mantissa, -power);
    else return 0;
    return 1;
}

/* A number the fast ways cannot take; 0 where it is none or not finite. Python reads it, which needs the
   lock: it is kept for the rest of the block, where such numbers rarely stand alone. */
static int slow_number(const byte *p, const byte *end, double *value, PyThreadState **released) {
    char text[512];
    if (end - p >= (int64_t)sizeof text) return 0;
    take_back(released);
    memcpy(text, p, end - p);
    text[end - p] = 0;
    *value = PyOS_string_to_double(text, NULL, NULL);
    if (*value == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return isfinite(*value) != 0;
}

/* Up to 8 digits at once; *value is changed only if all are digits. */
static inline int digits_at(const byte *p, int count, uint64_t *value) {
    uint64_t word = word_at(p) - 0x3030303030303030u;
    word <<= 64 - 8 * count;
    if ((word | (word + 0x7676767676767676u)) & 0x8080808080808080u) return 0;
    word = word * 10 + (word >> 8);
    word = ((word & 0x000000FF000000FFu) * 0x000F424000000064u +
            ((word >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u) >> 32;
    *value = word;
    return 1;
}

/* whole . digits, of which there are 9 to 16 from p on; 0 as for `usual_number`, from where few come here. */
static __attribute__((noinline)) int long_fraction(uint64_t whole, const byte *p, int places, double *value) {
    uint64_t part, more;
    if (!digits_at(p, 8, &part) || !digits_at(p + 8, places - 8, &more)) return 0;
    return scaled(whole * WHOLE_POWERS[places] + part * WHOLE_POWERS[places - 8] + more, -places, value);
}

/* digits . digits, the usual form of a score; 0 for any other or for more digits than are quick. */
static inline int usual_number(const byte *p, const byte *end, double *value) {
    uint64_t whole = 0, part;
    const byte *start = p;
    if (p[2] == '.' && (byte)(p[0] - '0') < 10 && (byte)(p[1] - '0') < 10) {
        whole = 10u * (p[0] - '0') + (p[1] - '0'); /* most are so, and a loop over them takes longer */
        p += 2;
    } else
        while ((byte)(*p - '0') < 10) whole = whole * 10 + (*p++ - '0');
    int64_t places = end - p - 1;
    if (p == start || p - start > 7 || *p != '.' || places < 1) return 0;
    if (places > 8) return places <= 16 && end - start <= 20 && long_fraction(whole, p + 1, (int)places, value);
    if (!digits_at(p + 1, (int)places, &part)) return 0;
    *value = (double)(whole * WHOLE_POWERS[places] + part) / POWERS[places];
    return 1;
}

/* [+-] digits [. digits] [e [+-] digits], correctly rounded; 0 for anything else. */
static inline int number(const byte *p, const byte *end, double *value, PyThreadState **released) {
    if (usual_number(p, end, value)) return 1;
    const byte *start = p;
    int negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    uint64_t mantissa = 0;
    int digits = 0, places = 0, exponent = 0;
    const byte *first = p;
    for (; (byte)(*p - '0') < 10; p++) mantissa = mantissa * 10 + (*p - '0');
    digits = (int)(p - first);
    if (*p == '.') {
        const byte *point = ++p;
        for (; (byte)(*p - '0') < 10; p++) mantissa = mantissa * 10 + (*p - '0');
        places = (int)(p - point);
        digits += places;
    }
    if (!digits) return 0;
    if (p < end && (*p | 32) == 'e') {
        p++;
        int minus = *p == '-';
        if (*p == '-' || *p == '+') p++;
        const byte *power = p;
        for (; (byte)(*p - '0') < 10; p++)
            if (exponent < 100000) exponent = exponent * 10 + (*p - '0');
        if (p == power) return 0;
        if (minus) exponent = -exponent;
    }
    if (p != end) return 0;
    double found;
    if (digits > 19 || !scaled(mantissa, exponent - places, &found)) return slow_number(start, end, value, released);
    *value = negative ? -found : found;
    return 1;
}

/* The three fields of a run's line that change from line to line. */
typedef struct {
    const byte *docno, *docno_end, *rank, *rank_end, *score, *score_end;
} Changing;

/* Finds them, parted by one blank or tab, from p on; 0 where they are not so. */
static inline int changing(const byte *p, const byte *stop, Changing *found) {
    found->docno = p;
#ifdef __SSE2__
    /* Short ones are found by one look: searched one after the other, each waits for the one before. */
    uint32_t docno_end = stop - p >= 32 - SLACK ? token_ends(p) : 0;
    uint32_t rank_end = docno_end & (docno_end - 1), score_end = rank_end & (rank_end - 1);
    if (score_end) {
        found->docno_end = p + __builtin_ctz(docno_end);
        found->rank_end = p + __builtin_ctz(rank_end);
        found->score_end = p + __builtin_ctz(score_end);
    } else if (rank_end) {
        /* The score is long: only its end lies behind. */
        found->docno_end = p + __builtin_ctz(docno_end);
        found->rank_end = p + __builtin_ctz(rank_end);
        found->score_end = token_end(p + 32);
    } else
#endif
    {
        found->docno_end = token_end(p);
        if (!parts(*found->docno_end)) return 0;
        found->rank_end = token_end(found->docno_end + 1);
        if (!parts(*found->rank_end)) return 0;
        found->score_end = token_end(found->rank_end + 1);
    }
    found->rank = found->docno_end + 1;
    found->score = found->rank_end + 1;
    return found->docno_end > p && found->rank_end > found->rank && found->score_end > found->score &&
           parts(*found->docno_end) && parts(*found->rank_end);
}

/* What is odd about a rank: that it is not a whole number, or contradicts the score; before: the entry's in the
   line before, if both are of one topic. */
static inline int rank_flags(const byte *p, const byte *end, int64_t *before, const double *score, int same) {
    int64_t rank = 0, last = *before;
    const byte *start = p;
    for (; (byte)(*p - '0') < 10 && p - start < 16; p++) rank = rank * 10 + (*p - '0');
    *before = rank;
    if (p != end) return FLAG_RANK;
    if (!same) return 0;
    return (score[0] > score[-1] && rank > last) || (score[0] < score[-1] && rank < last) ? FLAG_AGAINST : 0;
}

/* Where the entries of a block go, and how many are there. */
typedef struct {
    int32_t *at, *length;
    uint64_t *hash;
    double *score;
    int64_t entries, room, id_bytes;
} Found;

/* Takes lines of a run as long as they begin and end as the one before: up to the docno, and behind the score.
   Most do, and need no closer look. Returns where the first other line begins. */
static const byte *repeated(const byte *body, const byte *p, const byte *stop, const Shared *prefix,
                            const Shared *tail, int strict, int64_t *last_rank, int *flags, Found *found,
                            PyThreadState **released) {
    int32_t *at = found->at, *length = found->length;
    uint64_t *hash = found->hash;
    double *score = found->score;
    int64_t entry = found->entries, room = found->room, id_bytes = found->id_bytes;
    for (; entry < room && stop - p > prefix->length + tail->length && are_at(prefix, p); entry++) {
        Changing field;
        if (!changing(p + prefix->length, stop, &field) || stop - field.score_end < tail->length ||
            !are_at(tail, field.score_end))
            break;
        int64_t docno_length = field.docno_end - field.docno;
        if (docno_length > id_bytes || !number(field.score, field.score_end, score + entry, released)) break;
        at[entry] = (int32_t)(field.docno - body);
        length[entry] = (int32_t)docno_length;
        hash[entry] = hash_of(field.docno, docno_length);
        if (strict) *flags |= rank_flags(field.rank, field.rank_end, last_rank, score + entry, 1);
        p = field.score_end + tail->length;
    }
    found->entries = entry;
    return p;
}

/* Whether a line of which something is ignored, a comment or what follows the last field, hides no further
   entries: behind a NUL byte, or a CR that is not part of the line's end, there may be some. */
static int harmless(const byte *p, const byte *over) {
    if (memchr(p, 0, (size_t)(over - p))) return 0;
    while (over > p && is_blank(over[-1])) over--;
    return !memchr(p, '\r', (size_t)(over - p));
}

typedef struct {
    Py_buffer view;
    int held;
} Array;

/* All arrays of a call, released together. */
#define ARRAYS 17
static int take(PyObject *args, Py_ssize_t first, int count, Array *arrays, const char *writable) {
    for (int i = 0; i < count; i++) {
        PyObject *given = PyTuple_GetItem(args, first + i);
        int flags = writable[i] == 'w' ? PyBUF_WRITABLE : PyBUF_SIMPLE;
        if (!given || PyObject_GetBuffer(given, &arrays[i].view, flags)) return 0;
        arrays[i].held = 1;
    }
    return 1;
}

static void give_back(Array *arrays) {
    for (int i = 0; i < ARRAYS; i++)
        if (arrays[i].held) PyBuffer_Release(&arrays[i].view);
}

static int holds(const Array *array, int64_t elements, int64_t size) {
    return array->view.len >= elements * size;
}

static PyObject *too_small(void) {
    PyErr_SetString(PyExc_ValueError, "an array is too small for what it has to hold");
    return NULL;
}

static int64_t whole(PyObject *args, Py_ssize_t place) {
    PyObject *given = PyTuple_GetItem(args, place);
    return given ? PyLong_AsLongLong(given) : -1;
}

/* columns(body, end, final, fields, strict, id_bytes, at, length, hash, score, group_start, group_at,
           group_length, group_line) -> (ok, entries, groups, consumed, lines, flags, tag_at, tag_length) */
static PyObject *columns(PyObject *self, PyObject *args) {
    (void)self;
    Array arrays[ARRAYS] = {{{0}, 0}};
    if (PyTuple_Size(args) != 14) return too_small();
    int64_t end = whole(args, 1), final = whole(args, 2), fields = whole(args, 3);
    int64_t strict = whole(args, 4), id_bytes = whole(args, 5);
    if (PyErr_Occurred()) return NULL;
    if (!take(args, 0, 1, arrays, "r") || !take(args, 6, 8, arrays + 1, "wwwwwwww")) {
        give_back(arrays);
        return NULL;
    }
    int64_t room = arrays[1].view.len / 4, group_room = arrays[6].view.len / 4;
    if (end + SLACK > arrays[0].view.len || !holds(arrays + 2, room, 4) || !holds(arrays + 3, room, 8) ||
        !holds(arrays + 4, room, 8) || !holds(arrays + 5, group_room + 1, 4) ||
        !holds(arrays + 7, group_room, 4) || !holds(arrays + 8, group_room, 8) || end > INT32_MAX) {
        give_back(arrays);
        return too_small();
    }
    const byte *body = arrays[0].view.buf, *p = body, *stop = body + end;
    int32_t *at = arrays[1].view.buf, *length = arrays[2].view.buf;
    uint64_t *hash = arrays[3].view.buf;
    double *score = arrays[4].view.buf;
    int32_t *group_start = arrays[5].view.buf, *group_at = arrays[6].view.buf;
    int32_t *group_length = arrays[7].view.buf;
    int64_t *group_line = arrays[8].view.buf;

    int64_t entries = 0, groups = 0, line = 0, last_rank = 0, start_line = 0;
    const byte *group_begins = body, *topic = NULL, *tag = NULL;
    Shared prefix = {0}, tail = {0};
    int64_t topic_length = -1, tag_length = 0;
    int flags = 0, ok = 1, value_field = (int)fields == 6 ? 4 : 3;
    const byte *field[6], *field_end[6];

    PyThreadState *released = let_go(end);
    if (strict && memchr(body, 127, (size_t)end)) ok = 0;
    if (strict && ok) {
        uint64_t all = 0;
        const byte *q = body;
        for (; q + 8 <= stop; q += 8) all |= word_at(q);
        for (; q < stop; q++) all |= *q;
        if (all & 0x8080808080808080u) flags |= FLAG_BYTES;
    }
    while (ok && p < stop) {
        if (tail.length) {
            Found found = {at, length, hash, score, entries, room, id_bytes};
            p = repeated(body, p, stop, &prefix, &tail, (int)strict, &last_rank, &flags, &found, &released);
            line += found.entries - entries;
            entries = found.entries;
            if (p == stop) break;
        }
        const byte *begins = p;
        if (*p == '#') {
            flags |= FLAG_COMMENTS;
            const byte *over = memchr(p, '\n', (size_t)(stop - p));
            ok = harmless(p, over);
            if (!ok) break;
            p = over + 1;
            line++;
            continue;
        }
        while (is_blank(*p)) p++;
        if (*p == '\n') {
            p++;
            line++;
            continue;
        }
        int count = 0;
        for (; ok && count < fields && *p != '\n'; count++) {
            field[count] = p;
            p = token_end(p);
            while (*p < 33 && *p != '\n' && !is_blank(*p)) {
                ok = ok && !strict && *p;
                p = token_end(p + 1);
            }
            field_end[count] = p;
            while (is_blank(*p)) p++;
        }
        if (count < fields || (strict && *p != '\n')) ok = 0;
        if (!ok) break;
        if (*p != '\n') {
            const byte *over = memchr(p, '\n', (size_t)(stop - p));
            ok = harmless(begins, over);
            if (!ok) break;
            p = over;
        }
        p++;

        int64_t this_length = field_end[0] - field[0], this_second = field_end[1] - field[1];
        int same = this_length == topic_length && same_bytes(field[0], topic, topic_length);
        if (!same) {
            if (groups >= group_room || this_length > id_bytes) {
                ok = 0;
                break;
            }
            group_begins = begins;
            start_line = line;
            topic = field[0];
            topic_length = this_length;
            group_start[groups] = (int32_t)entries;
            group_at[groups] = (int32_t)(topic - body);
            group_length[groups] = (int32_t)topic_length;
            group_line[groups++] = line;
        }
        if (fields == 6) {
            prefix = shared_bytes(begins, field[2] - begins);
            tail = shared_bytes(field_end[4], p - field_end[4]);
            if (this_second != 2 || field[1][0] != 'Q' || field[1][1] != '0') flags |= FLAG_SECOND;
            int64_t this_tag = field_end[5] - field[5];
            if (tag && (this_tag != tag_length || !same_bytes(tag, field[5], tag_length))) flags |= FLAG_TAGS;
            if (this_tag > id_bytes) ok = 0;
            tag = field[5];
            tag_length = this_tag;
        } else {
            if (tag && (this_second != tag_length || !same_bytes(tag, field[1], tag_length)))
                flags |= FLAG_SECOND;
            tag = field[1];
            tag_length = this_second;
            if (this_second > id_bytes) ok = 0;
            const byte *digits = field[3] + (*field[3] == '-' || *field[3] == '+'), *q = digits;
            while ((byte)(*q - '0') < 10) q++;
            if (q != field_end[3] || q - digits > GRADE_DIGITS) flags |= FLAG_RANK;
        }
        int64_t docno_length = field_end[2] - field[2];
        if (entries >= room || docno_length > id_bytes ||
            !number(field[value_field], field_end[value_field], score + entries, &released)) {
            ok = 0;
            break;
        }
        at[entries] = (int32_t)(field[2] - body);
        length[entries] = (int32_t)docno_length;
        hash[entries] = hash_of(field[2], docno_length);
        if (fields == 6 && strict)
            flags |= rank_flags(field[3], field_end[3], &last_rank, score + entries, same);
        entries++;
        line++;
    }
    int64_t consumed = p - body;
    if (!final && groups) {
        /* The last topic may go on in the next block. */
        groups--;
        entries = group_start[groups];
        consumed = group_begins - body;
        line = start_line;
    }
    group_start[groups] = (int32_t)entries;
    take_back(&released);
    PyObject *result = Py_BuildValue("iLLLLiLL", ok, (long long)entries, (long long)groups, (long long)consumed,
                                     (long long)line, flags, (long long)(tag ? tag - body : 0),
                                     (long long)tag_length);
    give_back(arrays);
    return result;
}

/* Bytes of one docno against another's, as strcmp orders them. The first of a word is made the highest. */
static inline int compared(const byte *body, const int32_t *at, const int32_t *length, int32_t one, int32_t two) {
    int32_t a = length[one], b = length[two], common = a < b ? a : b;
    const byte *p = body + at[one], *q = body + at[two];
    for (; common > 0; p += 8, q += 8, common -= 8) {
        uint64_t left = __builtin_bswap64(word_at(p)), right = __builtin_bswap64(word_at(q));
        uint64_t beyond = common < 8 ? ~(uint64_t)0 >> 8 * common : 0;
        if ((left | beyond) != (right | beyond)) return left > right ? 1 : -1;
    }
    return (a > b) - (a < b);
}

/* Sort indices by docno, descending: a merge sort, since a tie may be as long as the ranking. */
static void by_docno(const byte *body, const int32_t *at, const int32_t *length, int32_t *which, int32_t *spare,
                     int64_t count) {
    if (count < 12) {
        for (int64_t i = 1; i < count; i++) {
            int32_t moved = which[i];
            int64_t j = i;
            for (; j && compared(body, at, length, which[j - 1], moved) < 0; j--) which[j] = which[j - 1];
            which[j] = moved;
        }
        return;
    }
    int64_t half = count / 2, i = 0, j = half, k = 0;
    by_docno(body, at, length, which, spare, half);
    by_docno(body, at, length, which + half, spare, count - half);
    memcpy(spare, which, (size_t)count * 4);
    while (i < half && j < count)
        which[k++] = compared(body, at, length, spare[i], spare[j]) >= 0 ? spare[i++] : spare[j++];
    while (i < half) which[k++] = spare[i++];
    while (j < count) which[k++] = spare[j++];
}

typedef struct {
    uint64_t key;
    int32_t index;
} Keyed;

/* Sort by key, ascending and stable, byte by byte from the lowest; returns where the result lies. */
static Keyed *by_key(Keyed *from, Keyed *to, int64_t count) {
    uint32_t counts[8][256] = {{0}};
    for (int64_t i = 0; i < count; i++)
        for (int digit = 0; digit < 8; digit++) counts[digit][(from[i].key >> (8 * digit)) & 255]++;
    for (int digit = 0; digit < 8; digit++) {
        uint32_t *places = counts[digit], sum = 0;
        if (places[(from[0].key >> (8 * digit)) & 255] == count) continue;
        for (int value = 0; value < 256; value++) {
            uint32_t here = places[value];
            places[value] = sum;
            sum += here;
        }
        for (int64_t i = 0; i < count; i++) to[places[(from[i].key >> (8 * digit)) & 255]++] = from[i];
        Keyed *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

static inline double compared_score(double score, int single) { return single ? (double)(float)score : score; }

/* How many neighbours are equal; *rising says whether one is greater than the one before. */
static inline int32_t equal_neighbours(const double *score, int64_t count, int single, int *rising) {
    int64_t equal = 0, greater = 0;
    for (int64_t i = 1; i < count; i++) {
        double here = compared_score(score[i], single), before = compared_score(score[i - 1], single);
        greater += here > before;
        equal += here == before;
    }
    *rising = greater > 0;
    return (int32_t)equal;
}

/* Puts a ranking's entries, counted from the first, best first; returns how many neighbours are equal. spare: for
   two lists of them and their scores. */
static inline int32_t ordered(const byte *body, const int32_t *at, const int32_t *length, const double *score,
                              int32_t first, int64_t count, int single, Keyed *spare, int32_t *out) {
    int rising;
    int32_t ties = equal_neighbours(score, count, single, &rising);
    for (int64_t i = 0; i < count; i++) out[i] = first + (int32_t)i;
    if (rising) {
        double *sorted_score = (double *)(spare + 2 * count);
        for (int64_t i = 0; i < count; i++) {
            /* Adding 0 makes -0 and 0 one key; the rest turns doubles into words of opposite order. */
            double value = compared_score(score[i], single) + 0.0;
            uint64_t bits;
            memcpy(&bits, &value, 8);
            spare[i].key = bits >> 63 ? bits : ~(bits | (uint64_t)1 << 63);
            spare[i].index = (int32_t)i;
        }
        const Keyed *sorted = by_key(spare, spare + count, count);
        for (int64_t i = 0; i < count; i++) {
            out[i] = first + sorted[i].index;
            sorted_score[i] = score[sorted[i].index];
        }
        score = sorted_score;
        ties = equal_neighbours(score, count, single, &rising);
    }
    int32_t left = ties;
    for (int64_t i = 0; left; i++) {
        int64_t start = i;
        double value = compared_score(score[i], single);
        while (i + 1 < count && compared_score(score[i + 1], single) == value) i++;
        if (i > start) by_docno(body, at, length, out + start, (int32_t *)spare, i + 1 - start);
        left -= (int32_t)(i - start);
    }
    return ties;
}

/* order(body, at, length, score, group_start, groups, single, order, ties) -> None */
static PyObject *order(PyObject *self, PyObject *args) {
    (void)self;
    Array arrays[ARRAYS] = {{{0}, 0}};
    if (PyTuple_Size(args) != 9) return too_small();
    int64_t groups = whole(args, 5), single = whole(args, 6);
    if (PyErr_Occurred()) return NULL;
    if (!take(args, 0, 5, arrays, "rrrrr") || !take(args, 7, 2, arrays + 5, "ww")) {
        give_back(arrays);
        return NULL;
    }
    const byte *body = arrays[0].view.buf;
    const int32_t *at = arrays[1].view.buf, *length = arrays[2].view.buf, *group_start = arrays[4].view.buf;
    const double *score = arrays[3].view.buf;
    int32_t *out = arrays[5].view.buf, *ties = arrays[6].view.buf;
    int64_t longest = 0;
    int fits = holds(arrays + 4, groups + 1, 4) && holds(arrays + 6, groups, 4);
    for (int64_t group = 0; fits && group < groups; group++) {
        int64_t size = group_start[group + 1] - group_start[group];
        longest = size > longest ? size : longest;
    }
    int64_t entries = fits ? group_start[groups] : 0;
    fits = fits && holds(arrays + 1, entries, 4) && holds(arrays + 2, entries, 4) && holds(arrays + 3, entries, 8) &&
           holds(arrays + 5, entries, 4);
    Keyed *spare = fits ? malloc((size_t)longest * (2 * sizeof(Keyed) + 8) + 1) : NULL;
    if (!spare) {
        give_back(arrays);
        return fits ? PyErr_NoMemory() : too_small();
    }
    PyThreadState *released = let_go(entries);
    for (int64_t group = 0; group < groups; group++) {
        int32_t first = group_start[group];
        int64_t count = group_start[group + 1] - first;
        /* Two calls: each is made a loop without the question. */
        ties[group] = single ? ordered(body, at, length, score + first, first, count, 1, spare, out + first)
                             : ordered(body, at, length, score + first, first, count, 0, spare, out + first);
    }
    free(spare);
    take_back(&released);
    give_back(arrays);
    Py_RETURN_NONE;
}

/* Bits of a table of hashes; a group of usual size leaves nearly all of them unset. */
enum { BITS = 1 << 16, SUSPECTS = 128 };

static inline int same_document(const byte *body, const int32_t *at, const int32_t *length, const uint64_t *hash,
                                int32_t one, int32_t two) {
    return hash[one] == hash[two] && length[one] == length[two] &&
           !memcmp(body + at[one], body + at[two], (size_t)length[one]);
}

/* Whether a document is twice among the entries; -1 where too many have a bit in common to say. Without a
   jump that depends on the hashes, of which every other one would be guessed wrongly. */
static int twice_by_bits(const byte *body, const int32_t *at, const int32_t *length, const uint64_t *hash,
                         int32_t first, int32_t end, uint64_t *bits) {
    uint64_t *seen = bits, *again = bits + BITS / 64;
    memset(bits, 0, 2 * BITS / 8);
    for (int32_t entry = first; entry < end; entry++) {
        uint64_t place = (hash[entry] >> 20) & (BITS - 1), bit = (uint64_t)1 << (place & 63);
        again[place >> 6] |= seen[place >> 6] & bit;
        seen[place >> 6] |= bit;
    }
    int32_t suspects[SUSPECTS];
    int count = 0;
    for (int32_t entry = first; entry < end; entry++) {
        uint64_t place = (hash[entry] >> 20) & (BITS - 1);
        if (!(again[place >> 6] >> (place & 63) & 1)) continue;
        for (int other = 0; other < count; other++)
            if (same_document(body, at, length, hash, suspects[other], entry)) return 1;
        if (count == SUSPECTS) return -1;
        suspects[count++] = entry;
    }
    return 0;
}

/* The same by a table with room for all entries. */
static int twice_by_table(const byte *body, const int32_t *at, const int32_t *length, const uint64_t *hash,
                          int32_t first, int32_t end, int32_t *slots) {
    uint64_t size = 16;
    while (size < 2 * (uint64_t)(end - first)) size *= 2;
    memset(slots, 255, size * 4);
    for (int32_t entry = first; entry < end; entry++) {
        uint64_t slot = (hash[entry] >> 20) & (size - 1);
        for (; slots[slot] >= 0; slot = (slot + 1) & (size - 1))
            if (same_document(body, at, length, hash, slots[slot], entry)) return 1;
        slots[slot] = entry;
    }
    return 0;
}

/* doubled(body, at, length, hash, group_start, groups) -> the first group with a document twice, or -1 */
static PyObject *doubled(PyObject *self, PyObject *args) {
    (void)self;
    Array arrays[ARRAYS] = {{{0}, 0}};
    if (PyTuple_Size(args) != 6) return too_small();
    int64_t groups = whole(args, 5);
    if (PyErr_Occurred()) return NULL;
    if (!take(args, 0, 5, arrays, "rrrrr")) {
        give_back(arrays);
        return NULL;
    }
    const byte *body = arrays[0].view.buf;
    const int32_t *at = arrays[1].view.buf, *length = arrays[2].view.buf, *group_start = arrays[4].view.buf;
    const uint64_t *hash = arrays[3].view.buf;
    int64_t room = 0, longest = 0, found = -1;
    if (!holds(arrays + 4, groups + 1, 4) || !holds(arrays + 1, group_start[groups], 4) ||
        !holds(arrays + 2, group_start[groups], 4) || !holds(arrays + 3, group_start[groups], 8)) {
        give_back(arrays);
        return too_small();
    }
    for (int64_t group = 0; group < groups; group++) {
        int64_t size = group_start[group + 1] - group_start[group];
        longest = size > longest ? size : longest;
    }
    for (room = 16; room < 2 * longest; room *= 2) {}
    /* One piece of memory for both ways, the bits first. */
    byte *spare = malloc(2 * BITS / 8 + (size_t)room * 4);
    if (!spare) {
        give_back(arrays);
        return PyErr_NoMemory();
    }
    uint64_t *bits = (uint64_t *)spare;
    int32_t *slots = (int32_t *)(spare + 2 * BITS / 8);
    PyThreadState *released = let_go(group_start[groups]);
    for (int64_t group = 0; group < groups && found < 0; group++) {
        int32_t first = group_start[group], end = group_start[group + 1];
        /* Few entries need no more than a small table, very many set too many bits. */
        int by_bits = end - first > 256 && end - first <= 2048;
        int twice = by_bits ? twice_by_bits(body, at, length, hash, first, end, bits) : -1;
        if (twice < 0) twice = twice_by_table(body, at, length, hash, first, end, slots);
        if (twice) found = group;
    }
    free(spare);
    take_back(&released);
    give_back(arrays);
    return PyLong_FromLongLong(found);
}

/* hashes(body, at, length, hash) -> None */
static PyObject *hashes(PyObject *self, PyObject *args) {
    (void)self;
    Array arrays[ARRAYS] = {{{0}, 0}};
    if (PyTuple_Size(args) != 4 || !take(args, 0, 4, arrays, "rrrw")) {
        give_back(arrays);
        return PyErr_Occurred() ? NULL : too_small();
    }
    const byte *body = arrays[0].view.buf;
    const int32_t *at = arrays[1].view.buf, *length = arrays[2].view.buf;
    uint64_t *hash = arrays[3].view.buf;
    int64_t entries = arrays[3].view.len / 8;
    int fits = holds(arrays + 1, entries, 4) && holds(arrays + 2, entries, 4);
    for (int64_t entry = 0; fits && entry < entries; entry++) {
        fits = (int64_t)at[entry] + length[entry] + SLACK <= arrays[0].view.len;
        if (fits) hash[entry] = hash_of(body + at[entry], length[entry]);
    }
    give_back(arrays);
    if (!fits) return too_small();
    Py_RETURN_NONE;
}

/* index(hash, starts, slots, slot_starts) -> None: an open table of documents for every topic */
static PyObject *index_documents(PyObject *self, PyObject *args) {
    (void)self;
    Array arrays[ARRAYS] = {{{0}, 0}};
    if (PyTuple_Size(args) != 4 || !take(args, 0, 4, arrays, "rrwr")) {
        give_back(arrays);
        return PyErr_Occurred() ? NULL : too_small();
    }
    const uint64_t *hash = arrays[0].view.buf;
    const int64_t *starts = arrays[1].view.buf, *slot_starts = arrays[3].view.buf;
    int32_t *slots = arrays[2].view.buf;
    int64_t topics = arrays[1].view.len / 8 - 1;
    int fits = holds(arrays + 3, topics + 1, 8) && holds(arrays + 2, slot_starts[topics], 4) &&
               holds(arrays + 0, starts[topics], 8);
    for (int64_t topic = 0; fits && topic < topics; topic++) {
        uint64_t mask = (uint64_t)(slot_starts[topic + 1] - slot_starts[topic]) - 1;
        int32_t *table = slots + slot_starts[topic];
        for (int64_t document = starts[topic]; document < starts[topic + 1]; document++) {
            uint64_t slot = (hash[document] >> 20) & mask;
            while (table[slot] >= 0) slot = (slot + 1) & mask;
            table[slot] = (int32_t)document;
        }
    }
    give_back(arrays);
    if (!fits) return too_small();
    Py_RETURN_NONE;
}

/* Bits of a filter of a topic's judged documents, by a part of their hashes; entries that pass at a time. */
enum { FILTER_BITS = 1 << 16, PASSING = 256 };

static inline uint64_t filter_place(uint64_t hash, uint64_t mask) { return (hash >> 40) & mask; }

/* Sets a bit for each judged document of a topic; returns the mask of places in use. Where these are more than
   the entries, to look at them would take longer than it saves, and every entry passes. */
static uint64_t filter_of(const uint64_t *hash, int64_t first, int64_t end, int64_t entries, uint64_t *filter) {
    uint64_t bits = 512;
    int all_pass = end - first > entries;
    while (bits < FILTER_BITS && bits < 32 * (uint64_t)(end - first)) bits *= 2;
    memset(filter, all_pass ? 255 : 0, bits / 8);
    for (int64_t document = first; !all_pass && document < end; document++) {
        uint64_t place = filter_place(hash[document], bits - 1);
        filter[place >> 6] |= (uint64_t)1 << (place & 63);
    }
    return bits - 1;
}

/* hits(body, at, length, hash, order, group_start, place, depth, letters, document_at, document_length,
         document_hash, starts, slots, slot_starts, hit_topic, hit_rank, hit_document) -> hits */
static PyObject *hits_of(PyObject *self, PyObject *args) {
    (void)self;
    Array arrays[ARRAYS] = {{{0}, 0}};
    if (PyTuple_Size(args) != 18) return too_small();
    int64_t depth = whole(args, 7);
    if (PyErr_Occurred()) return NULL;
    if (!take(args, 0, 7, arrays, "rrrrrrr") || !take(args, 8, 10, arrays + 7, "rrrrrrrwww")) {
        give_back(arrays);
        return NULL;
    }
    const byte *body = arrays[0].view.buf, *letters = arrays[7].view.buf;
    const int32_t *at = arrays[1].view.buf, *length = arrays[2].view.buf, *best = arrays[4].view.buf;
    const int32_t *group_start = arrays[5].view.buf, *place = arrays[6].view.buf;
    const uint64_t *hash = arrays[3].view.buf, *document_hash = arrays[10].view.buf;
    const int32_t *document_at = arrays[8].view.buf, *document_length = arrays[9].view.buf;
    const int64_t *starts = arrays[11].view.buf, *slot_starts = arrays[13].view.buf;
    const int32_t *slots = arrays[12].view.buf;
    int64_t *hit_topic = arrays[14].view.buf, *hit_rank = arrays[15].view.buf, *hit_document = arrays[16].view.buf;
    int64_t groups = arrays[6].view.len / 4, room = arrays[14].view.len / 8, hits = 0;
    int fits = holds(arrays + 15, room, 8) && holds(arrays + 16, room, 8) && holds(arrays + 5, groups + 1, 4);
    uint64_t filter[FILTER_BITS / 64];
    PyThreadState *released = let_go(fits ? group_start[groups] : 0);
    for (int64_t group = 0; fits && group < groups; group++) {
        int32_t topic = place[group];
        if (topic < 0) continue;
        const int32_t *table = slots + slot_starts[topic];
        uint64_t mask = (uint64_t)(slot_starts[topic + 1] - slot_starts[topic]) - 1;
        int32_t first = group_start[group], end = group_start[group + 1];
        if (end - first > depth) end = first + (int32_t)depth;
        uint64_t places = filter_of(document_hash, starts[topic], starts[topic + 1], end - first, filter);
        for (int32_t rank = first; fits && rank < end;) {
            /* First without a jump that depends on the hashes, which would often be guessed wrongly: most that
               pass are judged. */
            int32_t passing[PASSING], stop = end - rank > PASSING ? rank + PASSING : end;
            int count = 0;
            for (; rank < stop; rank++) {
                uint64_t bit = filter_place(hash[best[rank]], places);
                passing[count] = rank;
                count += filter[bit >> 6] >> (bit & 63) & 1;
            }
            for (int passed = 0; fits && passed < count; passed++) {
                int32_t entry = best[passing[passed]];
                for (uint64_t slot = (hash[entry] >> 20) & mask; table[slot] >= 0; slot = (slot + 1) & mask) {
                    int32_t document = table[slot];
                    if (document_hash[document] != hash[entry] || document_length[document] != length[entry] ||
                        !same_bytes(letters + document_at[document], body + at[entry], length[entry]))
                        continue;
                    fits = hits < room;
                    if (!fits) break;
                    hit_topic[hits] = topic;
                    hit_rank[hits] = passing[passed] - first + 1;
                    hit_document[hits++] = document;
                    break;
                }
            }
        }
    }
    take_back(&released);
    give_back(arrays);
    return fits ? PyLong_FromLongLong(hits) : too_small();
}

/* Where the line begins that p is in, or that ends before p. */
static inline const byte *line_start(const byte *body, const byte *p) {
#ifdef __SSE2__
    for (; p - body >= 16; p -= 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(p - 16));
        unsigned ends = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')));
        if (ends) return p - __builtin_clz(ends << 16);
    }
#endif
    while (p > body && p[-1] != '\n') p--;
    return p;
}

/* last_topic(body, end, patience) -> where the lines of the last topic begin, or -1 where none has an entry, or as
   many as that one after the other have none. The body ends with a newline. */
static PyObject *last_topic(PyObject *self, PyObject *args) {
    (void)self;
    Array arrays[ARRAYS] = {{{0}, 0}};
    if (PyTuple_Size(args) != 3) return too_small();
    int64_t end = whole(args, 1), patience = whole(args, 2), without = 0, found = -1;
    if (PyErr_Occurred()) return NULL;
    if (!take(args, 0, 1, arrays, "r")) {
        give_back(arrays);
        return NULL;
    }
    const byte *body = arrays[0].view.buf, *topic = NULL;
    int64_t length = 0;
    int fits = end > 0 && end <= arrays[0].view.len && body[end - 1] == '\n';
    for (const byte *line = body + (fits ? end : 0); line > body && without < patience;) {
        line = line_start(body, line - 1);
        const byte *first = line;
        while (is_blank(*first)) first++;
        without++;
        if (*line == '#' || *first == '\n') continue;
        without = 0;
        const byte *over = first;
        while (*over != '\n' && !is_blank(*over)) over++;
        if (topic && (over - first != length || memcmp(topic, first, (size_t)length))) break;
        topic = first;
        length = over - first;
        found = line - body;
    }
    give_back(arrays);
    return fits ? PyLong_FromLongLong(without < patience ? found : -1) : too_small();
}

/* joined(body, at, length, which, separator) -> bytes: those docnos, each followed by the separator if >= 0 */
static PyObject *joined(PyObject *self, PyObject *args) {
    (void)self;
    Array arrays[ARRAYS] = {{{0}, 0}};
    if (PyTuple_Size(args) != 5) return too_small();
    int64_t separator = whole(args, 4), total = 0;
    if (PyErr_Occurred()) return NULL;
    if (!take(args, 0, 4, arrays, "rrrr")) {
        give_back(arrays);
        return NULL;
    }
    const byte *body = arrays[0].view.buf;
    const int32_t *at = arrays[1].view.buf, *length = arrays[2].view.buf, *which = arrays[3].view.buf;
    int64_t count = arrays[3].view.len / 4;
    for (int64_t i = 0; i < count; i++) total += length[which[i]] + (separator >= 0);
    PyObject *result = PyBytes_FromStringAndSize(NULL, total);
    if (result) {
        char *out = PyBytes_AsString(result);
        for (int64_t i = 0; i < count; i++) {
            memcpy(out, body + at[which[i]], (size_t)length[which[i]]);
            out += length[which[i]];
            if (separator >= 0) *out++ = (char)separator;
        }
    }
    give_back(arrays);
    return result;
}

/* Letters that grow, with SLACK bytes behind what is used. */
typedef struct {
    byte *letters;
    int64_t used, room;
} Letters;

static int grown(Letters *body, int64_t more) {
    if (body->used + more + SLACK <= body->room) return 1;
    int64_t room = 2 * (body->used + more + SLACK);
    byte *letters = room > INT32_MAX ? NULL : realloc(body->letters, (size_t)room);
    if (!letters) return 0;
    body->letters = letters;
    body->room = room;
    return 1;
}

/* Takes the documents of one dictionary; 0 where something in it needs a closer look. */
static int gather(PyObject *documents, Letters *body, Found *found) {
    PyObject *docno, *value;
    Py_ssize_t place = 0, size;
    if (!PyDict_Check(documents)) return 0;
    while (PyDict_Next(documents, &place, &docno, &value)) {
        /* A number of another kind is read by Python, which could change the dictionary meanwhile. */
        if (!PyFloat_Check(value) && !PyLong_Check(value)) return 0;
        const char *text = PyUnicode_Check(docno) ? PyUnicode_AsUTF8AndSize(docno, &size) : NULL;
        if (!text || found->entries >= found->room || size > found->id_bytes || !grown(body, size)) return 0;
        double score = PyFloat_AsDouble(value);
        if (!isfinite(score) || (score == -1.0 && PyErr_Occurred())) return 0;
        memcpy(body->letters + body->used, text, (size_t)size);
        found->at[found->entries] = (int32_t)body->used;
        found->length[found->entries] = (int32_t)size;
        found->hash[found->entries] = hash_of(body->letters + body->used, size);
        found->score[found->entries++] = score;
        body->used += size;
    }
    return 1;
}

/* gathered(topics, id_bytes, at, length, hash, score) -> the letters, or None where something is unusual */
static PyObject *gathered(PyObject *self, PyObject *args) {
    (void)self;
    Array arrays[ARRAYS] = {{{0}, 0}};
    if (PyTuple_Size(args) != 6) return too_small();
    PyObject *topics = PyTuple_GetItem(args, 0), *result = NULL;
    int64_t id_bytes = whole(args, 1);
    if (PyErr_Occurred()) return NULL;
    if (!PyList_Check(topics) || !take(args, 2, 4, arrays, "wwww")) {
        give_back(arrays);
        return PyErr_Occurred() ? NULL : too_small();
    }
    int64_t room = arrays[0].view.len / 4;
    int is_usual = holds(arrays + 1, room, 4) && holds(arrays + 2, room, 8) && holds(arrays + 3, room, 8);
    Found found = {arrays[0].view.buf, arrays[1].view.buf, arrays[2].view.buf, arrays[3].view.buf, 0, room, id_bytes};
    Letters body = {NULL, 0, 0};
    is_usual = is_usual && grown(&body, 32 * room);
    for (Py_ssize_t topic = 0; is_usual && topic < PyList_Size(topics); topic++)
        is_usual = gather(PyList_GetItem(topics, topic), &body, &found);
    if (is_usual && found.entries == room) {
        memset(body.letters + body.used, 0, SLACK);
        result = PyBytes_FromStringAndSize((const char *)body.letters, body.used + SLACK);
    } else {
        PyErr_Clear();
        result = Py_None;
        Py_INCREF(result);
    }
    free(body.letters);
    give_back(arrays);
    return result;
}

/* Writes a number as "%6.*f" does, or as "%.0f" for no digits. Most lie so far from the middle between two
   decimals that multiplying says which one is nearer; the others are left to Python. Returns the end, or NULL. */
static byte *written(byte *out, double value, int digits) {
    char text[32];
    int size = 0;
    double scaled = value * POWERS[digits];
    uint64_t nearest = value >= 0 && scaled < 1e12 ? (uint64_t)(scaled + 0.5) : 0;
    double apart = scaled - (double)nearest;
    if (!(value >= 0 && scaled < 1e12) || signbit(value) || fabs(fabs(apart) - 0.5) < 1e-3) {
        char *slow = PyOS_double_to_string(value, 'f', digits, 0, NULL);
        if (!slow) return NULL;
        size = (int)strlen(slow);
        for (int blanks = digits ? 6 - size : 0; blanks > 0; blanks--) *out++ = ' ';
        memcpy(out, slow, (size_t)size);
        PyMem_Free(slow);
        return out + size;
    }
    char *p = text + sizeof text;
    for (int place = 0; place < digits; place++, nearest /= 10) *--p = (char)('0' + nearest % 10);
    if (digits) *--p = '.';
    do *--p = (char)('0' + nearest % 10);
    while (nearest /= 10);
    size = (int)(text + sizeof text - p);
    for (int blanks = digits ? 6 - size : 0; blanks > 0; blanks--) *out++ = ' ';
    memcpy(out, p, (size_t)size);
    return out + size;
}

/* The longest a double is with as many digits behind its point as can be asked for. */
enum { LONGEST_NUMBER = 340, MOST_DIGITS = 17 };

/* printed(heads, topics, values, digits, texts) -> bytes: for every topic a line for each head, the topic and
   a value of its row of values (lines, topics), or of the text that stands instead of one. */
static PyObject *printed(PyObject *self, PyObject *args) {
    (void)self;
    Array arrays[ARRAYS] = {{{0}, 0}};
    if (PyTuple_Size(args) != 5 || !take(args, 2, 2, arrays, "rr")) {
        give_back(arrays);
        return PyErr_Occurred() ? NULL : too_small();
    }
    PyObject *heads = PyTuple_GetItem(args, 0), *topics = PyTuple_GetItem(args, 1), *texts = PyTuple_GetItem(args, 4);
    const double *values = arrays[0].view.buf;
    const int32_t *digits = arrays[1].view.buf;
    int64_t lines = PyList_Check(heads) ? PyList_Size(heads) : 0, count = PyList_Check(topics) ? PyList_Size(topics) : 0;
    int fits = holds(arrays, lines * count, 8) && holds(arrays + 1, lines, 4) && PyDict_Check(texts);
    byte *room = NULL, *out = NULL;
    int64_t size = 0;
    for (int64_t topic = 0; fits && topic < count; topic++) {
        char *name, *head, *text;
        Py_ssize_t name_length, head_length, text_length;
        fits = !PyBytes_AsStringAndSize(PyList_GetItem(topics, topic), &name, &name_length);
        for (int64_t line = 0; fits && line < lines; line++) {
            fits = digits[line] >= 0 && digits[line] <= MOST_DIGITS &&
                   !PyBytes_AsStringAndSize(PyList_GetItem(heads, line), &head, &head_length);
            if (!fits) break;
            PyObject *instead = NULL, *key = PyLong_FromLongLong(line);
            if (key) instead = PyDict_GetItemWithError(texts, key);
            Py_XDECREF(key);
            text_length = 0;
            if (instead)
                fits = PyList_Check(instead) && PyList_Size(instead) == count &&
                       !PyBytes_AsStringAndSize(PyList_GetItem(instead, topic), &text, &text_length);
            int64_t more = head_length + name_length + text_length + LONGEST_NUMBER + 2, used = out - room;
            if (fits && used + more > size) {
                size = 2 * (used + more);
                byte *larger = realloc(room, (size_t)size);
                fits = larger != NULL;
                if (fits) out = larger + used;
                room = fits ? larger : room;
            }
            if (!fits) break;
            memcpy(out, head, (size_t)head_length);
            memcpy(out + head_length, name, (size_t)name_length);
            out += head_length + name_length;
            *out++ = '\t';
            if (instead) memcpy(out, text, (size_t)text_length);
            out = instead ? out + text_length : written(out, values[line * count + topic], digits[line]);
            fits = out != NULL;
            if (fits) *out++ = '\n';
        }
    }
    PyObject *result = fits ? PyBytes_FromStringAndSize((const char *)room, out - room) : NULL;
    free(room);
    give_back(arrays);
    return fits || PyErr_Occurred() ? result : too_small();
}

static PyMethodDef METHODS[] = {
    {"columns", columns, METH_VARARGS, NULL},
    {"order", order, METH_VARARGS, NULL},
    {"doubled", doubled, METH_VARARGS, NULL},
    {"hashes", hashes, METH_VARARGS, NULL},
    {"index_documents", index_documents, METH_VARARGS, NULL},
    {"hits", hits_of, METH_VARARGS, NULL},
    {"last_topic", last_topic, METH_VARARGS, NULL},
    {"joined", joined, METH_VARARGS, NULL},
    {"gathered", gathered, METH_VARARGS, NULL},
    {"printed", printed, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_kernel", NULL, 0, METHODS, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernel(void) { return PyModuleDef_Init(&MODULE); }

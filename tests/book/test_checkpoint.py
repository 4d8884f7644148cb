"""Signed notes, verifier keys and checkpoints: C2SP signed-note and tlog-checkpoint."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from beforehand.book.checkpoint import (
    Checkpoint,
    VerifierKey,
    open_note,
    sign_note,
    strict_base64,
)
from beforehand.errors import FormatError, IntegrityError

ORIGIN = "example.org/vector/book"
PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY = VerifierKey(ORIGIN, PRIVATE.public_key().public_bytes_raw())
OTHER_PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(32))
OTHER = VerifierKey("witness.example/w", OTHER_PRIVATE.public_key().public_bytes_raw())

TEXT = "one line\nand a second — π\n"
NOTE = sign_note(TEXT, KEY, PRIVATE.sign)
SIGNATURE = NOTE.rpartition("\n\n")[2]
OTHERS = sign_note(TEXT, OTHER, OTHER_PRIVATE.sign).rpartition("\n\n")[2]


def refused(note: str | bytes) -> None:
    data = note if isinstance(note, bytes) else note.encode("utf-8")
    with pytest.raises((FormatError, IntegrityError)):
        open_note(data, KEY)


# ---- the vector


def test_vector_opens(book_vector: dict[str, Any]) -> None:
    assert book_vector["public_key_hex"] == KEY.public.hex()
    point = Checkpoint.open(book_vector["checkpoint"].encode("utf-8"), KEY)
    root = base64.b64decode(book_vector["lines"][-1]["root_b64"])
    assert point == Checkpoint(ORIGIN, 7, root)


def test_signing_gives_the_very_vector(book_vector: dict[str, Any]) -> None:
    root = base64.b64decode(book_vector["lines"][-1]["root_b64"])
    note = sign_note(Checkpoint(ORIGIN, 7, root).text(), KEY, PRIVATE.sign)
    assert note == book_vector["checkpoint"]


def test_every_bit_flip_of_the_vector_is_refused(book_vector: dict[str, Any]) -> None:
    data = book_vector["checkpoint"].encode("utf-8")
    for place in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[place] ^= 1 << bit
            refused(bytes(changed))


def test_every_truncation_of_the_vector_is_refused(book_vector: dict[str, Any]) -> None:
    data = book_vector["checkpoint"].encode("utf-8")
    for end in range(len(data)):
        refused(data[:end])


# ---- base64


@given(st.binary(max_size=100))
def test_strict_base64_reads_what_base64_writes(data: bytes) -> None:
    assert strict_base64(base64.b64encode(data).decode("ascii")) == data


@pytest.mark.parametrize(
    "text",
    [
        *("AA", "AAA", "AA=", "A===", "AAAA=", "AAAA==", "====", "="),  # padding
        *("AB==", "AAB=", "//9="),  # bits beyond the last byte
        *(" AAAA", "AAAA ", "AA AA", "AA\nAA", "AAAA\n", "AA==\n", "AA\tAA"),  # spaces
        *("-_-_", "AA_A", "AA-A"),  # the URL alphabet
        *("AA=A", "=AAA", "AA==AA=="),  # padding in the middle
        *("ÄAAA", "AAA\u200b", "ＡAAA", "\x00AAA"),  # not of the alphabet
    ],
)
def test_any_other_spelling_of_base64_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        strict_base64(text)


def test_every_spelling_of_the_last_letter_but_one_is_refused() -> None:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

    def taken(text: str) -> bool:
        try:
            strict_base64(text)
        except FormatError:
            return False
        return True

    assert sum(taken(f"A{letter}==") for letter in letters) == 4  # two bits are used
    assert sum(taken(f"AA{letter}=") for letter in letters) == 16  # four bits


# ---- notes


@given(
    st.lists(
        st.text(st.characters(min_codepoint=0x20, exclude_categories=("Cs",)), max_size=20),
        min_size=1,
        max_size=6,
    )
)
def test_a_signed_note_opens_to_its_text(lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    assert open_note(sign_note(text, KEY, PRIVATE.sign).encode("utf-8"), KEY) == text


def test_text_may_hold_empty_lines_and_signature_like_lines() -> None:
    # "the text is separated from the signatures by the last empty line"
    for text in ("a\n\nb\n", "a\n\n\n", "\n\n", "a\n\n— fake AAAA\n"):
        assert open_note(sign_note(text, KEY, PRIVATE.sign).encode("utf-8"), KEY) == text


@pytest.mark.parametrize("text", ["", "no line feed", "a\n\nb"])
def test_a_text_without_a_final_line_feed_is_not_signed(text: str) -> None:
    with pytest.raises(FormatError):
        sign_note(text, KEY, PRIVATE.sign)


@pytest.mark.parametrize("text", ["a\rb\n", "a\tb\n", "\x00\n", "\x1b[31m\n", "\ud800\n"])
def test_no_note_is_signed_that_could_not_be_opened(text: str) -> None:
    # "Signed notes MUST NOT contain any ASCII control characters other than newline"
    with pytest.raises(FormatError):
        sign_note(text, KEY, PRIVATE.sign)


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("empty", ""),
        ("text alone", TEXT),
        ("no blank line", TEXT + SIGNATURE),
        ("no signature", TEXT + "\n"),
        ("no final line feed", NOTE[:-1]),
        ("a line feed too many", NOTE + "\n"),
        ("a blank line between signatures", NOTE + "\n" + OTHERS),
        ("text after the signature", NOTE + "more\n"),
        ("a blank line before the text", "\n" + NOTE),
        ("two blank lines", TEXT + "\n\n" + SIGNATURE),
        ("CRLF", NOTE.replace("\n", "\r\n")),
        ("CRLF in the signature", NOTE[:-1] + "\r\n"),
        ("CR", NOTE.replace("\n", "\r")),
        ("byte order mark", "\ufeff" + NOTE),
        ("hyphen for the dash", NOTE.replace("— example", "- example")),
        ("two hyphens", NOTE.replace("— example", "-- example")),
        ("en dash", NOTE.replace("— example", "– example")),
        ("horizontal bar", NOTE.replace("— example", "― example")),
        ("no space after the dash", NOTE.replace("— example", "—example")),
        ("two spaces", NOTE.replace("— example", "—  example")),
        ("no-break space", NOTE.replace("— example", "—\u00a0example")),
        ("a tab before the signature", NOTE.replace("book K", "book\tK")),
        ("a space at the end", NOTE[:-1] + " \n"),
        ("three words", NOTE[:-1] + " AAAA\n"),
        ("no name", NOTE.replace(f"— {ORIGIN} ", "—  ")),
        ("another name", NOTE.replace(f"— {ORIGIN}", "— example.org/other/book")),
        ("control character", NOTE.replace("one line", "one\x07line")),
        ("NUL", NOTE.replace("one line", "one\x00line")),
        ("tab", NOTE.replace("one line", "one\tline")),
        ("only another's signature", TEXT + "\n" + OTHERS),
    ],
)
def test_a_note_in_any_other_frame_is_refused(name: str, note: str) -> None:
    refused(note)


def test_a_note_that_is_not_utf8_is_refused() -> None:
    data = NOTE.encode("utf-8")
    refused(data.replace(b"one", b"on\xff"))
    refused(NOTE.encode("utf-16"))
    refused(data.replace("π".encode(), b"\xed\xa0\x80"))  # a surrogate in UTF-8's shape


def test_the_same_signature_twice_is_refused() -> None:
    refused(NOTE + SIGNATURE)
    refused(TEXT + "\n" + SIGNATURE + OTHERS + SIGNATURE)


def test_signatures_of_unknown_keys_are_ignored() -> None:
    # also where they share the name or the key id (not both) with the known key
    same_name = VerifierKey(ORIGIN, OTHER.public)
    lookalike = sign_note(TEXT, same_name, OTHER_PRIVATE.sign).rpartition("\n\n")[2]
    same_id = f"— other.example {base64.b64encode(KEY.key_id + bytes(64)).decode()}\n"
    ecdsa = f"— other.example {base64.b64encode(bytes(75)).decode()}\n"
    for others in (OTHERS, lookalike, same_id, ecdsa, OTHERS + lookalike + same_id + ecdsa):
        for note in (TEXT + "\n" + SIGNATURE + others, TEXT + "\n" + others + SIGNATURE):
            assert open_note(note.encode("utf-8"), KEY) == TEXT


def test_sixteen_signatures_are_accepted_and_thousands_are_not() -> None:
    # "Verifiers MUST accept at least up to 16 signatures"
    many = "".join(
        f"— w{i}.example {base64.b64encode(bytes([i]) * 68).decode()}\n" for i in range(15)
    )
    assert open_note((TEXT + "\n" + many + SIGNATURE).encode("utf-8"), KEY) == TEXT
    refused(TEXT + "\n" + many * 1000 + SIGNATURE)


def test_an_oversize_note_is_refused() -> None:
    huge = "x" * (2 << 20) + "\n"
    refused(sign_note(huge, KEY, PRIVATE.sign))


def test_malformed_signatures_of_others_are_refused() -> None:
    for coded in ("AAAA", "AAAAAA==", "", "AB==", "AAAA AAAA", "A_AA", "!!!!"):
        refused(TEXT + "\n" + SIGNATURE + f"— other.example {coded}\n")


def test_a_false_signature_of_the_known_key_refuses_the_note() -> None:
    # "If the key name and ID match a known key, verifiers MUST verify the signature"
    false = f"— {ORIGIN} {base64.b64encode(KEY.key_id + bytes(64)).decode()}\n"
    refused(TEXT + "\n" + false)
    refused(TEXT + "\n" + false + SIGNATURE)
    refused(TEXT + "\n" + SIGNATURE + false)
    short = f"— {ORIGIN} {base64.b64encode(KEY.key_id + bytes(63)).decode()}\n"
    refused(TEXT + "\n" + short)


# ---- verifier keys


def test_a_key_reads_as_it_is_written() -> None:
    assert VerifierKey.parse(KEY.text()) == KEY
    assert KEY.text().startswith(f"{ORIGIN}+2b791eda+AQOhB7")


@given(st.binary(min_size=32, max_size=32))
def test_any_key_reads_as_it_is_written(public: bytes) -> None:
    key = VerifierKey("example.org/x", public)
    assert VerifierKey.parse(key.text()) == key


NAME, ID, CODED = KEY.text().split("+", 2)
COSIGNER = base64.b64encode(b"\x04" + KEY.public).decode()


@pytest.mark.parametrize(
    "text",
    [
        *("", "+", "++", NAME, f"{NAME}+{ID}", f"+{ID}+{CODED}", f"{NAME}++{CODED}"),
        f"{NAME}x+{ID}+{CODED}",  # the id is of another name
        f"{NAME}+{OTHER.key_id.hex()}+{CODED}",
        f"{NAME}+{ID}+{OTHER.text().split('+', 2)[2]}",
        f"{NAME}+{ID.upper()}+{CODED}",
        *(f"{NAME}+{ID[1:]}+{CODED}", f"{NAME}+0{ID}+{CODED}", f"{NAME}+{ID} +{CODED}"),
        f"{NAME}+{ID}+{COSIGNER}",  # another kind of key
        f"{NAME}+{ID}+{base64.b64encode(KEY.public).decode()}",
        f"{NAME}+{ID}+{base64.b64encode(bytes([1]) + KEY.public + bytes(1)).decode()}",
        *(f"{NAME}+{ID}+{CODED}\n", f" {NAME}+{ID}+{CODED}", f"{NAME}+{ID}+{CODED}="),
        f"ex ample+{ID}+{CODED}",
        f"ex\u2003ample+{ID}+{CODED}",
    ],
)
def test_a_key_whose_parts_contradict_each_other_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        VerifierKey.parse(text)


# ---- checkpoints

ROOT = base64.b64encode(bytes(32)).decode()


@given(st.integers(0, 2**63 - 1), st.binary(min_size=32, max_size=32))
def test_a_checkpoint_reads_as_it_is_written(size: int, root: bytes) -> None:
    point = Checkpoint(ORIGIN, size, root)
    assert Checkpoint.parse(point.text()) == point


@pytest.mark.parametrize(
    "text",
    [
        *("", "\n", "\n\n\n", f"{ORIGIN}\n7\n", f"{ORIGIN}\n7\n{ROOT}", f"\n7\n{ROOT}\n"),
        *(f"{ORIGIN}\n{size}\n{ROOT}\n" for size in ("", "-1", "+1", "07", "00", "1.0", "1e3")),
        *(f"{ORIGIN}\n{size}\n{ROOT}\n" for size in (" 7", "7 ", "0x7", "1_000", "٧", "７")),
        f"{ORIGIN}\n{'9' * 40}\n{ROOT}\n",
        *(f"{ORIGIN}\n7\n{root}\n" for root in ("", ROOT[:-1], ROOT + " ", ROOT[:-2] + "B=")),
        f"{ORIGIN}\n7\n{base64.b64encode(bytes(31)).decode()}\n",
        f"{ORIGIN}\n7\n{base64.b64encode(bytes(33)).decode()}\n",
        f"{ORIGIN}\n7\n{'00' * 32}\n",
    ],
)
def test_a_text_that_is_no_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        Checkpoint.parse(text)


def test_extension_lines_are_let_stand() -> None:
    point = Checkpoint.parse(f"{ORIGIN}\n7\n{ROOT}\nof a later version\n")
    assert point == Checkpoint(ORIGIN, 7, bytes(32))


@pytest.mark.parametrize("more", ["\n", "x\n\n", "\nx\n"])
def test_empty_extension_lines_are_refused(more: str) -> None:
    # "Extension lines, if any, MUST be non-empty."
    with pytest.raises(FormatError):
        Checkpoint.parse(f"{ORIGIN}\n7\n{ROOT}\n{more}")


@pytest.mark.parametrize(
    "point",
    [
        Checkpoint(f"{ORIGIN}\n999\n{ROOT}\nx", 7, bytes(32)),
        Checkpoint("", 7, bytes(32)),
        Checkpoint(ORIGIN, -7, bytes(32)),
        Checkpoint(ORIGIN, 7, bytes(31)),
    ],
    ids=["origin of four lines", "no origin", "negative size", "short root"],
)
def test_no_checkpoint_is_written_that_would_not_be_read_back(point: Checkpoint) -> None:
    try:
        text = point.text()
    except FormatError:
        return
    assert Checkpoint.parse(text) == point

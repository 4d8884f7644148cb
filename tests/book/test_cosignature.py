"""Cosignatures (c2sp.org/tlog-cosignature): real ones of public witnesses, and forged ones."""

from __future__ import annotations

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from beforehand.book.checkpoint import Checkpoint, VerifierKey, open_note, sign_note
from beforehand.book.cosignature import (
    Cosignature,
    NoteLine,
    WitnessKey,
    attach_lines,
    check_cosignature,
    cosignature_instant,
    cosignature_line,
    cosignatures,
    cosigned_message,
    note_parts,
    quorum_time,
)
from beforehand.errors import FormatError, IntegrityError

# A checkpoint of a public staging log of certificate transparency, as four public
# witnesses cosigned it within one second, and the keys that they publish.
REAL_NOTE = """\
arche2025h1.staging.ct.transparency.dev
1432088532
U7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=

— arche2025h1.staging.ct.transparency.dev zTM8sQAAAZ5W0WdjBAMARjBEAiBjW5IQf9pvsYLfQFX6hoGREPMHbdQ3urbllzalApkptQIgIpwtEroeW2BXaHAI4kJXFbon5Ch9MNL5zRNZ55lvGt0=
— arche2025h1.staging.ct.transparency.dev ui8GwCF1+kWqZrxGdhj4aX3gcw7XUlXQQabg/27lefwhUkzbC3NygNI75MdhL1bfTW9g8Ei59RA23oHP7Ry1k3ZFWwQ=
— transparency.dev/DEV:witness-little-garden 2AQqhwAAAABqEiEgzgFIqqhbUoDwjMWE6UP8nd8/KYTzwZ2rhIgcqoXHAwVkjZr4AscylP3v7sEodkRAErumC2q44vdgJY096st5BQ==
— witness1.smartit.nu/witness1 pIyCDwAAAABqEiEghIp82KWebrw7/oHQwlTAm3g2RKS4+eebl8eO0WH+/iEcxZ75W3u5hNI7TOQtmJbqmNWVuE0tgh0XwzdZsDsUAQ==
— remora.n621.de 2net5wAAAABqEiEgPlfF3V06o0Y+fHM+J5J9s27wgxxcOVSpZ/2g/KSiXCg9DEZI+aVCIobWX9sXTynk5XeU/zZ0WBxtqB0DrAWfBw==
— witness.stagemole.eu Z/euoAAAAABqEiEgw0i+7g2ENfDAWHmtRzCfKTHSDwYDJA2NmKeGi9Y8FtEyOUvVr+AJmIY/2TUFucgKi7lI7cUiOvKFYe/TmN9DAg==
""".encode()  # noqa: E501
REAL_KEYS = (
    "transparency.dev/DEV:witness-little-garden+d8042a87+BCtusOxINQNUTN5Oj8HObRkh2yHf/MwYaGX4CPdiVEPM",
    "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2",
    "witness.stagemole.eu+67f7aea0+BEqSG3yu9YrmcM3BHvQYTxwFj3uSWakQepafafpUqklv",
)
REAL_TIME = 0x6A122120

# The example of the specification itself; its witness's key was never published.
SPEC_NOTE = """\
example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
""".encode()  # noqa: E501

ORIGIN = "example.org/vector/book"
LOG_PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
LOG = VerifierKey(ORIGIN, LOG_PRIVATE.public_key().public_bytes_raw())
TEXT = Checkpoint(ORIGIN, 7, bytes(range(32))).text()
NOTE = sign_note(TEXT, LOG, LOG_PRIVATE.sign).encode()
AT = 1_790_000_000


def private(number: int) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)


def witness(number: int, name: str | None = None) -> WitnessKey:
    raw = private(number).public_key().public_bytes_raw()
    return WitnessKey(name or f"witness.example/w{number}", raw)


def signed(number: int, at: int = AT, text: str = TEXT, name: str | None = None) -> NoteLine:
    """A line without any check of what it states."""
    key = witness(number, name)
    signature = private(number).sign(cosigned_message(text, at))
    return NoteLine(key.name, key.key_id + at.to_bytes(8, "big") + signature)


# ---- the public vectors


def test_real_cosignatures_of_public_witnesses_verify() -> None:
    keys = [WitnessKey.parse(text) for text in REAL_KEYS]
    assert cosignatures(REAL_NOTE, keys) == [Cosignature(key.name, REAL_TIME) for key in keys]
    assert [key.text() for key in keys] == list(REAL_KEYS)
    assert cosignature_instant(REAL_TIME) == "2026-05-23T21:50:24Z"


@pytest.mark.parametrize("place", range(0, 96, 5))
def test_a_changed_checkpoint_has_no_real_cosignature(place: int) -> None:
    changed = bytearray(REAL_NOTE)
    changed[place] = ord("x") if changed[place] != ord("x") else ord("y")
    with pytest.raises((IntegrityError, FormatError)):
        cosignatures(bytes(changed), [WitnessKey.parse(REAL_KEYS[1])])


def test_the_example_of_the_specification_is_read() -> None:
    text, lines = note_parts(SPEC_NOTE)
    point = Checkpoint.parse(text)
    assert (point.origin, point.size) == ("example.com/behind-the-sofa", 20852163)
    assert (len(lines[1].data), int.from_bytes(lines[1].data[4:12], "big")) == (76, 1679315147)
    assert cosigned_message(text, 1679315147).decode() == (
        "cosignature/v1\ntime 1679315147\nexample.com/behind-the-sofa\n20852163\n"
        "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
    )


# ---- notes and lines


def test_a_cosigned_note_still_opens_as_a_checkpoint() -> None:
    note = attach_lines(NOTE, [signed(1), signed(2)])
    assert note.startswith(NOTE)
    assert Checkpoint.open(note, LOG) == Checkpoint.parse(TEXT)
    keys = [witness(1), witness(2), witness(3)]
    found = cosignatures(note, keys)
    assert found == [Cosignature("witness.example/w1", AT), Cosignature("witness.example/w2", AT)]
    assert attach_lines(note, [signed(1)]) == note


def test_lines_of_unknown_types_are_kept_and_ignored() -> None:
    dsa = NoteLine("witness.example/w1", b"\x00\x01\x02\x03" + bytes(8 + 2420))  # ML-DSA-44
    short = NoteLine("witness.example/w1", b"\x00\x00\x00\x00\x07")
    note = attach_lines(NOTE, [dsa, signed(1), short])
    assert cosignatures(note, [witness(1)]) == [Cosignature("witness.example/w1", AT)]
    assert dsa.text().encode() in note
    assert open_note(note, LOG) == TEXT


def test_a_witness_counts_once_at_its_earliest_time() -> None:
    note = attach_lines(NOTE, [signed(1, AT + 9), signed(1, AT), signed(1, AT + 5)])
    assert cosignatures(note, [witness(1)]) == [Cosignature("witness.example/w1", AT)]


def test_a_quorum_is_reached_at_the_time_of_its_last_witness() -> None:
    found = [Cosignature("a", 30), Cosignature("b", 10), Cosignature("c", 20)]
    assert [quorum_time(found, need) for need in (1, 2, 3, 4)] == [10, 20, 30, None]
    with pytest.raises(FormatError):
        quorum_time(found, 0)


MALFORMED = [
    b"",
    b"text\n",
    TEXT.encode(),
    NOTE[:-1],
    NOTE + b"\n",
    NOTE + b"no line\n",
    NOTE + "— a AAAA\n".encode(),
    NOTE + "— a b AAAAAAA=\n".encode(),
    NOTE + "— a+b AAAAAAA=\n".encode(),
    NOTE + "— a AAAAAAB=\n".encode(),
    NOTE.replace(b"\n", b"\r\n"),
    NOTE + b"\xff\n",
    NOTE + "— a AAAAAAA=\n".encode() * 64,
    b"x" * ((1 << 20) + 1),
]


@pytest.mark.parametrize("note", MALFORMED)
def test_what_open_note_does_not_read_is_not_read_here(note: bytes) -> None:
    with pytest.raises(FormatError):
        open_note(note, LOG)
    with pytest.raises(FormatError):
        note_parts(note)


@given(st.binary(max_size=40), st.integers(0, 400))
def test_parts_and_open_note_agree_on_damaged_notes(junk: bytes, place: int) -> None:
    note = NOTE[: place % len(NOTE)] + junk + NOTE[place % len(NOTE) :]
    try:
        text = open_note(note, LOG)
    except FormatError:
        return
    except IntegrityError:
        note_parts(note)
        return
    assert note_parts(note)[0] == text


# ---- attacks


def test_a_false_cosignature_refuses_the_whole_note() -> None:
    line = signed(1)
    bad = NoteLine(line.name, line.data[:-1] + bytes([line.data[-1] ^ 1]))
    with pytest.raises(IntegrityError, match="is false"):
        cosignatures(attach_lines(NOTE, [bad, signed(2)]), [witness(1), witness(2)])


def test_a_cosignature_of_another_checkpoint_is_false() -> None:
    other = Checkpoint(ORIGIN, 8, bytes(32)).text()
    with pytest.raises(IntegrityError):
        cosignatures(attach_lines(NOTE, [signed(1, text=other)]), [witness(1)])


def test_a_moved_time_is_false() -> None:
    """Back-dating a cosignature: the time is signed with the checkpoint."""
    line = signed(1)
    moved = NoteLine(line.name, line.data[:4] + (AT - 60).to_bytes(8, "big") + line.data[12:])
    with pytest.raises(IntegrityError):
        cosignatures(attach_lines(NOTE, [moved]), [witness(1)])


@pytest.mark.parametrize("at", [0, 1 << 63, (1 << 64) - 1])
def test_a_cosignature_with_a_zero_timestamp_states_no_time(at: int) -> None:
    with pytest.raises(IntegrityError, match="states no time"):
        cosignatures(attach_lines(NOTE, [signed(1, at)]), [witness(1)])
    with pytest.raises(FormatError):
        cosignature_line(witness(1), at, bytes(64))


def test_a_cosignature_with_a_future_timestamp_does_not_count_yet() -> None:
    note = attach_lines(NOTE, [signed(1, AT), signed(2, AT + 1)])
    keys = [witness(1), witness(2)]
    now = cosignature_instant(AT)
    assert cosignatures(note, keys, now) == [Cosignature("witness.example/w1", AT)]
    assert len(cosignatures(note, keys, cosignature_instant(AT + 1))) == 2
    with pytest.raises(FormatError):
        cosignature_instant(1 << 62)


def test_a_same_name_key_with_other_bytes_is_another_key() -> None:
    forged = signed(9, name="witness.example/w1")
    note = attach_lines(NOTE, [forged])
    assert cosignatures(note, [witness(1)]) == []
    assert check_cosignature(TEXT, forged, witness(1)) is None
    # With the pinned key's id written before it, it is that key's, and false.
    worn = NoteLine(forged.name, witness(1).key_id + forged.data[4:])
    with pytest.raises(IntegrityError):
        cosignatures(attach_lines(NOTE, [worn]), [witness(1)])


def test_one_witness_does_not_count_twice() -> None:
    with pytest.raises(FormatError, match="one key under two names"):
        cosignatures(NOTE, [witness(1), witness(1, "witness.example/other")])
    with pytest.raises(FormatError, match="two keys of one witness"):
        cosignatures(NOTE, [witness(1), witness(2, "witness.example/w1")])


def test_the_log_signature_is_no_cosignature() -> None:
    """The same key bytes as log and as witness have two ids: one does not pass for the other."""
    own = WitnessKey(LOG.name, LOG.public)
    assert own.key_id != LOG.key_id
    assert cosignatures(NOTE, [own]) == []


@pytest.mark.parametrize(
    "text",
    [
        LOG.text(),  # the key of a log
        witness(1).text().replace("+", " ", 1),
        witness(1).text()[:-1],
        witness(2, "witness.example/w1").text().rpartition("+")[0]
        + "+"
        + witness(1).text().rpartition("+")[2],
        "+00000000+" + base64.b64encode(b"\x04" + bytes(32)).decode(),
        "a\u2028b+00000000+AAAA",
        "w",
        "",
    ],
)
def test_a_malformed_witness_key_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        WitnessKey.parse(text)


@given(st.integers(1, (1 << 63) - 1))
def test_a_line_carries_its_time(at: int) -> None:
    key = witness(1)
    line = cosignature_line(key, at, private(1).sign(cosigned_message(TEXT, at)))
    assert check_cosignature(TEXT, line, key) == Cosignature(key.name, at)

"""Faults on demand: how they are written, and that the same requests meet the same ones."""

from __future__ import annotations

import pytest

from beforehand.errors import FormatError
from beforehand.testing.faults import Fault, Faults, parse_faults


def test_both_ways_of_writing_say_the_same() -> None:
    text = "half:rate=0.1,path=/book;slow:seconds=0.5,times=3"
    written = '[{"kind":"half","rate":0.1,"path":"/book"},{"kind":"slow","seconds":0.5,"times":3}]'
    assert parse_faults(text) == parse_faults(written)
    assert parse_faults("") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("earthquake", "no fault is called 'earthquake'"),
        ("slow:colour=red", "slow takes no 'colour'"),
        ("slow:seconds=soon", "seconds must be a number"),
        ("drift", "drift needs field"),
        ("overturn", "overturn needs market"),
        ("[1]", "a list of objects"),
        ("[", "not JSON"),
    ],
)
def test_what_is_no_fault_is_refused(text: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        parse_faults(text)


def met(seed: int) -> list[bool]:
    faults = Faults(seed, parse_faults("half:rate=0.3,path=/book"))
    return [bool(faults.hitting(f"/book?{number % 40}")) for number in range(400)]


def test_the_same_requests_meet_the_same_faults() -> None:
    assert met(1) == met(1)
    assert met(1) != met(2)
    assert 80 < sum(met(1)) < 160


def test_a_path_and_a_number_of_times_narrow_a_fault() -> None:
    faults = Faults(1, [Fault("half", path="/book", times=2)])
    assert not faults.hitting("/markets")
    assert [bool(faults.hitting("/book")) for _ in range(4)] == [True, True, False, False]
    assert faults.met == {"half": 2}
    faults.replace([])
    assert not faults.hitting("/book")

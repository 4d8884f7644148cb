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


SPOILED = "error500:rate=0.3;half:rate=0.3;rate429:rate=0.3;garbage:rate=0.3"


def tries(faults: Faults, request: str, moment: int, number: int) -> list[set[str]]:
    return [{fault.kind for fault in faults.hitting(request, moment=moment)} for _ in range(number)]


def test_at_one_moment_a_client_that_was_killed_comes_to_the_same_end() -> None:
    """Whatever was asked before at that moment: what is tried again passes, the rest stands."""
    requests = [f"/book?{number}" for number in range(60)]
    whole, killed = (Faults(1, parse_faults(SPOILED)) for _ in range(2))
    for number, request in enumerate(requests):
        met = tries(whole, request, 7, 4)
        tries(killed, request, 7, number % 4)  # by the process that died
        assert tries(killed, request, 7, 4)[-1] == met[-1]
        assert met[-1] <= {"garbage"} and all(met[-1] <= each for each in met)
    assert {"error500", "half", "rate429", "garbage"} == set(whole.met)


def test_no_request_is_hopeless_for_ever() -> None:
    faults = Faults(1, parse_faults("garbage:rate=0.5"))
    met = [bool(faults.hitting("/book", moment=moment)) for moment in range(100)]
    assert 30 < sum(met) < 70

"""Token buckets: a burst, then a steady rate, in bounded memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from beforehand.relay.door import Buckets


def test_a_burst_then_one_at_a_time() -> None:
    buckets = Buckets(3, 10.0)
    assert [buckets.wait("a", 0.0) for _ in range(4)] == [0, 0, 0, 10.0]
    assert buckets.wait("b", 0.0) == 0
    assert buckets.wait("a", 5.0) == 5.0
    assert buckets.wait("a", 10.0) == 0
    assert buckets.wait("a", 10.0) == 10.0
    assert [buckets.wait("a", 1000.0) for _ in range(4)][:3] == [0, 0, 0]


@given(st.lists(st.floats(0, 1000), max_size=60))
def test_no_more_pass_than_the_rate_allows(times: list[float]) -> None:
    buckets = Buckets(4, 7.0)
    passed = [at for at in sorted(times) if buckets.wait("a", at) == 0]
    for first in passed:
        within = [at for at in passed if first <= at < first + 70]
        assert len(within) <= 4 + 10 + 1


def test_the_names_that_came_longest_ago_are_forgotten() -> None:
    buckets = Buckets(1, 1e9, most=3)
    for name in "abcd":
        assert buckets.wait(name, 0.0) == 0
    assert buckets.wait("d", 0.0) > 0
    assert buckets.wait("a", 0.0) == 0

"""Rule P1: one number from the named field, exactly as given, or a reason why there is none."""

from __future__ import annotations

import json
import re
import time
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beforehand.forecasters.parse import (
    FIELD,
    MAX_TEXT_CHARACTERS,
    PARSER_VERSION,
    SUBCODES,
    parse,
    without_thoughts,
)
from beforehand.records.forecast import FAILURES
from beforehand.records.shape import Probability


def field(value: str) -> str:
    return f'{{"rationale": "because", "probability": {value}}}'


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("0.62", "0.62"),
        ("0.620", "0.620"),
        ("0", "0"),
        ("1", "1"),
        ("1.0", "1.0"),
        ("0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
        ("6.2e-1", "0.62"),
        ("1e0", "1"),
        ("1E-2", "0.01"),
        ("62e-2", "0.62"),
        ("0e99999999999999999999", "0"),
        ("-0", "0"),
        ("-0.0", "0.0"),
    ],
)
def test_p1_a_number_is_kept_as_it_was_given(value: str, wanted: str) -> None:
    parsed = parse(field(value))
    assert (parsed.status, parsed.probability, parsed.detail) == ("answered", wanted, "")
    assert (parsed.rationale, parsed.version) == ("because", PARSER_VERSION)
    Probability().check(parsed.probability, "p")


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ('"70%"', "0.70"),
        ('"70 %"', "0.70"),
        ('" 62.5% "', "0.625"),
        ('"100%"', "1.00"),
        ('"0%"', "0.00"),
        ('"0.9%"', "0.009"),
        ('"1%"', "0.01"),
        ('"-0%"', "0.00"),
    ],
)
def test_b1_the_sign_decides_and_never_the_size(value: str, wanted: str) -> None:
    assert parse(field(value)).probability == wanted
    assert parse(field("1")).probability == "1"
    assert parse(field("70")).status == "out_of_range"


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        ("70", "above_one"),
        ("1.0000001", "above_one"),
        ("1e1", "above_one"),
        ("1e999999999", "above_one"),
        ("-0.1", "negative"),
        ("-1e-999999999", "negative"),
        ('"150%"', "above_one"),
        ('"-5%"', "negative"),
        ("1e-999999999", "too_many_digits"),
        ("0." + "1" * 41, "too_many_digits"),
        ("0." + "1" * 5000, "too_many_digits"),
        ("1" * 5000, "too_many_digits"),
        ("NaN", "not_a_number"),
        ("Infinity", "not_a_number"),
        ("-Infinity", "not_a_number"),
        ("null", "null"),
        ("true", "boolean"),
        ("false", "boolean"),
        ("[0.5]", "list"),
        ('{"value": 0.5}', "object"),
        ('"60-70%"', "range"),
        ('"0.6 to 0.7"', "range"),
        ('"60%–70%"', "range"),
        ('"0,7"', "comma"),
        ('"12,5%"', "comma"),
        ('"0.62"', "quoted_number"),
        ('"1"', "quoted_number"),
        ('"likely"', "words"),
        ('"７０%"', "words"),
        ('"about 70%"', "words"),
        ('""', "words"),
    ],
)
def test_p1_what_is_no_number_from_0_to_1_has_a_code_of_its_own(value: str, detail: str) -> None:
    parsed = parse(field(value))
    assert (parsed.probability, parsed.detail) == (None, detail)
    assert parsed.status == SUBCODES[detail] != "answered"


def test_p1_every_sub_code_is_a_word_of_failures() -> None:
    assert set(SUBCODES.values()) <= set(FAILURES)


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("", "blank"),
        (" \n\t\ufeff", "blank"),
        ("0.7", "no_object"),
        ("I would say 70%.", "no_object"),
        ('{"p": 0.7}', "no_field"),
        ('{"answer": {"probability": 0.7}}', "no_field"),
        ('{"Probability": 0.7}', "no_field"),
        ("<think>0.7</think>", "reasoning_only"),
        ('<think>{"probability": 0.7}</think>', "reasoning_only"),
        ('<think>{"probability": 0.7}', "reasoning_only"),
        ('{"probability": 0.7} and {"probability": 0.8}', "two_answers"),
        ('{"probability": 70} no: {"probability": 0.7}', "two_answers"),
        ('{"probability": 70} and {"probability": 70}', "above_one"),
        ('{"probability": 0.7, "probability": 0.8}', "field_twice"),
        ('{"probability": 0.7} {"probability": 0.7, "probability": 0.8}', "two_answers"),
        ('{"probability": 0.7, "x": 1', "broken_object"),
        ("{'probability': 0.7}", "no_object"),
        ('{"probability": 70%}', "broken_object"),
        ("[" * 100_000, "too_deep"),
        ('{"a":' * 40_000, "too_deep"),
        ('{"a": ' + "[" * 100_000, "too_deep"),
        ("{}" * 5000, "too_tangled"),
        ("x" * (MAX_TEXT_CHARACTERS + 1), "too_long"),
    ],
)
def test_p1_a_text_without_one_answer_fails(text: str, detail: str) -> None:
    parsed = parse(text)
    assert (parsed.probability, parsed.detail, parsed.status) == (None, detail, SUBCODES[detail])


def test_b3_no_number_is_searched_for_in_prose() -> None:
    assert parse("In 2024.5 it was 65.5% and rose to 0.7.").probability is None


def test_p1_a_number_inside_a_broken_object_is_not_the_answer() -> None:
    """The outer object breaks off; a part of it must not become its answer."""
    broken = '{"draft": {"probability": 0.2}, "probability": 0.7,}'
    assert parse(broken).detail == "broken_object"
    unescaped = '{"rationale": "first {"probability": 0.2} and then", "probability": 0.7}'
    assert parse(unescaped).probability is None


@pytest.mark.parametrize(
    "text",
    [
        'Here it is:\n```json\n{"probability": 0.7}\n```\nThanks.',
        '```\n{"rationale": "a } and a {", "probability": 0.7}\n```',
        'I use {braces} and {"notes": 1}. {"probability": 0.7}',
        '{"probability": 0.7}\n{"probability": 0.70}',
        'As {"probability": <number>}: {"probability": 0.7}',
        'As {"probability": null}: {"probability": 0.7}',
        '[{"probability": 0.7}]',
        '\ufeff{"rationale": "two\nlines", "probability": 0.7}',
    ],
)
def test_p1_one_object_in_a_text_is_found(text: str) -> None:
    assert Decimal(parse(text).probability or "9") == Decimal("0.7")


@pytest.mark.parametrize(
    "text",
    [
        '<think>{"probability": 0.1} {{{ </think>{"probability": 0.7}',
        'and so on {"probability": 0.1}</think>\n{"probability": 0.7}',
        '<THINKING>0.1</THINKING> {"probability": 0.7} <think>was {"probability": 0.1}',
        '<think>a</think>{"rationale": "", "probability": 0.7}<think>b</think>',
    ],
)
def test_e38_braces_in_a_thought_do_not_swallow_the_answer(text: str) -> None:
    assert parse(text).probability == "0.7"


def test_e38_a_thought_inside_a_whole_object_is_text() -> None:
    text = json.dumps({"rationale": "<think> is a tag", "probability": 0.7})
    assert parse(text).probability == "0.7"
    assert without_thoughts("a<think>b</think>c") == "ac"


def test_e40_zero_and_one_are_legal() -> None:
    assert parse(field("0")).probability == "0"
    assert parse(field("1")).probability == "1"


def test_p1_the_field_beside_other_keys() -> None:
    text = '{"reasoning": {"probability": 0.1}, "confidence": 80, "probability": 0.62, "n": [1]}'
    assert parse(text).probability == "0.62"


HOSTILE = {
    "braces": "{" * (1 << 18),
    "pairs": '{"' * (1 << 17),
    "openings": '{"a":"' * (1 << 15),
    "lists": ('{"a":[' * 300 + "1," * 100_000)[: 1 << 18],
    "siblings": '{"a":[' + '{"b":1},' * 30_000,
    "long": "9" * 10_000_000,
    "digits": '{"probability": 0.' + "3" * 200_000 + "}",
    "integer": '{"probability": ' + "3" * 200_000 + "}",
    "exponent": '{"probability": 1e' + "9" * 200_000 + "}",
    "small": '{"probability": 1e-' + "9" * 300 + "}",
    "thoughts": "<think>" * 30_000,
    "thought ends": "</think>" * 30_000,
    "thought pairs": "<think></think>" * 15_000,
    "spaces": '{"probability"' + " " * 200_000 + ": 0.5",
    "strays": '"probability"' * 20_000,
    "range": '{"probability": "' + "1-" * 100_000 + '"}',
    "percent": '{"probability": "' + "1" * 100_000 + '%"}',
    "dots": '{"probability": "' + "." * 200_000 + '"}',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_p1_a_hostile_text_takes_bounded_time_and_gives_nothing(name: str) -> None:
    started = time.process_time()
    assert parse(HOSTILE[name]).probability is None
    assert time.process_time() - started < 2.0


PIECES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["{", "}", '"', FIELD, f'{{"{FIELD}": ', ": ", ",", "<think>", "</think>", "```json", "%"]
    ),
    st.from_regex(r"-?[0-9]{1,4}(\.[0-9]{1,6})?([eE]-?[0-9]{1,3})?%?", fullmatch=True),
    st.builds(
        lambda value: json.dumps({FIELD: value, "rationale": "r"}),
        st.one_of(st.none(), st.booleans(), st.floats(), st.integers(-3, 120), st.text(max_size=8)),
    ),
)


@given(st.lists(PIECES, max_size=8).map("".join))
def test_p1_it_never_raises_and_never_makes_a_number_up(text: str) -> None:
    parsed = parse(text)
    assert (parsed.status == "answered") == (parsed.probability is not None)
    assert parsed.status in ("answered", *FAILURES)
    if parsed.probability is None:
        assert SUBCODES[parsed.detail] == parsed.status
        return
    Probability().check(parsed.probability, "p")
    stated = Decimal(parsed.probability)
    written = [
        Decimal(number) / (100 if sign else 1)
        for number, sign in re.findall(r"([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,6})?) ?(%?)", text)
    ]
    assert stated in written, "a number that does not stand in the text"


@given(st.decimals(0, 1, allow_nan=False, places=12), st.text(max_size=50))
def test_p1_what_was_given_comes_back_to_the_last_digit(number: Decimal, rationale: str) -> None:
    text = json.dumps({"rationale": rationale})[:-1] + f', "probability": {number:f}}}'
    parsed = parse(text)
    assert parsed.probability == f"{abs(number):f}"
    assert parsed.rationale == rationale


@given(st.text())
def test_p1_the_same_text_gives_the_same_verdict(text: str) -> None:
    assert parse(text) == parse(text)

"""What a text gives away of a price that should be hidden from its writer.

Leaving the price out of a prompt is not enough: a search finds it. Each
answer's text and citations are looked through, and what is found is a flag on
the answer, never a reason to drop it. Words that also have an everyday
meaning ("market", "odd", "the odds are low") are no leak by themselves.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from urllib.parse import urlsplit

from beforehand.errors import FormatError
from beforehand.records.shape import decimal_text

VENUE_NAME = "venue_name"
VENUE_CITATION = "venue_citation"
ODDS_WORDS = "odds_words"
CROWD_NUMBER = "crowd_number"
# Only a part of the text was looked through.
TOO_LONG = "too_long"

# What is looked through; hardly an answer is this long.
MAX_CHARACTERS = 1 << 18

_INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))

# Names that are a venue's and nothing else's. "Manifold", "Pinnacle", "Augur" or
# "Limitless" alone are words of a language.
_VENUES = re.compile(
    r"\b(?:polymarket|kalshi|metaculus|betfair|predict\s?it|smarkets|ladbrokes|bet\s?365"
    r"|draftkings|fanduel|oddschecker|electionbettingodds|forecastex|fedwatch"
    r"|manifold(?:\s|\.)?markets?|manifold\.markets|good judgment open|gjopen"
    r"|insight prediction|paddy power|william hill|myriad markets)(?:'s)?\b"
)

_PERCENT = r"\d{1,3}(?:\.\d{1,4})?\s?(?:%|percent\b|per cent\b|cents?\b|c\b|¢)"
_ODDS = re.compile(
    "|".join(
        (
            r"\bbook(?:maker|ie)s?\b",
            r"\bsports?books?\b",
            r"\bbettors?\b",
            r"\bpunters?\b",
            r"\bbetting\s(?:odds|markets?|lines?|sites?|exchanges?|favou?rite|houses?)\b",
            r"\b(?:prediction|forecasting|event)\smarkets?\b",
            r"\bimplied\s(?:probabilit(?:y|ies)|odds|chances?|likelihood)\b",
            r"\b(?:market|crowd|price)[- ]implied\b",
            r"\b(?:market|crowd|community|vegas|fractional|decimal|moneyline)\s(?:odds|forecasts?"
            r"|probabilit(?:y|ies)|consensus)\b",
            r"\bmoneyline\b",
            r"\bodds\s(?:imply|implies|implying|on favou?rite)\b",
            r"\bodds\s(?:of|at|are|from|now|currently|stand at)\s[+-]?\d",
            r"\b\d{1,4}\s?(?:/|-to-|\sto\s|-)\s?\d{1,3}\s(?:odds|favou?rite)\b",
            rf"\b(?:trad(?:es?|ed|ing)|pric(?:es?|ed|ing)|quoted)\s(?:in\s)?(?:at\s|around\s|near\s"
            rf"|about\s|an?\s){{0,2}}~?\$?{_PERCENT}",
            rf"\b(?:traders?|markets?|futures|options|swaps)\s(?:currently\s|now\s|are\s|is\s){{0,2}}"
            rf"(?:gives?|giving|assigns?|assigning|puts?|putting|sees?|imply|implies|implying"
            rf"|pric(?:es?|ing|ed)\sin)\b[^.\n]{{0,60}}?{_PERCENT}",
        )
    )
)


def folded(text: str) -> str:
    """The text as it is looked through: one width, one case, nothing invisible in it."""
    plain = unicodedata.normalize("NFKC", text[:MAX_CHARACTERS]).translate(_INVISIBLE)
    # One letter of a hostile text may unfold to eighteen.
    return plain.casefold().replace("’", "'")[: 2 * MAX_CHARACTERS]


def host_of(url: str) -> str:
    """The host a URL names, in lower case without a leading `www.`; "" where it names none."""
    text = url.strip()
    try:
        host = urlsplit(text if "//" in text else "//" + text).hostname or ""
    except ValueError:
        return ""
    return host.rstrip(".").removeprefix("www.")


def denied(url: str, deny_sites: Iterable[str]) -> bool:
    """Whether a URL lies on one of the denied sites or below one.

    >>> denied("https://clob.polymarket.com/x", ["polymarket.com"])
    True
    >>> denied("https://notpolymarket.com/x", ["polymarket.com"])
    False
    """
    host = host_of(url)
    return any(
        host == site or host.endswith("." + site) for site in map(host_of, deny_sites) if site
    )


def odds_words(text: str) -> bool:
    """Whether a text speaks of odds.

    >>> odds_words("Bookmakers make her the favourite"), odds_words("An odd market, at 62%")
    (True, False)
    """
    return _speaks_of_odds(folded(text))


def venue_named(text: str, deny_sites: Iterable[str] = ()) -> bool:
    """Whether a text names a venue, or the name of a denied site stands in it."""
    return _names_a_venue(folded(text), deny_sites)


def numbers_like(crowd: Decimal) -> tuple[str, ...]:
    """How a price is written: as a fraction, in percent, in cents.

    >>> numbers_like(Decimal("0.620"))
    ('0.62', '.62', '62%', '62 %', '62 percent', '62 per cent', '62c', '62¢', '62 cents')
    """
    fraction = f"{crowd.normalize():f}"
    percent = f"{(crowd * 100).normalize():f}"
    cents = [
        f"{percent}{sign}" for sign in ("%", " %", " percent", " per cent", "c", "¢", " cents")
    ]
    short = [fraction.removeprefix("0")] if fraction.startswith("0.") else []
    return (fraction, *short, *cents)


def number_stands(text: str, crowd: Decimal) -> bool:
    """Whether a price stands in a text, in one of the ways a price is written.

    >>> number_stands("It is at 62 cents now", Decimal("0.62"))
    True
    >>> number_stands("It is 162 cents, or 0.625", Decimal("0.62"))
    False
    """
    return _holds_number(folded(text), crowd)


def _speaks_of_odds(plain: str) -> bool:
    return _ODDS.search(plain) is not None


def _names_a_venue(plain: str, deny_sites: Iterable[str]) -> bool:
    if _VENUES.search(plain):
        return True
    hosts = [host for host in map(host_of, deny_sites) if host and host in plain]
    return any(re.search(rf"(?<![\w-]){re.escape(host)}\b", plain) for host in hosts)


def _holds_number(plain: str, crowd: Decimal) -> bool:
    fraction, *others = numbers_like(crowd)
    # 0.62 and 0.620 are one price.
    ends = r"0*(?!\d|\.\d)"
    forms = [rf"{re.escape(fraction)}{ends}(?!\s?[%¢])"] if "." in fraction else []
    for form in others:
        after = r"(?!\w)" if form[-1].isalpha() else ends if form.startswith(".") else ""
        forms.append(re.escape(form) + after)
    return re.search(rf"(?<![\d.,])(?:{'|'.join(forms)})", plain) is not None


def audit(
    text: str,
    citations: Iterable[str] = (),
    *,
    deny_sites: Iterable[str] = (),
    crowd: Decimal | None = None,
    stated: str | None = None,
) -> tuple[str, ...]:
    """The codes of what a text and its citations give away, in a fixed order.

    `crowd` is the hidden price where the caller knows it; a text that names
    it is flagged unless it is the very probability the writer `stated`.
    """
    sites, plain = tuple(deny_sites), folded(text)
    found = []
    if _names_a_venue(plain, sites):
        found.append(VENUE_NAME)
    links = (*citations, *re.findall(r"https?://[^\s)\]>\"']{1,2000}", text[:MAX_CHARACTERS]))
    if any(denied(link, sites) or _VENUES.search(host_of(link)) for link in links):
        found.append(VENUE_CITATION)
    if _speaks_of_odds(plain):
        found.append(ODDS_WORDS)
    if crowd is not None and not _is(stated, crowd) and _holds_number(plain, crowd):
        found.append(CROWD_NUMBER)
    if len(text) > MAX_CHARACTERS:
        found.append(TOO_LONG)
    return tuple(found)


def _is(stated: str | None, crowd: Decimal) -> bool:
    if stated is None:
        return False
    try:
        return decimal_text(stated) == crowd
    except FormatError:
        return False

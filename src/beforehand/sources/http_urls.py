"""URLs as they may be said and sealed: without credentials, secrets or a far side's escapes."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from beforehand.errors import RuleError

_SECRET = re.compile(
    r"(api|access)?[-_]?key|((access|auth)[-_]?)?token|secret|signature|password", re.IGNORECASE
)
_VERSION = re.compile(r"v\d+")


def place(url: str) -> str:
    """Host and path of a URL, which is all that a message says of it.

    >>> place("https://u:p@clob.example/book?token_id=1&api_key=x")
    'clob.example/book'
    """
    parts = urlsplit(url)
    return f"{parts.netloc.rpartition('@')[2]}{parts.path}"


def shown(url: str) -> str:
    """The URL as it may be sealed: no credentials, and no value of a parameter that holds a secret.

    >>> shown("https://u:p@clob.example/book?token_id=1&api_key=x")
    'https://clob.example/book?token_id=1&api_key=***'
    """
    parts = urlsplit(url)
    query = "&".join(
        f"{name}=***" if _SECRET.fullmatch(name) else urlencode([(name, value)])
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    )
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, query, ""))


def printable(text: str, most: int = 100) -> str:
    """A far side's text in a message: printable ASCII, cut.

    >>> printable("a\\x1b[31mb")
    'a?[31mb'
    """
    return "".join(sign if " " <= sign <= "~" else "?" for sign in text[:most])


def base_url(url: str) -> str:
    """A configured base URL without its last slash; RuleError where it is no http(s) URL.

    >>> base_url("http://127.0.0.1:8080/")
    'http://127.0.0.1:8080'
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise RuleError(f"{place(url)!r:.80} is no base URL: give http(s)://HOST[:PORT][/PATH]")
    return url.rstrip("/")


def host_of(url: str) -> str:
    """Scheme, host and port, which is what one bucket of requests is for."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}"


def endpoint_of(url: str) -> str:
    """Host and path with ids taken out, so that a warning is kept once an endpoint."""
    parts = urlsplit(url)
    path = "/".join(
        "{id}" if any(sign.isdigit() for sign in part) and not _VERSION.fullmatch(part) else part
        for part in parts.path.split("/")
    )
    return f"{parts.netloc.rpartition('@')[2]}{path}"

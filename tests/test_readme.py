"""What README and docs say is so: commands exist, links lead somewhere, hand-written checks run."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
VERIFY = ROOT / "docs" / "verify.md"
# A decision may speak of what does not exist yet; guides may not.
GUIDES = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [*GUIDES, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*/*.md"))]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHECKER_LINE = re.compile(r"^SHA-256 of the checker \(verify\.py\): ([0-9a-f]{64})$", re.MULTILINE)
COMMAND = re.compile(r"(?:\S*/)?beforehand(?: .*)?")


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    """The text under a heading of the second level."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"no section {title}"
    return found.group(1)


def set_up_commands() -> list[str]:
    fences = FENCE.findall(section(read(README), "Set up"))
    return [text.strip() for language, text in fences if language == "sh"]


def commands_of(text: str) -> list[list[str]]:
    """Every `beforehand …` in fences and code spans, as words."""
    found = []
    pieces = [line for _, block in FENCE.findall(text) for line in block.splitlines()]
    pieces += re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
    for piece in pieces:
        for part in re.split(r"&&|\|\|?|;", piece):
            if COMMAND.fullmatch(part.strip()):
                found.append(shlex.split(part)[1:])
    return found


# ---- the two set-up commands


def test_there_are_two_set_up_commands_of_one_line_each() -> None:
    demo, tests = set_up_commands()
    assert "\n" not in demo + tests
    assert demo.startswith("python3 -m venv ") and demo.endswith("/beforehand demo")
    assert "-c constraints.txt" in demo
    assert tests == "python3 scripts/test.py"
    assert len([language for language, _ in FENCE.findall(read(README)) if language == "sh"]) == 2


def test_what_is_missing_is_installed_as_the_readme_says() -> None:
    """The package is on no index yet: nobody is told to install it from one by its name."""
    said = {}
    for path in sorted((ROOT / "src/beforehand").rglob("*.py")):
        if path.parent.name != "anchors":  # its hint names the extra, and is not yet changed
            said |= dict.fromkeys(re.findall(r"pip install [^\n\"]*", read(path)), path)
    assert said
    for hint, path in said.items():
        assert re.fullmatch(r"pip install -c constraints.txt '\.\[[a-z]+\]'", hint), (path, hint)
    assert "pip install -c constraints.txt '.[live,anchors]'" in read(README)


def test_the_test_command_explains_itself() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/test.py", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "python3 scripts/test.py" in done.stdout
    assert "BEFOREHAND_VENV" in done.stdout


@pytest.mark.slow
def test_the_demo_command_and_the_checks_of_the_first_screen_work(tmp_path: Path) -> None:
    """A fresh clone, the README's own lines; no network or no git is a failure, not a skip."""
    config = tmp_path / "gitconfig"
    config.write_text("[safe]\n\tdirectory = *\n", encoding="ascii")
    environment = {
        **{n: v for n, v in os.environ.items() if not n.startswith(("GIT_", "PYTHON", "VIRTUAL"))},
        "GIT_CONFIG_GLOBAL": str(config),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }

    def run(command: str, place: Path) -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=place,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=420,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}"
        return done.stdout

    clone, made = tmp_path / "clone", tmp_path / "made"
    run(f"git clone --quiet {shlex.quote(str(ROOT))} {shlex.quote(str(clone))}", tmp_path)
    run(f"{set_up_commands()[0]} --no-serve --dir {shlex.quote(str(made))}", clone)
    public = made / "public"
    checks = FENCE.search(section(read(README), "Check us first"))
    assert checks, "no commands under Check us first"
    program, single = checks.group(2).strip().splitlines()
    assert (program, single) == ("beforehand verify DIR_OR_URL", "python3 -I verify.py DIR")
    run(f".venv/bin/{program.replace('DIR_OR_URL', shlex.quote(str(public)))}", clone)
    run(single.replace("DIR", shlex.quote(str(public))), public / "api" / "v1")


# ---- commands


@cache
def cli() -> Any:
    import typer

    from beforehand.cli.main import app

    return typer.main.get_command(app)


def resolve(words: list[str]) -> tuple[list[str], Any]:
    """The command that the words name, group by group; fails where there is none."""
    command, path = cli(), []
    for word in words:
        if not hasattr(command, "commands"):
            break
        assert word in command.commands, f"beforehand {' '.join([*path, word])} does not exist"
        command = command.commands[word]
        path.append(word)
    return path, command


@pytest.mark.parametrize("page", GUIDES, ids=lambda path: path.name)
def test_every_command_that_a_guide_names_exists(page: Path) -> None:
    from typer.testing import CliRunner

    from beforehand.cli.main import app

    for words in commands_of(read(page)):
        words = [word for word in words if word != "-"]  # standard input is no option
        options = [word.partition("=")[0] for word in words if word.startswith("-")]
        path, command = resolve([word for word in words if not word.startswith("-")])
        known = {option for item in command.params for option in (*item.opts, *item.secondary_opts)}
        missing = set(options) - known - {"--help"}
        assert not missing, f"beforehand {' '.join(words)}: no {', '.join(sorted(missing))}"
        shown = CliRunner().invoke(app, [*path, "--help"])
        assert shown.exit_code == 0, f"beforehand {' '.join(path)} --help"


def test_the_first_screen_names_the_commands_of_this_version() -> None:
    rows = commands_of(section(read(README), "Commands"))
    named = {" ".join(resolve([w for w in words if not w.startswith("-")])[0]) for words in rows}
    known = {" ".join(path) for path in every_command()}
    # A row names a group by its first command, or several of a kind at once.
    unnamed = {
        *("bench tally", "bench corp", "bench all", "bench live", "bench faults"),
        *("bench proof", "contract id"),
        *("reveal", "doctor", "run", "costs", "restore", "export", "submit"),
        *("entrant key", "receipt check"),
        *("witness key", "witness follow", "witness compare"),
    }
    assert named <= known
    assert known - named == unnamed
    told = section(read(README), "Commands")
    for word in ("reveal", "doctor", "run", "costs", "restore", "export", "submit", "live"):
        assert f"`{word}" in told


def every_command() -> list[list[str]]:
    """Every command that can be run, as words."""
    import typer

    from beforehand.cli.main import app

    found: list[list[str]] = []

    def walk(command: Any, path: list[str]) -> None:
        inner = getattr(command, "commands", None)
        if inner is None:
            found.append(path)
            return
        for name, each in inner.items():
            walk(each, [*path, name])

    walk(typer.main.get_command(app), [])
    return found


# ---- the checker's hash


def test_readme_and_docs_print_the_hash_of_the_checker() -> None:
    from beforehand.publish.checkers import build_recount, build_verify

    hashed = hashlib.sha256(build_verify()).hexdigest()
    recount = hashlib.sha256(build_recount()).hexdigest()
    for page in (README, VERIFY):
        assert CHECKER_LINE.findall(read(page)) == [hashed], page.name
        assert f"SHA-256 of the recount (recount.py): {recount}\n" in read(page), page.name


# ---- the checks by hand


def test_the_checks_by_hand_run(tmp_path: Path, book_vector: dict[str, Any]) -> None:
    """The Python of docs/verify.md, over the book of an independent implementation."""
    chain, tree = [text for language, text in FENCE.findall(read(VERIFY)) if language == "python"]
    book = tmp_path / "book.jsonl"
    book.write_bytes(book_vector["book"].encode("utf-8"))
    (tmp_path / "checkpoint").write_text(book_vector["checkpoint"], encoding="utf-8")

    def run(code: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-I", "-c", code],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    last = book_vector["book"].strip().rpartition('"link": "')[2][:64]
    assert run(chain).stdout == f"7 lines, last link {last}\n"
    assert run(tree).stdout == "example.org/vector/book 7 lines, the root fits\n"
    changed = book.read_bytes().replace(b"first", b"First", 1)
    assert changed != book.read_bytes()
    book.write_bytes(changed)
    assert "line 1: seal" in run(chain).stderr
    assert "another root" in run(tree).stderr


def test_the_recipe_is_that_of_the_code() -> None:
    """The same steps, in the same number, in the module's docstring and in docs/verify.md."""
    from beforehand.book import verify

    steps = re.findall(r"^ (\d)\. ", verify.__doc__ or "", re.MULTILINE)
    assert steps == re.findall(r"^(\d)\. ", section(read(VERIFY), "The recipe"), re.MULTILINE)
    assert steps == [str(n) for n in range(1, 9)]


# ---- links


def anchors_of(text: str) -> set[str]:
    """The fragments of a page's headings, as code hosts make them."""
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", read(page))):
        if "://" in target:
            continue
        name, _, fragment = target.partition("#")
        place = (page.parent / name).resolve() if name else page
        assert place.is_relative_to(ROOT) and place.exists(), f"{page.name}: {target}"
        if fragment:
            assert fragment in anchors_of(read(place)), f"{page.name}: {target}"


def test_every_decision_is_in_the_index() -> None:
    folder = ROOT / "docs" / "adr"
    for path in folder.glob("0*.md"):
        assert f"({path.name})" in read(folder / "README.md")
        assert re.search(r"^Status: \w+", read(path), re.MULTILINE), path.name

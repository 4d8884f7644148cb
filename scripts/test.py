#!/usr/bin/env python3
"""Set up and run all tests: one command, on a machine with Python and git.

    python3 scripts/test.py [ARGUMENTS FOR PYTEST]

It makes a virtual environment, installs the package in it with everything the
tests need, looks for a Chromium and for anvil (an EVM node, which npm installs
where there is one), and runs pytest on all cores. The last lines name what was
skipped and why. The exit code is pytest's; 2 when the set-up failed, 3 when the
tests ran longer than allowed.

Environment:

    BEFOREHAND_VENV          the virtual environment (default: .venv-test in the checkout)
    BEFOREHAND_PYTEST_ARGS   more arguments for pytest, quoted as in a shell
    BEFOREHAND_CHROMIUM      the Chromium to use; empty for none
    BEFOREHAND_ANVIL         the anvil to use; empty for none
    BEFOREHAND_TEST_MINUTES  how long pytest may run (default: 20)
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INSTALL_SECONDS = 600
APT_SECONDS = 300
ANVIL = "@foundry-rs/anvil@1.7.1"
ANVIL_SECONDS = 300
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def say(text: str) -> None:
    """One line of progress, in order with what the children print."""
    print(f"test.py: {text}", flush=True)


class SetupError(Exception):
    """The tests could not be started; the message says what to do."""


def make_environment(venv: Path) -> Path:
    """The Python of the test environment, made and filled where it is not so already."""
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = venv / "beforehand-installed"
    wanted = _inputs()
    if python.exists() and stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
        say(f"using {venv}")
        return python
    say(f"installing into {venv} (once; needs a package registry)")
    stamp.unlink(missing_ok=True)
    if not python.exists():
        _run(
            [sys.executable, "-m", "venv", str(venv)],
            "the virtual environment could not be made; on Debian and Ubuntu install "
            "python3-venv, then try again",
        )
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    _run(
        [*pip, "--constraint", str(ROOT / "constraints.txt"), "--editable", f"{ROOT}[test]"],
        "pip could not install the package with its test requirements; its message is above",
    )
    stamp.write_text(wanted, encoding="ascii")
    return python


def _inputs() -> str:
    """A digest of all that decides what is installed."""
    hasher = hashlib.sha256(f"{sys.version}\n{ROOT}\n".encode())
    for name in ("constraints.txt", "pyproject.toml"):
        hasher.update((ROOT / name).read_bytes())
    return hasher.hexdigest()


def _run(command: list[str], advice: str) -> None:
    try:
        subprocess.run(command, cwd=ROOT, check=True, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        raise SetupError(f"no end after {INSTALL_SECONDS} s: {advice}") from None
    except (OSError, subprocess.CalledProcessError):
        raise SetupError(advice) from None


def find_browser() -> tuple[str, str]:
    """The path of a Chromium, or "" and why there is none."""
    given = os.environ.get("BEFOREHAND_CHROMIUM")
    if given is not None:
        return given, "BEFOREHAND_CHROMIUM is empty"
    if found := _browser_on_path():
        return found, ""
    if shutil.which("apt-get") is None:
        return "", "no Chromium on PATH, and no apt-get to install one"
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "", "no Chromium on PATH; as root this script would install Debian's"
    say("installing Debian's chromium (once)")
    trouble = _apt_install("chromium")
    if found := _browser_on_path():
        return found, ""
    return "", f"no Chromium on PATH, and apt-get gave none ({trouble or 'no such command after'})"


def _browser_on_path() -> str:
    return next((path for name in BROWSERS if (path := shutil.which(name))), "")


def _apt_install(package: str) -> str:
    """Install a Debian package; the last line of what went wrong, else ""."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package]
    trouble = ""
    until = time.monotonic() + APT_SECONDS
    for command in (install, ["apt-get", "update", "-qq"], install):
        try:
            done = subprocess.run(
                command,
                env=environment,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=max(1.0, until - time.monotonic()),
            )
        except subprocess.TimeoutExpired:
            return f"no end after {APT_SECONDS} s"
        except OSError as error:
            return str(error)
        if done.returncode == 0 and command is install:
            return ""
        trouble = (done.stderr.strip().splitlines() or [trouble])[-1]
    return trouble


def find_anvil(venv: Path) -> tuple[str, str]:
    """The path of an anvil, or "" and why there is none."""
    given = os.environ.get("BEFOREHAND_ANVIL")
    if given is not None:
        return given, "BEFOREHAND_ANVIL is empty"
    if found := shutil.which("anvil") or _anvil_in(venv / "anvil"):
        return found, ""
    npm = shutil.which("npm")
    if npm is None:
        return "", "no anvil on PATH, and no npm to install one"
    say(f"installing {ANVIL} (once)")
    command = [npm, "install", "--prefix", str(venv / "anvil"), "--no-audit", "--no-fund"]
    try:
        done = subprocess.run(
            [*command, "--ignore-scripts", ANVIL],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=ANVIL_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return "", f"npm: no end after {ANVIL_SECONDS} s"
    if found := _anvil_in(venv / "anvil"):
        return found, ""
    said = (done.stderr.strip().splitlines() or ["no anvil for this machine"])[-1]
    return "", f"npm gave none ({said})"


def _anvil_in(folder: Path) -> str:
    """The program itself, not its launcher: a launcher would outlive what it is told."""
    found = sorted(folder.glob("node_modules/@foundry-rs/anvil-*/bin/anvil*"))
    return str(found[0]) if found else ""


def run_pytest(python: Path, arguments: list[str], browser: str, anvil: str) -> int:
    """Run pytest on all cores; its exit code, or 3 when it ran too long."""
    minutes = float(os.environ.get("BEFOREHAND_TEST_MINUTES", "20"))
    command = [str(python), "-m", "pytest", "-n", "auto", *arguments]
    environment = {**os.environ, "BEFOREHAND_CHROMIUM": browser, "BEFOREHAND_ANVIL": anvil}
    child = subprocess.Popen(command, cwd=ROOT, env=environment)
    try:
        return child.wait(timeout=minutes * 60)
    except subprocess.TimeoutExpired:
        say(f"still running after {minutes:g} minutes: stopping (BEFOREHAND_TEST_MINUTES)")
        child.send_signal(signal.SIGINT)
        try:
            child.wait(timeout=30)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        return 3
    except KeyboardInterrupt:
        return child.wait()


def main(arguments: list[str]) -> int:
    if arguments in (["--help"], ["-h"]):
        print(__doc__)
        return 0
    # Python 3.10 and older read this file well enough to be told so.
    if sys.version_info < (3, 11):  # noqa: UP036
        say(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}")
        return 2
    start = time.monotonic()
    venv = Path(os.environ.get("BEFOREHAND_VENV") or ROOT / ".venv-test").absolute()
    extra = shlex.split(os.environ.get("BEFOREHAND_PYTEST_ARGS", ""))
    try:
        python = make_environment(venv)
    except SetupError as error:
        say(str(error))
        return 2
    browser, why = find_browser()
    say(f"browser: {browser}" if browser else f"browser tests will be skipped: {why}")
    anvil, lacking = find_anvil(venv)
    say(f"anvil: {anvil}" if anvil else f"tests on an EVM chain will be skipped: {lacking}")
    ready = time.monotonic()
    code = run_pytest(python, [*extra, *arguments], browser, anvil)
    end = time.monotonic()
    if not browser:
        say(f"browser tests were skipped: {why}")
    if not anvil:
        say(f"tests on an EVM chain were skipped: {lacking}")
    say(f"set-up {ready - start:.0f} s, tests {end - ready:.0f} s, exit code {code}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

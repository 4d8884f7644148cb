#!/usr/bin/env python3
"""Take README's picture of the leaderboard from a demo's pages.

    python3 scripts/picture.py beforehand-demo/public

Run it in the test environment; it needs Playwright and a Chromium (BEFOREHAND_CHROMIUM).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "images" / "leaderboard.png"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync"]
SIZE = {"width": 1180, "height": 860}


def main() -> int:
    """Open the board and save what a reader sees first."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    page_path = Path(sys.argv[1]).resolve() / "human-2024-07" / "index.html"
    browser_path = os.environ.get("BEFOREHAND_CHROMIUM", "/usr/bin/chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=ARGUMENTS)
        page = browser.new_page(viewport=SIZE)
        page.goto(page_path.as_uri())
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(PICTURE), clip={"x": 0, "y": 0, **SIZE})
        browser.close()
    print(f"{PICTURE}: {PICTURE.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""tutorial.py BUILD - the pictures of docs/TUTORIAL.md: its program, recorded,
in Chromium."""

import os
import shutil
import subprocess
import sys
import tempfile

import browser

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
IMAGES = os.path.join(TOP, "docs/images")


def record(build, folder):
    """Builds and records the shop; returns the page."""
    perfrec = os.path.join(build, "perfrec")
    program = os.path.join(folder, "shop")
    data = os.path.join(folder, "before")
    page = os.path.join(folder, "before.html")
    shutil.copy(os.path.join(TOP, "docs/tutorial/shop.cc"), folder)
    for command in (["c++", "g++", "-O2", "-g", "-o", program, "shop.cc", "-pthread"],
                    ["record", "--quiet", "-o", data, "--", "./shop"],
                    ["report", "--html", page, data]):
        subprocess.run([perfrec] + command, check=True, cwd=folder,
                       stdout=subprocess.DEVNULL)
    return page


def main():
    """Records, opens, takes the pictures."""
    build = os.path.abspath(sys.argv[1])
    folder = tempfile.mkdtemp(prefix="perfrec-tutorial-")
    chromium = browser.Browser()
    try:
        page = chromium.open("file://" + record(build, folder), width=1200, height=640)
        page.wait("document.documentElement.dataset.state === 'ready'")
        page.press("/")
        page.type("Catalog::find")
        page.painted()
        page.picture(os.path.join(IMAGES, "tutorial-flame.png"))
        page.press(*["Backspace"] * len("Catalog::find"))
        page.click_on("[role=tab][aria-controls$=threads]")
        page.js("window.scrollTo(0, document.querySelector('[role=tablist]').getBoundingClientRect().top + window.scrollY - 8)")
        page.painted()
        page.picture(os.path.join(IMAGES, "tutorial-threads.png"))
    finally:
        chromium.close()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

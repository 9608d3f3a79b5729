# SPDX-License-Identifier: Apache-2.0
"""picture.py BUILD [FOLDER] - the pictures of the page in the README: the demo,
recorded within a budget, in Chromium. page.png has the top of the page, waits.png
the graph and the table of blocked time. FOLDER: docs/images, if none is given."""

import os
import shutil
import subprocess
import sys
import tempfile

import browser

HERE = os.path.dirname(os.path.abspath(__file__))
IMAGES = os.path.join(HERE, "../../docs/images")


def record(build, folder):
    """Records the demo twice: the second run knows from the first what to count. Returns the page."""
    env = dict(os.environ, O=build, XDG_CACHE_HOME=os.path.join(folder, "cache"))
    for _ in range(2):
        subprocess.run(["sh", os.path.join(HERE, "../../scripts/demo.sh"), "."], check=True, cwd=folder,
                       env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run([os.path.join(build, "perfrec"), "report", "--html", "demo.html", "perfrec.data"], check=True, cwd=folder)
    return os.path.join(folder, "demo.html")


def show_blocked(page):
    """Scrolls to the flame graph of blocked time."""
    page.js("(() => { const v = document.querySelector('#value'); v.value = 'blocked'; v.dispatchEvent(new Event('change')); })()")
    page.painted()
    page.js("window.scrollTo(0, document.getElementById('value').getBoundingClientRect().top + window.scrollY - 4)")


def main():
    """Records, opens, takes the pictures."""
    images = sys.argv[2] if len(sys.argv) > 2 else IMAGES
    folder = tempfile.mkdtemp(prefix="perfrec-picture-")
    chromium = browser.Browser()
    try:
        html = record(os.path.abspath(sys.argv[1]), folder)
        for name, height in (("page.png", 800), ("waits.png", 560)):
            page = chromium.open("file://" + html, width=1200, height=height)
            page.wait("document.documentElement.dataset.state === 'ready'")
            if name == "waits.png":
                show_blocked(page)
            page.picture(os.path.join(images, name))
    finally:
        chromium.close()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""picture.py BUILD [FILE] - the picture of the page in the README: make demo's
recording, in Chromium. FILE: docs/images/page.png, if none is given."""

import os
import shutil
import sys
import tempfile

import browser
import recordings


def main():
    """Records, opens, takes the picture."""
    build = os.path.abspath(sys.argv[1])
    here = os.path.dirname(os.path.abspath(__file__))
    file = sys.argv[2] if len(sys.argv) > 2 else os.path.join(here, "../../docs/images/page.png")
    folder = tempfile.mkdtemp(prefix="perfrec-picture-")
    chromium = browser.Browser()
    try:
        _, path, _ = recordings.Recordings(build, folder).get("demo")
        page = chromium.open("file://" + path, width=1200, height=800)
        page.wait("document.documentElement.dataset.state === 'ready'")
        os.makedirs(os.path.dirname(file), exist_ok=True)
        page.picture(file)
    finally:
        chromium.close()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

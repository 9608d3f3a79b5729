# SPDX-License-Identifier: Apache-2.0
"""ready.py PAGE | --large TEMPLATE - how long Chromium takes until a page can
be used; --large: a page of 10 MB, as large as they become, of stacks that
nobody recorded (sample.py)."""

import os
import sys
import tempfile

import browser
import sample

LARGE_FRAMES = 1120000  # 10 MB


def measure(path):
    """Opens the page three times; returns the milliseconds of each."""
    times = []
    chromium = browser.Browser()
    try:
        for _ in range(3):
            page = chromium.open("file://" + os.path.abspath(path))
            page.wait("document.documentElement.dataset.state === 'ready'")
            times.append(page.js("performance.getEntriesByName('perfrec-ready')[0].startTime"))
            page.close()
    finally:
        chromium.close()
    return times


def main():
    """Prints the size and the times."""
    with tempfile.TemporaryDirectory(prefix="perfrec-ready-") as folder:
        path = sys.argv[-1]
        if sys.argv[1] == "--large":
            path = os.path.join(folder, "large.html")
            sample.write_page(sys.argv[2], path, sample.large(LARGE_FRAMES).base64())
        print("a page of %d bytes: ready in Chromium after %s ms"
              % (os.path.getsize(path), ", ".join("%.0f" % ms for ms in measure(path))))


if __name__ == "__main__":
    main()

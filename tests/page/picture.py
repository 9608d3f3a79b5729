# SPDX-License-Identifier: Apache-2.0
"""picture.py BUILD PROGRAMS [FILE] - the picture of the page in the README: the
Lua interpreter, recorded within a budget, in Chromium. PROGRAMS: the folder of
tests/real/fetch-build.sh, which has Lua's sources. FILE: docs/images/page.png,
if none is given.
picture.py BUILD [FILE] - the picture of where the demo waited: the table of the
page, with its columns. FILE: docs/images/waits.png."""

import glob
import os
import shutil
import subprocess
import sys
import tempfile

import browser

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = "1000"  # of the workload: a second or two


def build_lua(perfrec, programs, folder):
    """Lua with room for hooks, as somebody would build it for a recording that costs little."""
    sources = [path for path in sorted(glob.glob(os.path.join(programs, "src/lua5.4-*/src/*.c")))
               if os.path.basename(path) != "luac.c"]
    subprocess.run([perfrec, "cc", "--hooks=entry", "gcc", "-O2", "-g", "-DLUA_USE_LINUX", "-DLUA_COMPAT_5_3",
                    "-o", os.path.join(folder, "lua"), *sources, "-Wl,-E", "-lm", "-ldl"], check=True)


def record(perfrec, programs, folder):
    """Records it twice: the second run knows from the first what to leave out. Returns the page."""
    build_lua(perfrec, programs, folder)
    shutil.copy(os.path.join(HERE, "../real/workload.lua"), folder)
    env = dict(os.environ, XDG_CACHE_HOME=os.path.join(folder, "cache"))
    for _ in range(2):
        subprocess.run([perfrec, "record", "-q", "--overhead", "5%", "-o", "lua.data", "--", "./lua", "workload.lua", ROUNDS],
                       check=True, cwd=folder, env=env, stdout=subprocess.DEVNULL)
    subprocess.run([perfrec, "report", "--html", "lua.html", "lua.data"], check=True, cwd=folder)
    return os.path.join(folder, "lua.html")


def record_demo(perfrec, build, folder):
    """Returns the page of the demo, whose threads wait for each other."""
    subprocess.run(["sh", os.path.join(HERE, "../../scripts/demo.sh"), folder], check=True,
                   env=dict(os.environ, O=build), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run([perfrec, "report", "--html", "demo.html", "perfrec.data"], check=True, cwd=folder)
    return os.path.join(folder, "demo.html")


def take(page, waits, file):
    """The upper part of the page; of @waits the blocked time, from the flame graph on."""
    page.wait("document.documentElement.dataset.state === 'ready'")
    if waits:
        page.js("(() => { const v = document.querySelector('#value'); v.value = 'blocked'; v.dispatchEvent(new Event('change')); })()")
        page.painted()
        page.js("window.scrollTo(0, document.getElementById('value').getBoundingClientRect().top + window.scrollY - 4)")
    os.makedirs(os.path.dirname(os.path.abspath(file)), exist_ok=True)
    page.picture(file)


def main():
    """Records, opens, takes the picture."""
    build = os.path.abspath(sys.argv[1])
    perfrec = os.path.join(build, "perfrec")
    waits = len(sys.argv) < 3 or not os.path.isdir(sys.argv[2])
    names = sys.argv[2 if waits else 3:]
    file = names[0] if names else os.path.join(HERE, "../../docs/images", "waits.png" if waits else "page.png")
    folder = tempfile.mkdtemp(prefix="perfrec-picture-")
    chromium = browser.Browser()
    try:
        html = record_demo(perfrec, build, folder) if waits else record(perfrec, os.path.abspath(sys.argv[2]), folder)
        take(chromium.open("file://" + html, width=1200, height=560 if waits else 800), waits, file)
    finally:
        chromium.close()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()

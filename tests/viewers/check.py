# SPDX-License-Identifier: Apache-2.0
#
# check.py BUILD FOLDER: opens what perfrec export writes of FOLDER/data in
# speedscope's page, in the Firefox Profiler's command line, and the flame graph
# in Chromium. FOLDER has their node_modules. See run.sh.
import gzip
import json
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "tests", "page"))
from browser import Browser  # noqa: E402

BUILD, FOLDER = (os.path.abspath(word) for word in sys.argv[1:])
MODULES = os.path.join(FOLDER, "node_modules")


class GlBrowser(Browser):
    """speedscope draws with WebGL."""

    FLAGS = tuple(flag for flag in Browser.FLAGS if flag != "--disable-gpu") + (
        "--enable-unsafe-swiftshader",)


def demand(what, *about):
    if not what:
        sys.exit("check-viewers: " + " ".join(str(each) for each in about))


def export(form, *options):
    return subprocess.run(
        [os.path.join(BUILD, "perfrec"), "export", "--to", form, *options, "data"],
        cwd=FOLDER, check=True, stdout=subprocess.PIPE).stdout


def speedscope(browser, *options):
    """The rows of speedscope's table of functions."""
    path = os.path.join(FOLDER, "perfrec.speedscope.json")
    with open(path, "wb") as file:
        file.write(export("speedscope", *options))
    page = browser.open("file://%s/speedscope/dist/release/index.html" % MODULES)
    page.wait("document.querySelector('input[type=file]')")
    root = page.call("DOM.getDocument")["root"]["nodeId"]
    node = page.call("DOM.querySelector", nodeId=root,
                     selector="input[type=file]")["nodeId"]
    page.call("DOM.setFileInputFiles", nodeId=node, files=[path])
    page.wait("document.body.innerText.includes('Sandwich')")
    page.press("3")
    page.wait("document.querySelectorAll('table tr').length > 5")
    rows = page.js("[...document.querySelectorAll('table tr')]"
                   ".map(row => row.innerText)")
    errors = [line for line in page.console if "rror" in line]
    demand(not errors, "speedscope says", errors)
    page.close()
    return rows


def check_speedscope(browser):
    rows = speedscope(browser, "--value", "calls")
    row = [row for row in rows if row.split()[-1] == "fib"]
    demand(row and row[0].startswith("177 "), "speedscope has fib as", row)
    demand(any("</script><b>&amp;" in row for row in rows), "names", rows)
    rows = speedscope(browser)
    row = [row for row in rows if row.split()[-1] == "main"]
    demand(row and "(100%)" in row[0], "speedscope has main as", row)


def firefox(*words):
    """What the command line of the Firefox Profiler prints."""
    environment = dict(os.environ, HOME=FOLDER)
    return subprocess.run(
        ["node", os.path.join(MODULES, "@firefox-devtools", "profiler-cli",
                              "dist", "profiler-cli.js"), *words],
        cwd=FOLDER, env=environment, check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout


def check_firefox():
    data = export("firefox")
    path = os.path.join(FOLDER, "profile.json.gz")
    with open(path, "wb") as file:
        file.write(data)
    thread = json.loads(gzip.decompress(data))["threads"][0]
    for _ in range(10):
        # Its daemon has 500 ms to start.
        if "did not become ready" not in firefox("load", path):
            break
    try:
        tree = firefox("thread", "samples-top-down", "--include-idle")
        wanted = "main [total: 100.0%, self:"
        demand(wanted in tree, "no", wanted, "in", tree)
        demand("fib [total:" in tree and "</script><b>&amp; [" in tree,
               "names", tree)
        demand(thread["name"].split()[0] in firefox("thread", "list"),
               "the thread")
    finally:
        firefox("stop", "--all")


def check_flamegraph(browser):
    path = os.path.join(FOLDER, "flames.svg")
    with open(path, "wb") as file:
        file.write(export("flamegraph", "--value", "calls"))
    page = browser.open("file://" + path)
    demand(page.requests == ["file://" + path], "requests", page.requests)
    demand(page.js("document.querySelectorAll('g.f').length") > 15, "frames")
    shown = ("[...document.querySelectorAll('g.f')]"
             ".filter(g => g.style.display !== 'none').length")
    before = page.js(shown)
    page.js("[...document.querySelectorAll('g.f')].find("
            "g => g.dataset.n === 'name_all')"
            ".dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    demand(page.js(shown) < before, "a click does not zoom")
    page.press("Escape")
    demand(page.js(shown) == before, "Escape does not reset")
    demand(not page.console, "console", page.console)
    page.picture(os.path.join(FOLDER, "flames.png"))
    page.close()


def main():
    browser = GlBrowser()
    try:
        check_speedscope(browser)
        check_flamegraph(browser)
    finally:
        browser.close()
    check_firefox()
    print("check-viewers: speedscope, Chromium and the Firefox Profiler agree")


main()

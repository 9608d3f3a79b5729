# SPDX-License-Identifier: Apache-2.0
#
# check.py BUILD FOLDER: holds traces against what Perfetto's importer makes of
# them (trace_check --importer). Opens what perfrec export writes of FOLDER/data in
# speedscope's page, in the Firefox Profiler's command line, and the flame graph
# in Chromium. Has axe look at the page, and DuckDB run the queries of
# docs/JSON.md. FOLDER has their node_modules. See run.sh.
import gzip
import json
import os
import shutil
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


class Tables:
    """What Perfetto's engine has in its tables for a recording of PROGRAM."""

    def __init__(self, options, *program):
        subprocess.run(
            [os.path.join(BUILD, "perfrec"), "record", "-q", "-o", "tables",
             *options, "--", os.path.join(BUILD, "tests", "progs", program[0]),
             *program[1:]], cwd=FOLDER, check=True, stdout=subprocess.DEVNULL)
        self.folder = os.path.join(FOLDER, "tables")
        text = subprocess.run(
            [os.path.join(BUILD, "tests", "tools", "trace_check"), "--dump",
             "--importer", os.path.join(self.folder, "trace.pftrace")],
            check=True, stdout=subprocess.PIPE, text=True).stdout
        self.rows = {}
        self.slices = {}  # of each thread and context: B and E, (ns, name)
        for line in text.splitlines():
            words = line.split("\t")
            if len(words) > 1:
                self.rows.setdefault(words[0], []).append(words[1:])
            elif line[0] in "BE":
                kind, _, tid, ns, _, name = line.split(" ", 5)
                self.slices.setdefault(tid, []).append((kind, int(ns), name))
        with open(os.path.join(self.folder, "summary.json"),
                  encoding="utf-8") as file:
            self.summary = json.load(file)
        self.lost = self.summary["totals"].get("lost_switches") or 0
        self.check()

    def check(self):
        """What holds for each trace."""
        for pid, start, first, name in self.rows["process"]:
            demand(0 < int(start) and (first == "0" or int(start) <= int(first)),
                   name, pid, "starts at", start, "after its first event at", first)
        # A thread may begin just before a trace stops.
        stopped = self.summary["totals"]["trace_stopped"]
        for tid, pid, _ in self.rows["thread"]:
            demand(stopped or pid != "-", "thread", tid,
                   "has switches, and no process")
        demand(self.lost or "loss" not in self.rows, "a loss on CPUs",
               self.rows.get("loss"))

    def running(self, tid):
        return [(int(ns), int(ns) + int(took)) for which, ns, took, state, *_
                in self.rows.get("state", ()) if which == tid and state == "Running"]


def check_stopped():
    tables = Tables(["--max-size", "262144", "--compress=off"], "demo")
    demand(tables.summary["totals"]["trace_stopped"], "the trace did not stop")
    last = max(events[-1][1] for events in tables.slices.values())
    for tid, events in tables.slices.items():
        demand([ns for kind, ns, _ in events if kind == "E"][-1] == last,
               "slices of thread", tid, "end before the trace")
        begun = [ns for kind, ns, _ in events if kind == "B"][-1]
        ran = tables.running(tid)
        # The two clocks may be some us apart.
        demand(not tables.rows.get("state") or tables.lost or
               any(to + 50000 >= begun for _, to in ran),
               "thread", tid, "begins a call at", begun, "and runs in", ran[-3:])


def check_contexts():
    tables = Tables(["--alloc=off"], "trace/coroutines", "1")
    demand(any("/" in tid for tid in tables.slices), "no contexts")
    threads = [thread for process in tables.summary["processes"]
               for thread in process["threads"]]
    if any(thread["on_cpu_ns"] is None for thread in threads):
        return  # the kernel does not tell of switches here
    ran = sum(thread["on_cpu_ns"] for thread in threads)
    calls = sum(function["on_cpu_self_ns"] or 0
                for function in tables.summary["functions"])
    demand(calls <= ran * 1.01 + 5e6, "functions have", calls,
           "ns on a CPU, threads", ran)


def check_importer():
    check_stopped()
    check_contexts()
    Tables([], "waits/tasks", "forks")
    kept = Tables(["--keep", "last", "--max-size", "8M"], "demo")
    demand(kept.summary["totals"]["trace_given_up_bytes"], "nothing was given up")


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


def check_page(browser):
    """axe finds nothing on any tab of the page, at two widths, light and dark."""
    path = os.path.join(FOLDER, "page.html")
    subprocess.run([os.path.join(BUILD, "perfrec"), "report", "--html", path,
                    "tables"], cwd=FOLDER, check=True)
    with open(os.path.join(MODULES, "axe-core", "axe.min.js"),
              encoding="utf-8") as file:
        axe = file.read()
    for width, dark in (1280, False), (1280, True), (390, False), (390, True):
        page = browser.open("file://" + path, width=width, dark=dark)
        page.wait("document.documentElement.dataset.state === 'ready'")
        page.js("document.querySelector('#view-profile tbody button').click()")
        page.js(axe + "; 0")
        tabs = page.js("[...document.querySelectorAll('[role=tab]')].map(t => t.id)")
        demand(len(tabs) == 6, "the page has the tabs", tabs)
        for tab in tabs:
            page.click_on("#" + tab)
            page.painted()
            found = page.js("axe.run({resultTypes: ['violations']}).then(all => all"
                            ".violations.map(v => [v.id, v.nodes[0].html]))")
            demand(not found, "axe says of", tab, width, "dark" * dark, found)
        page.close()


def check_tables():
    """The queries of docs/JSON.md, over recordings of two hosts and versions."""
    perfrec = os.path.join(BUILD, "perfrec")
    demo = os.path.join(BUILD, "tests", "progs", "demo")
    folder = os.path.join(FOLDER, "queries")
    calls = 0
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    for host in "web1", "web2":
        for version in "1", "2":
            for name, command in (("demo", [demo, "60", "300"]),
                                  ("failed", ["sh", "-c", "exit 3"])):
                recording = os.path.join(folder, name)
                tables = os.path.join(folder, "tables", "host=" + host,
                                      "version=" + version, name)
                subprocess.run([perfrec, "record", "-q", "-o", recording, "--",
                                *command], stdout=subprocess.DEVNULL)
                os.makedirs(tables)
                subprocess.run([perfrec, "export", "--to", "parquet", "-o", tables,
                                recording], check=True)
                functions = json.loads(subprocess.run(
                    [perfrec, "report", "--json", recording], check=True,
                    stdout=subprocess.PIPE).stdout)["functions"]
                calls += sum(one["calls"] for one in functions
                             if one["name"] == "queue_take")
    demand(calls > 0, "the demo calls no queue_take")
    os.symlink(MODULES, os.path.join(folder, "node_modules"))
    answers = json.loads(subprocess.run(
        ["node", os.path.join(TOP, "tests", "viewers", "duckdb.js"),
         os.path.join(TOP, "docs", "JSON.md")],
        cwd=folder, check=True, stdout=subprocess.PIPE).stdout)
    demand(len(answers) == 11, "queries", list(answers))
    (slowest, by_self, p99, hosts, versions, locks, together, sites, profile,
     odd, request) = answers.values()
    demand([row["ms"] for row in slowest] ==
           sorted((row["ms"] for row in slowest), reverse=True) and
           slowest[0]["caller"] is None,
           "slowest", slowest)
    taken = next(row for row in by_self if row["name"] == "queue_take")
    demand(taken["calls"] == str(calls) and taken["recordings"] == "4", by_self)
    demand(sum(int(row["calls"]) for row in p99) == calls, "p99", p99, calls)
    demand(hosts and all(row["factor"] >= 1 and row["slowest"] in ("web1", "web2")
                         for row in hosts), "hosts", hosts)
    demand(sum(int(row["1_calls"]) + int(row["2_calls"]) for row in versions
               if row["name"] == "queue_take") == calls, "versions", versions)
    demand(locks and all(row["lock"].startswith("[mutex ") for row in locks), locks)
    # Two threads may never wait at once.
    demand(all(row["lock"].startswith("[") for row in together), together)
    demand(any(row["name"] == "write_document" and int(row["bytes"]) > 0
               for row in sites), "sites", sites)
    demand(profile and all(0 < row["percent"] <= 100 for row in profile), profile)
    demand([row["exit_status"] for row in odd if row["program"] == "sh"] ==
           ["3"] * 4, "odd", odd)
    demand(not request, "the demo works on no request", request)


def main():
    check_importer()
    check_tables()
    browser = GlBrowser()
    try:
        check_speedscope(browser)
        check_flamegraph(browser)
        check_page(browser)
    finally:
        browser.close()
    check_firefox()
    print("check-viewers: the rules of Perfetto's importer, speedscope, Chromium, "
          "the Firefox Profiler and DuckDB agree, "
          "and axe finds nothing on the page")


main()

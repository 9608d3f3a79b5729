# SPDX-License-Identifier: Apache-2.0
"""The page in a headless Chromium: what a person sees and does there.

test_page.py BUILD [unittest options]. PAGE_SHOTS=DIR: screenshots go there.
One browser opens all pages. Pages of recordings come from `perfrec report
--html`; pages with data that no recording has come from sample.py.
"""

import os
import re
import sys
import tempfile
import unittest

import browser
import recordings
import sample

sys.modules["test_page"] = sys.modules[__name__]  # the other files of tests import this one

BUILD = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
TEMPLATE = os.path.join(BUILD, "page_template.html")
REAL = os.path.abspath(os.environ.get("REAL_DIR") or os.path.join(BUILD, "real"))
ALL = os.environ.get("PAGE_ALL")  # none may be skipped
SHOTS = os.environ.get("PAGE_SHOTS")

READY = "document.documentElement.dataset.state"
# Rows of the table of functions that is seen: name, and the figures by column.
ROWS = """[...document.querySelectorAll('#view-profile tbody tr')].map((row) => [row.dataset.name,
    Object.fromEntries([...row.querySelectorAll('td[data-raw]')].map((cell) => [cell.dataset.id, Number(cell.dataset.raw)]))])"""


class Shared:
    """What all tests use."""

    browser = None
    folder = None
    recordings = None

    @classmethod
    def given(cls):
        """Names of the recordings that somebody wants to try."""
        for data in filter(None, os.environ.get("PAGE_DATA", "").split(":")):
            cls.recordings.take(os.path.abspath(data))
            yield os.path.basename(data)


class PageTest(unittest.TestCase):
    """Opens pages, and holds each to what all must do: no error, no request."""

    def setUp(self):
        self.pages = []
        self.addCleanup(self.close)

    def close(self):
        for page in self.pages:
            page.close()

    def open(self, path, **how):
        """Opens a page and waits until it says that it is ready."""
        page = Shared.browser.open("file://" + path, **how)
        self.pages.append(page)
        self.assertEqual(page.wait(READY), "ready", page.text("#page"))
        page.painted()
        return page

    def sample(self, name, data, **how):
        """A page of sample.py."""
        path = os.path.join(Shared.folder, name + ".html")
        sample.write_page(TEMPLATE, path, data)
        return self.open(path, **how)

    def rich(self, **how):
        """The page of a server that nobody ran; its figures are known."""
        return self.sample("rich", RICH_DATA, **how)

    def shot(self, page, name):
        """Keeps a picture, if somebody wants one."""
        if SHOTS:
            os.makedirs(SHOTS, exist_ok=True)
            page.picture(os.path.join(SHOTS, name + ".png"))

    def silent(self, page):
        """Nothing on the console, nothing asked for but the page itself."""
        page.painted()
        self.assertEqual(page.console, [])
        self.assertEqual([url[:60] for url in page.requests if not url.startswith("data:,")],
                         [page.requests[0][:60]])

    def pixels(self, page, x, y, width):
        """[red, green, blue, 255, ...] of the flame graph."""
        return page.js("""(() => { const g = new OffscreenCanvas(%d, 1).getContext('2d', { willReadFrequently: true });
            g.drawImage(document.querySelector('.flame canvas'), -%d, -%d);
            return [...g.getImageData(0, 0, %d, 1).data]; })()""" % (width, x, y, width))

    def rows(self, page):
        """{function: {column: number}} of all rows."""
        while page.js("document.querySelector('#view-profile .more button:last-child')?.click()"):
            pass
        return dict(page.js(ROWS))

    def own(self, page):
        """{function: self} of all rows that have one."""
        return {name: row["self"] for name, row in self.rows(page).items() if row["self"]}


Shared.rich = sample.Rich()
RICH_DATA = Shared.rich.data.base64()


class Recorded(PageTest):
    """Figures of recordings are those that `perfrec report --json` prints."""

    def check(self, name):
        """Opens the page of a recording; every function's figures are compared."""
        _, path, report = Shared.recordings.get(name)
        page = self.open(path)
        rows = self.rows(page)
        wanted = {}
        for function in report["functions"]:
            key = function["name"]
            if function["calls"] or function["self_ns"] or function["total_ns"]:
                single = [function[which] or 0 for which in ("median_ns", "p99_ns", "max_ns")]
                wanted.setdefault(key, []).append((function["calls"], function["self_ns"], function["total_ns"], *single))
        self.assertTrue(wanted)
        for key, figures in wanted.items():
            self.assertIn(key, rows)
            row = rows[key]
            single = [row.get(which, 0) for which in ("median", "p99", "max")]
            self.assertIn((row["calls"], row["self"], row["total"], *single), figures, key)
        self.assertIn(os.path.basename(report["command"][0]), page.text("h1"))
        self.silent(page)
        self.shot(page, name)
        return page

    def test_demo(self):
        """Each recorded call of a function is in one of its bars."""
        page = self.check("demo")
        _, _, report = Shared.recordings.get("demo")
        recorded = {f["name"]: f["recorded"] for f in report["functions"] if f["max_ns"] is not None}
        for name in ("same_word", "queue_take", "main"):
            page.click_on('#view-profile tr[data-name="%s"] button' % name)
            page.painted()
            titles = page.js("[...document.querySelectorAll('#view-callers .bars i')].map((bar) => bar.title)")
            calls = [int(title.split(": ")[1].split(" ")[0].replace(",", "")) for title in titles]
            self.assertEqual(sum(calls), recorded[name], name)
            page.press("1")
            page.painted()

    def test_part(self):
        """The page of a range says which it is; its timeline has that time, and zooms within it."""
        _, _, whole = Shared.recordings.get("demo")
        begin, end = whole["wall_ns"] // 4, whole["wall_ns"] // 2
        path, report = Shared.recordings.part("demo", "--from", f"{begin}ns", "--to", f"{end}ns")
        page = self.open(path)
        rows = self.rows(page)
        for function in report["functions"]:
            if function["calls"] and sum(f["name"] == function["name"] for f in report["functions"]) == 1:
                row = rows[function["name"]]
                self.assertEqual((row["calls"], row["self"], row["total"]),
                                 (function["calls"], function["self_ns"], function["total_ns"]))
        self.assertRegex(page.text(".part"), r"^A part of the recording: [0-9.]+m?s to [0-9.]+m?s of its ")
        self.assertNotIn("calls recorded", page.text("#view-profile"))
        page.press("3")
        page.painted()
        seen = "document.querySelector('#view-threads .panel-head .muted').textContent"
        self.shot(page, "part")
        before = page.js(seen)
        self.assertRegex(before, r"^0\.[0-9]*[1-9]")
        page.js("document.querySelector('#view-threads [aria-label=\"Zoom in\"]').click()")
        page.painted()
        self.assertNotEqual(page.js(seen), before)
        page.js("document.querySelector('#view-threads [aria-label=\"All: show the whole time\"]').click()")
        page.painted()
        self.assertEqual(page.js(seen), before)
        if whole["totals"]["sched_threads"]:
            page.click_on("#cpu-heat-button")
            page.js("document.querySelector('.cpu-heat').focus()")
            page.press("Home")
            first = page.js("document.querySelector('.cpu-heat').getAttribute('aria-valuetext')")
            self.assertAlmostEqual(float(first.split()[0]), begin / 1e9, 3)
        self.silent(page)

    def test_where_time_went(self):
        """Wall time has its parts beside it, each is a value of the flame graph, and another value has none."""
        _, _, report = Shared.recordings.get("demo")
        if not report["totals"]["sched_threads"]:
            self.skipTest("the kernel does not tell of switches here")
        page = self.check("demo")
        titles = "[...document.querySelectorAll('#view-profile thead th')].map((c) => c.textContent)"
        for title in ("On CPU", "Runnable", "Blocked"):
            self.assertIn(title, page.js(titles))
        choose = ("(() => {{ const v = document.querySelector('#value'); v.value = '{}'; "
                  "v.dispatchEvent(new Event('change')); }})()")
        for key in ("on_cpu", "runnable", "blocked"):
            page.js(choose.format(key))
            page.painted()
            self.assertNotIn("Blocked", page.js(titles))
            first = page.js("document.querySelector('#view-profile tbody button').textContent")
            most = max(report["functions"], key=lambda f: f[key + "_self_ns"])
            self.assertEqual(first, most["name"], key)
        self.silent(page)

    def test_server(self):
        page = self.check("server")
        page.press("3")
        page.painted()
        page.press("t")
        self.assertEqual(len(page.js("[...document.querySelectorAll('#threads input')].map((i) => i.checked)")), 4)
        self.shot(page, "server-threads")
        self.silent(page)

    def test_templates(self):
        page = self.check("templates")
        names = page.js("[...document.querySelectorAll('#view-profile tbody button')].map((b) => b.textContent)")
        self.assertTrue(any("<…>" in name for name in names), names)

    def test_memory(self):
        _, _, report = Shared.recordings.get("memory")
        page = self.check("memory")
        page.press(str(1 + page.js("[...document.querySelectorAll('[role=tab]')].findIndex((t) => t.id === 'tab-memory')")))
        page.painted()
        left = {f["name"]: f["inuse_bytes"] for f in report["functions"] if f["inuse_bytes"]}
        self.assertTrue(left)
        seen = page.js("""(() => { const at = [...document.querySelectorAll('#view-memory thead th')].findIndex(
            (th) => th.getAttribute('aria-sort') === 'descending');
            return [...document.querySelectorAll('#view-memory tbody tr')].map((row) =>
              [row.cells[0].textContent, Number(row.cells[at].dataset.raw)]).filter(([, n]) => n); })()""")
        self.assertEqual(dict(seen), left)
        self.shot(page, "memory")
        page.click_on("#tab-lines")
        self.assertIn("malloc(n)", page.text("#view-lines tbody"))
        self.assertIn("memory.c", page.text("#view-lines caption"))
        self.assertIn("know their function only", page.text("#view-lines"))
        page.click_on("#tab-threads")
        page.painted()
        rows = "#view-threads .panel-head button"
        self.assertIn("Only 12 rows of each thread: show all 4", page.text(rows))
        height = page.box(".timeline .spacer")[3]
        page.click_on(rows)
        page.painted()
        self.assertEqual(page.text(rows), "Show 12 rows of each thread")
        self.assertGreater(page.box(".timeline .spacer")[3], 2 * height)
        self.silent(page)

    def test_muted(self):
        page = self.check("muted")
        row = self.rows(page)["often"]
        self.assertEqual(row["calls"], 50000)
        _, _, report = Shared.recordings.get("muted")
        recorded = [f["recorded"] for f in report["functions"] if f["name"] == "often"][0]
        self.assertLess(recorded, 50000)
        self.assertIn("%d of 50,000 calls recorded" % recorded, page.text('tr[data-name="often"] th'))
        if recorded:
            self.assertAlmostEqual(row["mean"], row["total"] / recorded, 3)

    def test_plain(self):
        """A program without hooks: the page begins with what there is."""
        _, path, _ = Shared.recordings.get("plain")
        page = self.open(path)
        values = page.js("[...document.querySelectorAll('#value option')].map((o) => o.textContent)")
        self.assertEqual(values[0], "CPU time")
        self.assertNotIn("Wall time", values)
        self.assertNotIn("Calls", values)
        self.assertIn("spin", self.own(page))
        self.silent(page)

    def real(self, name):
        """A program that nobody here wrote, if somebody has built it (make check-page-real)."""
        if not os.access(os.path.join(REAL, name), os.X_OK):
            self.skipTest("%s/%s is not there (make check-page-real)" % (REAL, name))
        return self.check(Shared.recordings.take_real(name, REAL))

    def test_real_lua(self):
        self.assertIn("luaV_execute", self.rows(self.real("lua")))

    def test_real_sqlite(self):
        page = self.real("sqlite3")
        page.press("/")
        page.type("/^sqlite3VdbeExec$/")
        page.painted()
        self.assertEqual(list(self.rows(page)), ["sqlite3VdbeExec"])
        page.click_on("#tab-lines")
        self.assertRegex(page.text("#view-lines caption"), r"/(sqlite3|shell)\.c$")
        self.shot(page, "sqlite-lines")
        self.silent(page)

    def test_given(self):
        """PAGE_DATA=DIR:DIR...: recordings of real programs."""
        for data in Shared.given():
            self.check(data)


class Driven(PageTest):
    """Mouse and keyboard, on a page whose figures are known."""

    def test_drag_snaps_to_buckets(self):
        page = self.rich()
        x, y, width, _ = page.box(".overview")
        left = 132
        bucket = (width - left) / sample.Rich.BUCKETS
        page.drag(x + left + 20.5 * bucket, x + left + 59.5 * bucket, y + 20)
        page.painted()
        self.assertEqual(self.own(page), Shared.rich.in_range("wall", 20, 59))
        self.assertTrue(page.text(".chip").startswith("0.100 s – 0.300 s"), page.text(".chip"))
        self.shot(page, "range")
        page.press("Escape")
        page.painted()
        self.assertEqual(self.own(page), Shared.rich.in_range("wall", 0, 999))
        self.silent(page)

    def test_range_by_keyboard(self):
        page = self.rich()
        page.press("o", "Home", "ArrowRight", "ArrowRight")
        page.press("ArrowRight", "ArrowRight", "ArrowRight", shift=True)
        page.painted()
        self.assertEqual(self.own(page), Shared.rich.in_range("wall", 2, 5))
        slider = [node for node in page.tree() if node[0] == "slider"]
        self.assertEqual([node[1] for node in slider], ["Time range"])
        page.press("Escape")
        self.assertEqual(self.own(page), Shared.rich.in_range("wall", 0, 999))

    def test_values(self):
        page = self.rich()
        page.press("v")
        self.assertEqual(self.own(page), Shared.rich.in_range("calls", 0, 999))
        page.press("v")
        self.assertEqual(self.own(page), Shared.rich.in_range("cpu", 0, 999))
        page.press("V", "V")
        self.assertEqual(self.own(page), Shared.rich.in_range("wall", 0, 999))

    def test_value_without_times_says_so(self):
        page = self.rich()
        page.press("o", "Home")
        page.press("ArrowRight", shift=True)
        self.assertEqual(page.text(".warning"), "")
        page.js("(() => { const v = document.querySelector('#value'); v.value = 'alloc_space'; "
                "v.dispatchEvent(new Event('change')); })()")
        self.assertIn("not known when", page.text(".warning"))
        self.assertEqual(self.own(page)["tokenize"], 7 << 25)

    def test_thread_filter(self):
        page = self.rich()
        page.click_on("#threads-button")
        self.shot(page, "thread-filter")
        page.click_on("#threads fieldset:last-of-type button")
        page.painted()
        self.assertEqual(page.text("#threads-button"), "Threads: 1 of 4")
        self.assertEqual(self.own(page), Shared.rich.in_range("wall", 0, 999, {4}))
        page.click_on("#threads fieldset:nth-of-type(1) label:nth-of-type(2) input")
        self.assertEqual(self.own(page), Shared.rich.in_range("wall", 0, 999, {2, 4}))
        page.press("Escape")
        self.assertTrue(page.js("document.querySelector('#threads').hidden"))
        self.silent(page)

    def test_search(self):
        page = self.rich()
        page.press("/")
        page.type("HASH")
        page.painted()
        sums = Shared.rich.in_range("wall", 0, 999)
        share = 100 * sums["hash"] / sum(sums.values())
        self.assertEqual(list(self.rows(page)), ["hash"])
        self.assertIn("%.1f %% matched" % share, page.text("#found"))
        self.shot(page, "search")
        page.press("Enter")
        self.assertTrue(page.text(".flame [role=treeitem]").startswith("hash, "))
        page.press("/", "Escape")
        self.assertEqual(page.text("#found"), "")
        self.assertEqual(len(self.rows(page)), 14)
        page.press("/")
        page.type("/^(parse|hash)$/")
        self.assertEqual(sorted(self.rows(page)), ["hash", "parse"])

    def test_zoom_by_click_and_back(self):
        page = self.rich()
        before = self.top_line(page)
        x, y, _, _ = page.box(".flame canvas")
        page.click(x + 30, y + 3 * 19 + 9)
        page.painted()
        self.assertTrue(page.text(".flame [role=treeitem]").startswith("render, "))
        self.assertIn("render", page.text(".details"))
        self.assertNotEqual(self.top_line(page), before)
        self.shot(page, "zoom")
        page.press("f", "Backspace", "Backspace", "Backspace")
        page.painted()
        page.press("Home")
        self.assertTrue(page.text(".flame [role=treeitem]").startswith("all, "))
        self.silent(page)

    def top_line(self, page):
        """The pixels of the fourth row of frames."""
        return self.pixels(page, 0, 66, 1000)

    def test_frames_by_keyboard(self):
        page = self.rich()
        item = ".flame [role=treeitem]"
        page.press("f", "ArrowDown", "ArrowDown", "ArrowDown")
        self.assertTrue(page.text(item).startswith("render, total "), page.text(item))
        page.press("ArrowRight")
        self.assertTrue(page.text(item).startswith("parse, total "))
        self.assertEqual(page.js("document.querySelector('%s').getAttribute('aria-posinset')" % item), "2")
        page.press("ArrowLeft", "ArrowUp")
        self.assertTrue(page.text(item).startswith("serve, "))
        page.press("Enter", "Escape")
        active = page.js("document.activeElement.getAttribute('aria-activedescendant')")
        self.assertEqual(page.js("document.getElementById('%s').textContent" % active), page.text(item))
        page.press("s")
        self.assertEqual(page.js("document.querySelector('[role=tab][aria-selected=true]').id"), "tab-callers")
        self.silent(page)

    def test_sort(self):
        page = self.rich()
        page.click_on('thead th[data-id="calls"] button')
        calls = [row["calls"] for row in self.rows(page).values()]
        self.assertEqual(calls, sorted(calls, reverse=True))
        self.assertEqual(page.js("document.activeElement.closest('th').getAttribute('aria-sort')"), "descending")
        page.press("Enter")
        calls = [row["calls"] for row in self.rows(page).values()]
        self.assertEqual(calls, sorted(calls))
        page.click_on('thead th[data-id="name"] button')
        self.assertEqual(list(self.rows(page)), sorted(sample.Rich.NAMES))

    def test_totals_and_mean(self):
        page = self.rich()
        own = Shared.rich.in_range("wall", 0, 999)
        rows = self.rows(page)
        self.assertEqual(rows["main"]["total"], sum(own.values()))
        self.assertEqual(rows["hash"]["total"], own["hash"])
        calls = Shared.rich.in_range("calls", 0, 999)
        self.assertEqual(rows["hash"]["calls"], calls["hash"])
        self.assertAlmostEqual(rows["hash"]["mean"], own["hash"] / calls["hash"], 3)

    def test_durations(self):
        """How long single calls took: in the table, and as bars for a function."""
        page = self.sample("durations", sample.durations().base64())
        rows = self.rows(page)
        self.assertEqual([rows["wait"][which] for which in ("median", "p99", "max")], [1000, 80000, 81920])
        self.assertEqual(page.text('tr[data-name="main"] td[data-id="median"]'), "")
        self.assertEqual(page.text('tr[data-name="wait"] td[data-id="max"]'), "81.9 µs")
        page.click_on('thead th[data-id="p99"] button')
        self.assertEqual(list(self.rows(page)), ["wait", "main"])
        page.click_on('tr[data-name="wait"] button')
        page.painted()
        bars = "[...document.querySelectorAll('#view-callers .bars i')].map((bar) => [bar.title, bar.getBoundingClientRect().height])"
        bars = page.js(bars)
        # From 896 to 81,920 ns there are so many fourths of octaves.
        self.assertEqual(len(bars), 27)
        self.assertEqual(bars[0][0], "896 ns – 1.02 µs: 6 calls")
        self.assertEqual(bars[1][0], "1.02 µs – 1.28 µs: 0 calls")
        self.assertEqual(bars[2][0], "1.28 µs – 1.54 µs: 1 call")
        self.assertEqual([at for at, bar in enumerate(bars) if bar[1] > 0], [0, 2, 26])
        self.assertGreater(bars[0][1], bars[2][1])
        self.assertIn("median 1.00 µs, p99 80.0 µs, max 81.9 µs",
                      [node[1] for node in page.tree() if "How long" in node[1]][0])
        self.shot(page, "durations")
        self.silent(page)

    def test_callers_and_callees(self):
        page = self.rich()
        page.click_on('tr[data-name="tokenize"] button')
        page.painted()
        self.assertEqual(page.js("document.querySelector('[role=tab][aria-selected=true]').id"), "tab-callers")
        self.shot(page, "callers")
        callers = "#view-callers [aria-label='Callers of the function']"
        page.js("document.querySelector(\"%s\").focus()" % callers)
        self.assertIn("2 callers", page.text(callers + " [role=treeitem]"))
        page.press("ArrowUp")
        self.assertTrue(page.text(callers + " [role=treeitem]").startswith("parse, "))
        callees = "#view-callers [aria-label='Callees of the function']"
        page.press("f", "ArrowDown")
        self.assertTrue(page.text(callees + " [role=treeitem]").startswith("memcpy, "))
        self.silent(page)

    def test_threads(self):
        page = self.rich()
        page.press("3")
        page.painted()
        page.js("document.querySelector('.timeline').focus()")
        page.press(".")
        self.assertTrue(page.text("#timeline-item").startswith("main, lasts 1.00 s"), page.text("#timeline-item"))
        self.assertIn("longest call of each pixel", page.text("#view-threads .panel-head"))
        page.press(">", ".")
        row = [r for r in Shared.rich.rows if r[0] == 1 and r[1] == 1 and r[3] >= 10**6][1]
        self.assertIn("begins", page.text("#timeline-item"))
        self.assertTrue(page.text("#timeline-item").startswith(sample.Rich.NAMES[row[4] - 1] + ", "))
        page.press("Enter")
        page.painted()
        self.assertNotIn("longest call", page.text("#view-threads .panel-head"))
        page.press("0")
        x, y, _, _ = page.box(".timeline")
        page.click(x + 400, y + 32)
        self.assertTrue(page.text("#timeline-item").startswith("main, "))
        page.drag(x + 700, x + 500, y + 32)
        self.shot(page, "threads")
        self.silent(page)

    def test_memory(self):
        page = self.rich()
        page.press("4")
        page.painted()
        self.assertIn("at most 5", page.text("#view-memory .panel-head"))
        names = page.js("[...document.querySelectorAll('#view-memory tbody th')].map((th) => th.textContent)")
        self.assertEqual(names[:3], ["hash", "tokenize", "log_line"])
        self.shot(page, "memory-sample")
        self.silent(page)


    def test_lines_begin_with_the_program(self):
        """Not with libc's, which has more samples, and no source here."""
        page = self.sample("lines", sample.lines().base64())
        page.click_on("#tab-lines")
        self.assertEqual(page.text("#view-lines caption"), "/home/me/app/main.c")
        names = page.js("[...document.querySelectorAll('#view-lines option')].map((o) => o.textContent.split(' ')[0])")
        self.assertEqual(names, ["main.c", "stl_map.h", "malloc.c"])
        self.assertIn("source not there", page.text("#view-lines option:last-of-type"))
        self.silent(page)

    def test_many_allocators(self):
        """The table says that it does not show all, and shows more when asked."""
        page = self.sample("allocators", sample.allocators(450).base64())
        page.click_on("#tab-memory")
        count = "document.querySelectorAll('#view-memory tbody tr').length"
        self.assertEqual(page.js(count), 60)
        self.assertIn("450 functions", page.text("#view-memory .caption"))
        page.click_on("#view-memory .more button")
        self.assertEqual(page.js(count), 260)
        page.click_on("#view-memory .more button")
        self.assertEqual(page.js(count), 450)
        self.assertEqual(page.text("#view-memory .more"), "")
        self.silent(page)

    def test_stretches_that_are_not_recorded(self):
        """What was lost, paused or muted has strips, and empty buckets are hatched."""
        page = self.sample("gaps", sample.gaps().base64())
        text = "document.querySelector('.overview').getAttribute('aria-valuetext')"
        page.press("o", "Home")
        self.assertIn("Calls 40", page.js(text))
        self.assertIn("Functions not recorded 0", page.js(text))
        self.assertNotIn("idle", page.js(text))
        self.assertIn("Not all calls were recorded here", page.text(".overview-more .legend"))
        page.press(*["ArrowRight"] * 4)
        self.assertIn("Calls 0", page.js(text))
        self.assertIn("Functions not recorded 3", page.js(text))
        self.assertIn("not be idle: not all calls were recorded", page.js(text))
        page.press(*["ArrowRight"] * 3)
        self.assertIn("Lost calls 700", page.js(text))
        self.assertNotIn("RSS", page.js(text))
        self.assertEqual(page.text(".overview-more button"), "1 more curve")
        page.click_on(".overview-more button")
        self.assertIn("RSS 8 MiB", page.js(text).replace("8.00", "8"))
        self.shot(page, "gaps")
        self.silent(page)


class Compared(PageTest):
    """Two recordings in one page."""

    def test_difference(self):
        page = self.sample("difference", sample.difference().base64())
        rows = self.rows(page)
        self.assertEqual(list(rows)[:3], ["render", "old_hash", "new_hash"])
        self.assertEqual(rows["render"]["self.a"], 9 * 10**7)
        self.assertEqual(rows["render"]["self"], 14 * 10**7)
        self.assertEqual(rows["main"]["total.change"], 2 * 10**7)
        words = page.text("#view-profile tbody")
        self.assertIn("new", words)
        self.assertIn("gone", words)
        red, blue = self.color_at(page, 30, 47), self.color_at(page, 850, 47)
        self.assertGreater(red[0], red[2])
        self.assertGreater(blue[2], blue[0])
        self.shot(page, "difference")
        self.silent(page)

    def test_other_name(self):
        """./before and ./after have the same functions: none is new or gone."""
        page = self.open(Shared.recordings.renamed())
        page.press("v")
        page.painted()
        rows = self.rows(page)
        self.assertEqual({name: (row["self.a"], row["self"]) for name, row in rows.items()},
                         {"main": (1, 1), "seldom": (100, 100), "often": (50000, 50000)})
        page.press("f", "ArrowDown")
        item = ".flame [role=treeitem]"
        self.assertTrue(page.text(item).startswith("main, "), page.text(item))
        self.assertEqual(page.js("document.querySelector('%s').getAttribute('aria-setsize')" % item), "1")
        self.assertIn("by their name alone", page.js("document.querySelector('.notes').textContent"))
        self.silent(page)

    def color_at(self, page, x, y):
        """The pixel of the flame graph there."""
        return self.pixels(page, x, y, 1)


    def test_two_recordings(self):
        """`perfrec diff --html`: calls of the same program are the same."""
        one, _, report = Shared.recordings.get("templates")
        other, path = Shared.recordings.compare("templates")
        self.assertNotEqual(one, other)
        page = self.open(path)
        page.press("v")
        calls = {f["name"]: f["calls"] for f in report["functions"]}
        rows = self.rows(page)
        self.assertEqual({name: row["self"] for name, row in rows.items()}, calls)
        self.assertEqual({row["self.change"] for row in rows.values()}, {0})
        self.shot(page, "two-recordings")
        self.silent(page)


class Seen(PageTest):
    """By everybody, everywhere."""

    def test_accessibility_tree(self):
        page = self.rich()
        nodes = page.tree()
        roles = {role for role, _, _ in nodes}
        self.assertLessEqual({"table", "row", "columnheader", "rowheader", "tab", "tablist", "tree", "treeitem",
                              "slider", "searchbox", "combobox", "button", "main", "banner"}, roles)
        for role, name, _ in nodes:
            if role in ("button", "tab", "tree", "slider", "searchbox", "combobox", "checkbox", "table", "tabpanel",
                        "treeitem", "dialog", "toolbar", "region"):
                self.assertTrue(name.strip(), role)
        self.assertTrue([1 for role, name, _ in nodes if role == "rowheader" and name == "tokenize"])

    def test_dark_and_light(self):
        light = self.rich()
        dark = self.rich(dark=True)
        color = "getComputedStyle(document.body).backgroundColor"
        self.assertGreater(self.brightness(light.js(color)), 200)
        self.assertLess(self.brightness(dark.js(color)), 60)
        self.assertNotEqual(self.pixels(light, 900, 28, 1), self.pixels(dark, 900, 28, 1))
        self.shot(dark, "dark")
        before = self.pixels(dark, 900, 28, 1)
        dark.click_on("#theme")
        dark.painted()
        self.assertGreater(self.brightness(dark.js(color)), 200)
        self.assertNotEqual(self.pixels(dark, 900, 28, 1), before)

    @staticmethod
    def brightness(color):
        """The mean of rgb(...)."""
        return sum(int(n) for n in re.findall(r"\d+", color)[:3]) / 3

    def test_paper(self):
        page = self.rich(dark=True)
        paper = page.paper()
        self.assertTrue(paper.startswith(b"%PDF"))
        if SHOTS:
            with open(os.path.join(SHOTS, "paper.pdf"), "wb") as file:
                file.write(paper)
        page.call("Emulation.setEmulatedMedia", media="print")
        self.assertGreater(self.brightness(page.js("getComputedStyle(document.body).backgroundColor")), 250)
        self.assertEqual(page.js("getComputedStyle(document.querySelector('.tabs')).display"), "none")

    def test_forty_columns(self):
        page = self.rich(width=320, height=640)
        for key in "12345":
            page.press(key)
            page.painted()
            self.assertLessEqual(page.js("document.scrollingElement.scrollWidth"), 320, key)
            self.shot(page, "narrow-" + key)
        self.silent(page)

    def test_threads_at_400(self):
        """Threads have their names and numbers on a telephone, too."""
        page = self.rich(width=400, height=800)
        page.js("""(() => { const paint = CanvasRenderingContext2D.prototype.fillText; window.painted = [];
            CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
              if (this.canvas.closest('.timeline')) window.painted.push([text, x, y]);
              return paint.call(this, text, x, y); }; })()""")
        page.press("3")
        page.painted()
        at = {text: (x, y) for text, x, y in page.js("window.painted")}
        for name, tid in (("server", "4711"), ("worker 1", "4713"), ("worker 2", "4714"), ("helper", "4712")):
            self.assertIn(name, at)
            number = [place for text, place in at.items() if text.endswith(tid)]
            self.assertTrue(number, tid)
            self.assertEqual(number[0][1], at[name][1])
            self.assertGreater(number[0][0], at[name][0])
        self.shot(page, "threads-400")
        self.silent(page)

    def test_help(self):
        page = self.rich()
        page.press("?")
        self.assertTrue(page.js("document.querySelector('#help').open"))
        self.shot(page, "help")
        page.press("Escape")
        page.wait("!document.querySelector('#help').open")

    def test_without_scripts(self):
        path = os.path.join(Shared.folder, "noscript.html")
        sample.write_page(TEMPLATE, path, "")
        page = Shared.browser.open("file://" + path, scripts=False)
        self.pages.append(page)
        nodes = page.tree()
        self.assertTrue(any("needs JavaScript" in name for _, name, _ in nodes))


class Hostile(PageTest):
    """Names of a program that means harm, and files that are broken."""

    def test_names(self):
        page = self.sample("hostile", sample.hostile().base64())
        self.assertTrue(page.js("document.title").startswith("'./</title>"))
        self.assertEqual(page.js("document.querySelectorAll('#page img, #page script').length"), 0)
        rows = self.rows(page)
        self.assertEqual(len(rows), len(sample.HOSTILE))
        words = page.js("document.body.innerText")
        self.assertIn("</script><script>document.title='owned'</script>", words)
        self.assertIn("safe⟨U+202E⟩gnp.exe", words)
        self.assertIn("⟨U+001B⟩[31mred", words)
        self.assertNotRegex(words, "[\u202a-\u202e\u2066-\u2069\x1b]")
        for name in list(rows)[:3]:
            self.assertNotIn("\u202e", name)
        page.press("f", "ArrowDown", "ArrowRight", "s")
        self.shot(page, "hostile")
        self.silent(page)

    def failing(self, name, data):
        """The message of a page whose data is broken."""
        path = os.path.join(Shared.folder, name + ".html")
        sample.write_page(TEMPLATE, path, data)
        page = Shared.browser.open("file://" + path)
        self.pages.append(page)
        self.assertEqual(page.wait(READY), "failed")
        self.assertEqual(page.console, [])
        return page.text("[role=alert]")

    def test_broken_data(self):
        good = sample.difference()
        text = good.base64()
        self.assertIn("no data", self.failing("empty", ""))
        self.assertIn("base64", self.failing("letters", "%%%"))
        self.assertIn("cannot be unpacked", self.failing("cut", text[:len(text) // 8 * 4]))
        good.header["version"] = 2
        self.assertIn("version 2", self.failing("version", good.base64()))

    def test_broken_columns(self):
        def page_with(change):
            data = sample.difference()
            change(data)
            return data.base64()

        def replace(name, body):
            def change(data):
                at = [head["name"] for head in data.heads].index(name)
                data.heads[at]["bytes"] = len(body)
                data.body[at] = body
            return change

        self.assertIn("node.function", self.failing("index", page_with(replace("node.function", b"\x63" * 6))))
        self.assertIn("bad number", self.failing("short", page_with(replace("value.wall.self", b"\x01\x02\x03\x04\x05\xff"))))
        self.assertIn("before its parent", self.failing("parent", page_with(replace("node.parent", b"\x05" * 6))))

        def bars(data):
            data.column("function.bars", "u", [0, 5, 0])
        self.assertIn("bars", self.failing("bars", page_with(bars)))

        def long(data):
            data.heads[0]["count"] = 10**9
        self.assertIn("beyond its end", self.failing("long", page_with(long)))

    def test_no_values(self):
        data = sample.Data()
        data.functions([])
        data.nodes([])
        page = self.sample("nothing", data.base64())
        self.assertIn("no call, no CPU sample and no allocation", page.text("#view-profile .empty"))
        self.assertEqual((page.text("#view-profile h2"), page.text("#view-profile .caption")), ("Flame graph", "0 functions"))
        for tab, why in (("threads", "There is no trace"), ("memory", "No allocation was recorded"),
                         ("lines", "no samples and no allocations"), ("calls", "There is no trace")):
            page.click_on("#tab-" + tab)
            self.assertIn(why, page.text("#view-%s .empty" % tab))
        self.assertEqual(page.text("#view-lines .note"), "")
        self.silent(page)


class Large(PageTest):
    """A hundred thousand frames."""

    def test_large(self):
        page = self.sample("large", sample.large().base64())
        print("    a page of 100,000 frames was ready after %d ms" % page.js(
            "performance.getEntriesByName('perfrec-ready')[0].startTime"))
        self.assertGreater(page.js("document.querySelector('.flame canvas').height"), 200)
        page.press("/")
        page.type("number_49")
        page.painted()
        self.assertIn("% matched", page.text("#found"))
        self.shot(page, "large")
        self.silent(page)


from test_address import *  # noqa: E402
from test_calls import *  # noqa: E402
from test_source import *  # noqa: E402
from test_figures import *  # noqa: E402
from test_threads import *  # noqa: E402
from test_trust import *  # noqa: E402
from test_profile import *  # noqa: E402


def main():
    """Runs the tests; the last line is that of all suites of perfrec."""
    if not browser.find_chromium():
        print("test_page.py: chromium is not installed")
        return 77
    with tempfile.TemporaryDirectory(prefix="perfrec-page-test-") as folder:
        Shared.folder = folder
        Shared.recordings = recordings.Recordings(BUILD, folder)
        Shared.browser = browser.Browser()
        try:
            result = unittest.main(argv=[sys.argv[0]] + sys.argv[2:], exit=False, verbosity=1).result
        finally:
            Shared.browser.close()
    failed = len(result.failures) + len(result.errors)
    skipped = len(result.skipped)
    for test, why in result.skipped:
        print("SKIPPED: %s: %s" % (test.id(), why))
    print("%d passed, %d failed%s" % (result.testsRun - failed - skipped, failed,
                                      ", %d skipped" % skipped if skipped else ""))
    return 1 if failed or not result.testsRun or (skipped and ALL) else 0


if __name__ == "__main__":
    sys.exit(main())

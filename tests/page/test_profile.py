# SPDX-License-Identifier: Apache-2.0
"""The tables, flame graphs, memory and differences of the page, driven as a person does."""

import sample
from test_page import PageTest, RICH_DATA, Shared

__all__ = ["Judged", "Memory", "Stacks", "Tables"]

TITLES = "[...document.querySelectorAll('%s thead th')].map((th) => th.textContent)"


def sleepers(state="blocked"):
    """A pool of threads that sleeps for 9 of 10 seconds, beside functions that work; or it waits for a CPU."""
    data = sample.Data()
    data.functions(["main", "sleep_in_pool", "work", "wait_and_work", "[kernel]"])
    data.nodes([(0, 1), (1, 2), (1, 3), (1, 4), (1, 5)])
    data.value("wall", "nanoseconds", [(1, 90 * 10**8), (2, 588 * 10**6), (3, 4 * 10**8), (4, 12 * 10**6)], title="Wall time")
    data.value("on_cpu", "nanoseconds", [(1, 10**7), (2, 578 * 10**6), (3, 10**8), (4, 12 * 10**6)], title="On CPU",
               **{"from": "switches"})
    data.value(state, "nanoseconds", [(1, 899 * 10**7), (2, 10**7), (3, 3 * 10**8)], title=state.title(),
               **{"from": "switches"})
    return data


class Tables(PageTest):
    """What is on top, and what stays in view."""

    def test_sleepers_are_not_on_top(self):
        """Where most time is waiting, functions that work come first, and the table says so."""
        page = self.sample("sleepers", sleepers().base64())
        # Less than 2 % of the time on CPUs does not hide a function that only waits.
        self.assertEqual(list(self.rows(page)), ["work", "wait_and_work", "sleep_in_pool", "[kernel]", "main"])
        self.assertEqual(page.text("#view-profile th[aria-sort=descending]"), "On CPU")
        self.assertIn("most on a CPU first, as 93.0 % of the time is waiting; below 2 % of it or one sample by self time",
                      page.text("#view-profile .caption"))
        self.assertEqual(page.text('tr[data-name="sleep_in_pool"] .badge'), "waits 99.9 %")
        self.assertEqual(page.text('tr[data-name="wait_and_work"] .badge'), "waits 75.0 %")
        self.assertEqual(page.js("document.querySelectorAll('.badge').length"), 2)
        page.click_on('thead th[data-id="self"] button')
        self.assertEqual(list(self.rows(page))[0], "sleep_in_pool")
        self.assertNotIn("most on a CPU", page.text("#view-profile .caption"))
        # A chosen order stays, also after a value without its column was shown.
        page.press("v")
        page.press("V")
        self.assertEqual(list(self.rows(page))[0], "sleep_in_pool")
        self.silent(page)

    def test_runnable_is_not_asleep(self):
        """On a busy machine a program that works is runnable: the order is that of self time, as in the text."""
        page = self.sample("runnable", sleepers("runnable").base64())
        self.assertEqual(page.text("#view-profile th[aria-sort=descending]"), "Self")

    def test_busy_programs_begin_with_self_time(self):
        """With half of the time on a CPU, the order is that of self time."""
        page = self.rich()
        self.assertEqual(page.text("#view-profile th[aria-sort=descending]"), "Self")
        rows = list(self.rows(page).values())
        self.assertEqual([row["self"] for row in rows], sorted((row["self"] for row in rows), reverse=True))

    def test_no_title_twice(self):
        page = self.rich()
        page.click_on(".functions input[type=checkbox]")
        for key in "vvv":
            titles = page.js(TITLES % "#view-profile")
            self.assertEqual(len(set(titles)), len(titles), titles)
            page.press(key)
        page = self.sample("difference-titles", sample.difference().base64())
        titles = page.js(TITLES % "#view-profile")
        self.assertEqual(len(set(titles)), len(titles), titles)
        self.assertEqual(titles[:5], ["Function", "Self A", "Self B", "Self change", "Self %"])

    def test_titles_and_names_stay(self):
        """The head of a long table and the names of a wide one stay where they are."""
        for width, dark in ((1280, False), (390, True)):
            page = self.sample("rich-table", RICH_DATA, width=width, height=700, dark=dark)
            page.click_on(".functions input[type=checkbox]")
            self.rows(page)
            page.js("document.querySelector('#view-profile .scroll').scrollIntoView()")
            where = """(() => { const s = document.querySelector('#view-profile .scroll'); s.style.maxHeight = '200px';
                s.scrollTop = 120; s.scrollLeft = 400; const at = s.getBoundingClientRect();
                const box = (e) => e.getBoundingClientRect();
                return [box(s.querySelector('thead th:nth-child(4)')).y - at.y, box(s.querySelector('tbody tr:nth-child(9) th')).x - at.x,
                  box(s.querySelector('thead th')).x - at.x, s.scrollTop, s.scrollLeft]; })()"""
            top, left, corner, down, right = page.js(where)
            self.assertEqual((top, left, corner), (0, 0, 0))
            self.assertGreater(down, 60)
            self.assertGreater(right, 60)
            self.shot(page, "sticky-%d" % width)
            self.silent(page)

    def test_memory_begins_with_what_there_is(self):
        """A program that frees everything has no bytes in use; its table is sorted by what it allocated."""
        data = sample.Data()
        data.functions(["small", "large"])
        data.nodes([(0, 1), (0, 2)])
        data.value("inuse_space", "bytes", [], title="In use at the end", **{"from": "allocations"})
        data.value("alloc_space", "bytes", [(0, 100), (1, 4000)], title="Allocated", **{"from": "allocations"})
        page = self.sample("freed", data.base64())
        page.click_on("#tab-memory")
        self.assertEqual(page.js("[...document.querySelectorAll('#view-memory tbody tr')].map((row) => row.dataset.name)"),
                         ["large", "small"])
        self.assertEqual(page.text("#view-memory th[aria-sort=descending]"), "Allocated")
        page.click_on('#view-memory th[data-id="name"] button')
        self.assertEqual(page.text("#view-memory tbody th"), "large")
        self.silent(page)


def stacks():
    """
    A stack through libc, recursion, and one function from two callers:
      main -> qsort (libc) -> compare -> strcmp (libc)
      main -> walk -> walk -> compare
    """
    data = sample.Data()
    names = ["main", "qsort", "compare", "strcmp", "walk", "</script>\u202e"]
    libc, app = data.text("/usr/lib/libc.so.6"), data.text("/usr/bin/app")
    names = ["(too small to show)"] + names
    data.column("function.name", "u", [data.text(name) for name in names])
    data.column("function.short", "u", [data.text(name) for name in names])
    data.column("function.module", "u", [0, app, libc, app, libc, app, app])
    data.nodes([(0, 1), (1, 2), (2, 3), (3, 4), (1, 5), (5, 5), (6, 3), (1, 6)])
    wall = [10, 20, 30, 40, 50, 60, 70, 5]
    data.value("wall", "nanoseconds", list(enumerate(wall)), title="Wall time")
    for key, title, part in (("on_cpu", "On CPU", 2), ("runnable", "Runnable", 0), ("blocked", "Blocked", 8)):
        own = [(i, n * part // 10 if i < 4 else n * (10 - part) // 10 if part else 0) for i, n in enumerate(wall)]
        data.value(key, "nanoseconds", [entry for entry in own if entry[1]], title=title, **{"from": "switches"})
    return data


class Stacks(PageTest):
    """The stacks as graphs and as tables; what is folded, hidden or left."""

    ITEM = ".flame [role=treeitem]"
    ROWS = """[...document.querySelectorAll('.stacks tbody tr')].map((row) => [Number(row.getAttribute('aria-level')),
        row.querySelector('button.link:last-child').textContent, Number(row.querySelector('td').dataset.raw)])"""

    def choose(self, page, text, label="Show"):
        """Chooses in a list of the panel."""
        page.js("""(() => { const field = [...document.querySelectorAll('.stacks .field')].find((f) => f.firstChild.textContent === '%s');
            const select = field.querySelector('select');
            select.value = [...select.options].find((o) => o.textContent === '%s').value;
            select.dispatchEvent(new Event('change')); })()""" % (label, text))
        page.painted()

    def check_box(self, page, text):
        page.js("""[...document.querySelectorAll('.stacks label.check')].find((l) => l.textContent === '%s')
            .querySelector('input').click()""" % text)
        page.painted()

    def walk(self, page, *keys):
        """What the frame says that these keys lead to."""
        page.press("f", "Home", *keys)
        return page.text(self.ITEM)

    def menu(self, page, text):
        """Chooses in the menu of the frame with the focus."""
        page.press("m")
        items = page.js("[...document.querySelectorAll('[role=menuitem]')].map((b) => b.textContent)")
        at = [i for i, item in enumerate(items) if item.startswith(text)]
        self.assertEqual(len(at), 1, items)
        page.press(*["ArrowDown"] * at[0], "Enter")
        page.painted()

    def test_bottom_up(self):
        """As a graph and as a table: functions by their own time, and below them who called."""
        page = self.sample("stacks", stacks().base64())
        self.choose(page, "Bottom-up graph")
        self.assertTrue(self.walk(page, "ArrowDown").startswith("walk, total 110 ns (38.6 %), "), page.text(self.ITEM))
        self.assertTrue(self.walk(page, "ArrowDown", "ArrowRight").startswith("compare, total 100 ns (35.1 %), "))
        self.assertIn("2 callers", page.text(self.ITEM))
        self.assertTrue(self.walk(page, "ArrowDown", "ArrowRight", "ArrowDown").startswith("walk, total 70 ns"))
        self.shot(page, "bottom-up-graph")
        self.choose(page, "Bottom-up table")
        rows = page.js(self.ROWS)
        self.assertEqual(rows, [[1, "walk", 110], [1, "compare", 100], [1, "strcmp", 40], [1, "qsort", 20], [1, "main", 10],
                                [1, "</script>⟨U+202E⟩", 5]])
        page.js("document.querySelectorAll('.stacks tbody tr')[1].querySelector('button:last-child').focus()")
        page.press("ArrowRight")
        self.assertEqual(page.js(self.ROWS)[1:4], [[1, "compare", 100], [2, "walk", 70], [2, "qsort", 30]])
        page.press("ArrowDown", "ArrowRight", "ArrowDown", "ArrowRight")
        self.assertEqual(page.js(self.ROWS)[2:5], [[2, "walk", 70], [3, "walk", 70], [4, "main", 70]])
        page.press("ArrowLeft", "ArrowLeft")
        self.assertEqual(page.js("document.activeElement.textContent"), "walk")
        self.shot(page, "bottom-up-table")
        self.silent(page)

    def test_call_tree(self):
        """The call tree opens along the largest stack; figures are those of the frames."""
        page = self.sample("stacks", stacks().base64(), width=390, dark=True)
        self.choose(page, "Call tree")
        self.assertEqual(page.js(self.ROWS), [[1, "main", 285], [2, "walk", 180], [3, "walk", 130], [4, "compare", 70],
                                              [2, "qsort", 90], [2, "</script>⟨U+202E⟩", 5]])
        self.assertEqual(page.js("[...document.querySelectorAll('.stacks tr:nth-child(3) td')].map((c) => c.textContent)"),
                         ["130 ns", "45.6 %", "60 ns", "21.1 %"])
        self.assertLessEqual(page.js("document.scrollingElement.scrollWidth"), 390)
        self.shot(page, "call-tree-390")
        self.silent(page)

    def test_fold_libraries(self):
        """Frames of libc become part of their callers, and equal stacks become one."""
        page = self.sample("stacks", stacks().base64())
        self.check_box(page, "Fold libc and perfrec")
        self.assertTrue(self.walk(page, "ArrowDown").startswith("main, total 285 ns (100.0 %), self 30 ns"), page.text(self.ITEM))
        self.assertTrue(self.walk(page, "ArrowDown", "ArrowDown", "ArrowRight").startswith("compare, total 70 ns (24.6 %), self 70 ns"))
        self.choose(page, "Bottom-up graph")
        self.assertTrue(self.walk(page, "ArrowDown").startswith("compare, total 140 ns"), page.text(self.ITEM))
        self.check_box(page, "Fold libc and perfrec")
        self.assertTrue(self.walk(page, "ArrowDown").startswith("walk, total 110 ns"))
        self.silent(page)

    def test_menu(self):
        """Focus, hide, fold, and back again; by keyboard and by the mouse."""
        page = self.sample("stacks", stacks().base64())
        self.walk(page, "ArrowDown", "ArrowDown", "ArrowRight")
        self.menu(page, "Only stacks with qsort")
        self.assertTrue(self.walk(page).startswith("all, total 90 ns"), page.text(self.ITEM))
        self.assertEqual(page.text(".chips"), "Only stacks with qsort×")
        self.walk(page, *["ArrowDown"] * 4)
        self.menu(page, "Hide strcmp")
        self.assertTrue(self.walk(page).startswith("all, total 50 ns"))
        self.shot(page, "cut")
        page.click_on(".chips .chip button")
        self.assertTrue(self.walk(page).startswith("all, total 245 ns"))
        page.click_on(".chips .chip button")
        self.assertTrue(self.walk(page).startswith("all, total 285 ns"))
        x, y, _, _ = page.box(".flame")
        page.mouse("mousePressed", x + 30, y + 47, button="right", buttons=2, clickCount=1)
        page.mouse("mouseReleased", x + 30, y + 47, button="right", clickCount=1)
        page.painted()
        self.shot(page, "menu")
        page.press("ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp", "Enter")
        page.painted()
        self.assertEqual(page.text(".chips"), "Folded walk×")
        self.assertTrue(self.walk(page, "ArrowDown").startswith("main, total 285 ns (100.0 %), self 120 ns"), page.text(self.ITEM))
        page.press("m", "Escape")
        self.assertTrue(page.js("document.querySelector('[role=menu]').hidden"))
        self.assertTrue(page.js("document.activeElement.classList.contains('flame')"))
        self.silent(page)

    def test_many_cuts(self):
        """The stacks with each of eight functions."""
        data = sample.Data()
        data.functions(["f%d" % i for i in range(8)] + ["other"])
        data.nodes([(i, i + 1) for i in range(8)] + [(0, 9)])
        data.value("wall", "nanoseconds", [(7, 100), (8, 50)])
        page = self.sample("many-cuts", data.base64())
        for i in range(8):
            self.walk(page, *["ArrowDown"] * (i + 1))
            self.menu(page, "Only stacks with f%d" % i)
            self.assertTrue(self.walk(page).startswith("all, total 100 ns"), page.text(self.ITEM))
        self.silent(page)

    def test_copy(self):
        """A name and a stack, with marks of hostile names made visible."""
        page = self.sample("stacks", stacks().base64())
        self.assertTrue(page.js("isSecureContext && Boolean(navigator.clipboard)"))
        page.js("(() => { window.copied = []; navigator.clipboard.writeText = async (text) => { window.copied.push(text); }; })()")
        self.walk(page, "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown")
        self.menu(page, "Copy stack")
        self.walk(page, "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight")
        self.menu(page, "Copy name")
        self.choose(page, "Bottom-up table")
        page.js("document.querySelectorAll('.stacks tbody tr')[1].querySelector('button:last-child').focus()")
        page.press("ArrowRight", "ArrowDown")
        self.menu(page, "Copy stack")
        self.assertEqual(page.js("window.copied"), ["main\nwalk\nwalk\ncompare", "</script>⟨U+202E⟩", "walk\ncompare"])
        self.silent(page)

    def test_filter(self):
        """Only the stacks with a match, not only marks."""
        page = self.sample("stacks", stacks().base64())
        self.assertTrue(page.js("document.querySelector('.stacks label.check').hidden"))
        page.press("/")
        page.type("strcmp")
        self.check_box(page, "Only matches")
        page.press("Enter")
        self.assertTrue(page.text(self.ITEM).startswith("strcmp, total 40 ns (100.0 %)"), page.text(self.ITEM))
        self.assertEqual(page.text("#found"), "100.0 % matched (40 ns)")
        page.press("/", "Escape")
        self.assertTrue(self.walk(page).startswith("all, total 285 ns"))
        page.press("/")
        page.type("nothing like it")
        page.painted()
        self.assertFalse(page.js("document.querySelector('.stacks .empty').hidden"))
        self.silent(page)

    def test_short_range(self):
        """In a short range, stacks have names that are far below 0.1 % of the whole."""
        _, path, _ = Shared.recordings.get("phases")
        page = self.open(path)
        page.press("v")
        self.choose(page, "Bottom-up table")
        page.press("o", "Home", *["ArrowRight"] * 3)
        calls = "Number(/Calls ([0-9,]*)/.exec(document.querySelector('.overview').getAttribute('aria-valuetext'))[1].replace(/,/g, ''))"
        while page.js(calls) < 1000:
            page.press("ArrowRight")
        page.press("ArrowRight", shift=True)
        page.painted()
        rows = {name: raw for level, name, raw in page.js(self.ROWS) if level == 1}
        self.assertGreater(rows.get("tick", 0), 0)
        self.assertLess(rows.get("(too small to show)", 0), sum(rows.values()) / 5, rows)
        self.silent(page)

    def test_colours(self):
        """By module, and by state, with a legend that has the colours of the frames."""
        page = self.sample("stacks", stacks().base64())
        legend = "[...document.querySelectorAll('.legend li')].map((li) => li.textContent)"
        self.assertEqual(page.js(legend), ["app 78.9 %", "libc.so.6 21.1 %"])
        self.choose(page, "by state", "Colours")
        words = page.js(legend)
        self.assertEqual(words[:3], ["On CPU 58.9 %", "Runnable 0.0 %", "Blocked 41.1 %"])
        self.walk(page, "ArrowDown", "ArrowDown")
        self.assertIn("on cpu 144 ns", page.text(self.ITEM))
        # walk is on a CPU for 8 of 10, qsort is blocked for 8 of 10.
        on_cpu, blocked = (self.pixels(page, x, 47, 1)[:3] for x in (300, 900))
        self.assertGreater(on_cpu[0], on_cpu[2])
        self.assertGreater(blocked[2], blocked[0])
        self.shot(page, "states")
        page.press("v")
        page.painted()
        self.assertIn("States are known of wall time of the whole recording only.", page.js(legend))
        self.silent(page)


class Judged(PageTest):
    """The page of two programs says what `perfrec diff` says."""

    def compared(self, page, function, key, runs):
        """The median, the verdict and the spread of a function are those of `diff --json`."""
        values = function["values"].get(key)
        row = self.rows(page).get(function["name"])
        if not values or not row:
            return
        self.assertEqual((row["self.a"], row["self"]), (int(values["a"][1]), int(values["b"][1])))
        text = page.text('tr[data-name="%s"] td[data-id="self.change"]' % function["name"])
        mark = "*" if values["changed"] else "?" if values["may_have_changed"] else ""
        self.assertEqual(text[:1] if text[:1] in ("*", "?") else "", mark, text)
        if runs > 1:
            spread = max((values[side][2] - values[side][0]) / values[side][1] for side in "ab" if values[side][1])
            self.assertAlmostEqual(row["self.spread"], 500 * spread, delta=1)
        else:
            self.assertNotIn("self.spread", row)

    def check(self, runs):
        """All functions, and the sentence about each value. Returns the page."""
        path, report, text = Shared.recordings.judged(runs)
        page = self.open(path)
        for key, press, title in (("wall", "", "wall time"), ("calls", "v", "calls")):
            page.press(*press)
            page.painted()
            for function in report["functions"]:
                self.compared(page, function, key, runs)
            sentence = [line.split(": ", 1)[1] for line in text.splitlines() if line.startswith(title + ": ")][0]
            self.assertIn(sentence, page.text("#view-profile .caption"))
        self.silent(page)
        return page

    def test_one_run_each(self):
        """Nothing is called a change, nor has it the colour of one."""
        page = self.check(1)
        self.assertIn("one run each: unproven", page.text("#view-profile .caption"))
        self.assertEqual(page.js("document.querySelectorAll('.more-of-it, .less-of-it').length"), 0)
        self.assertEqual(page.text('tr[data-name="often"] td[data-id="self.change"]'), "+100")
        self.shot(page, "unproven")

    def test_three_runs_each(self):
        """Medians, with their spread; a change has a mark and a colour, and is on top."""
        page = self.check(3)
        self.assertIn("medians of 3 and 3 runs · 1 change (*)", page.text("#view-profile .caption"))
        self.assertEqual(list(self.rows(page))[0], "often")
        self.assertEqual(page.text('tr[data-name="often"] td[data-id="self.change"]'), "* +100")
        self.assertEqual(page.js("[...document.querySelectorAll('.more-of-it')].map((c) => c.dataset.id)"), ["self.change", "total.change"])
        self.assertIn("median wall time: less.", page.text(".legend"))
        self.shot(page, "judged")


class Memory(PageTest):
    """The memory view: curve, rate, sizes, and what malloc() is not."""

    def bars(self, page, label):
        """[[title, height], ...] of a chart."""
        return page.js("""[...document.querySelectorAll('#view-memory .bars[aria-label^="%s"] i')].map((bar) =>
            [bar.title, bar.getBoundingClientRect().height])""" % label)

    def test_recorded(self):
        """Peak, temporary blocks and sizes are those of `report --json` and of the program."""
        _, path, report = Shared.recordings.get("memory")
        page = self.open(path, width=1280)
        page.click_on("#tab-memory")
        page.painted()
        totals = report["totals"]
        rows = dict(page.js("""[...document.querySelectorAll('#view-memory tbody tr')].map((row) => [row.dataset.name,
            Object.fromEntries([...row.querySelectorAll('td[data-raw]')].map((cell) => [cell.dataset.id, Number(cell.dataset.raw)]))])"""))
        self.assertEqual(sum(row["temporary"] for row in rows.values()), totals["temporary_allocs"])
        self.assertGreater(totals["temporary_allocs"], 1000)
        sizes = {title.split(":")[0]: int(title.split(": ")[1].split(" ")[0].replace(",", ""))
                 for title, height in self.bars(page, "Blocks by")}
        # 64 blocks of about 10,000 bytes, 1,280 of 30,000.
        self.assertEqual(sizes["8.00 KiB to 16.0 KiB"], 64)
        self.assertEqual(sizes["16.0 KiB to 32.0 KiB"], 1280)
        self.assertEqual(sum(sizes.values()), totals["allocs"])
        self.shot(page, "memory-charts")
        self.silent(page)

    def test_rate(self):
        """The rate is that of the counter, in a range too."""
        data = sample.Rich().data
        data.column("heap.allocated", "u", [2**20 * min(i, 100) for i in range(sample.Rich.BUCKETS)])
        page = self.sample("rate", data.base64(), width=390, dark=True)
        page.click_on("#tab-memory")
        page.painted()
        # One MiB in each bucket of 5 ms, for half of the time.
        rates = self.bars(page, "Bytes allocated")
        self.assertEqual(len(rates), 50)
        self.assertEqual(rates[3][0].split(": ")[1], "200 MiB a second")
        self.assertEqual([rate[1] > 0 for rate in rates], [True] * 26 + [False] * 24)
        self.shot(page, "rate-390")
        page.press("o", "Home", *["ArrowRight"] * 40)
        page.press(*["ArrowRight"] * 19, shift=True)
        page.painted()
        rates = self.bars(page, "Bytes allocated")
        self.assertEqual([rate[0] for rate in rates], ["0.%d s: 200 MiB a second" % ms for ms in range(200, 300, 20)])
        self.assertLessEqual(page.js("document.scrollingElement.scrollWidth"), 390)
        self.silent(page)

    def test_by_function(self):
        """The curve consists of functions, and a name opens its function; the most in use is that of the range."""
        for width, dark in ((1280, False), (390, True)):
            rich = sample.Rich()
            data = rich.data
            data.column("heap.site_name", "u", [data.text("hash"), data.text("gone<script>()"), data.text("[others]")])
            times = [i * 10**8 for i in range(10)]
            data.column("heap.site_ns", "d", times)
            data.column("heap.site.0", "u", [2**20 * i for i in range(10)])
            data.column("heap.site.1", "u", [2**20 * (i < 5) for i in range(10)])
            data.column("heap.site.2", "u", [2**19 * (i < 5) for i in range(10)])
            page = self.sample("sites-%d" % width, data.base64(), width=width, dark=dark)
            page.click_on("#tab-memory")
            page.painted()
            legend = "[...document.querySelectorAll('#view-memory .legend li')].map((li) => li.textContent)"
            self.assertEqual(page.js(legend), ["hash: at most 9.00 MiB", "gone<script>(): at most 1.00 MiB", "[others]: at most 512 KiB"])
            hues = page.js("[...document.querySelectorAll('#view-memory .legend i')].map((i) => i.style.background)")
            self.assertEqual(len(set(hues)), 3)
            self.shot(page, "sites-%d" % width)
            self.assertLessEqual(page.js("document.scrollingElement.scrollWidth"), width)
            page.press("o", "Home", *["ArrowRight"] * 140)
            page.press(*["ArrowRight"] * 9, shift=True)
            page.painted()
            page.painted()
            # The others are left out if they have nothing.
            self.assertEqual(page.js(legend), [page.js(legend)[0], "gone<script>(): at most 0"])
            page.click_on("#view-memory .legend button")
            page.painted()
            self.assertIn("hash", page.text("#view-profile"))
            self.silent(page)

    def test_malloc_only(self):
        """Where most of the resident memory did not come by malloc(), the view says so."""
        for resident, warned in ((60, False), (500, True)):
            rich = sample.Rich()
            rich.data.header["heap"]["resident_bytes"] = resident * 2**20
            page = self.sample("resident-%d" % resident, rich.data.base64())
            page.click_on("#tab-memory")
            self.assertEqual("malloc only: at most 5" in page.text("#view-memory"), warned)
            self.assertEqual("of 500 MiB resident" in page.text("#view-memory"), warned)

    def test_many_processes(self):
        """The curve is that of the largest process, though many small ones came first."""
        _, path, report = Shared.recordings.get("many")
        page = self.open(path)
        page.click_on("#tab-memory")
        self.assertEqual(report["totals"]["peak_program"], "memory")
        self.assertIn("at most %.0f KiB" % (report["totals"]["peak_bytes"] / 2**10), page.text("#view-memory .panel-head"))
        self.assertRegex(page.text("#view-memory .panel-head"), r", 3[0-9][0-9] KiB at the end")
        self.silent(page)

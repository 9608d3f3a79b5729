# SPDX-License-Identifier: Apache-2.0
"""Threads over time: their states, on what they are blocked, stops by perfrec, instants, the axis."""

import json
import re

import sample
from test_calls import CHOOSE, jobs
from test_page import PageTest, Shared

__all__ = ["Threads"]

# Keeps each text that is drawn on the timeline from now on: [text, x, y] in the window.
WATCH = """(() => { const paint = CanvasRenderingContext2D.prototype.fillText; window.painted = [];
    CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
      const box = this.canvas.getBoundingClientRect();
      if (this.canvas.closest('.timeline')) window.painted.push([text, x + box.left, y + box.top]);
      return paint.call(this, text, x, y); }; })()"""


def dumped(kind):
    """Objects of `perfrec dump` with their track."""
    lines = [json.loads(line) for line in Shared.recordings.perfrec("dump", "jobs.data").splitlines()]
    tracks = {line["track"]: line for line in lines if line["kind"] == "track"}
    return [dict(line, thread=tracks[line["track"]]) for line in lines if line["kind"] == kind]


def figures(page):
    """{name: text} of the chosen call."""
    return dict(page.js("[...document.querySelectorAll('#view-threads .details dl div')].map((d) => [d.children[0].textContent, d.children[1].textContent])"))


class Threads(PageTest):
    """When threads ran, and what they waited for."""

    def opened(self, **how):
        """The view of threads of the recording."""
        page = self.open(jobs()[1], **how)
        page.js(WATCH)
        page.press("3")
        page.painted()
        return page

    def test_locks_are_those_of_the_report(self):
        """The table of locks says what `perfrec report --view lock --json` says."""
        page = self.opened()
        rows = page.js("""[...document.querySelectorAll('#locks tbody tr')].map((row) =>
            [...[0, 1, 2].map((i) => Number(row.cells[i].dataset.raw)), row.cells[3].textContent,
             [...row.cells[4].children].map((part) => part.textContent)])""")
        locks = json.loads(Shared.recordings.perfrec("report", "--json", "--view", "lock", "jobs.data"))["locks"]
        self.assertEqual([row[:4] for row in rows],
                         [[lock["blocked_ns"], lock["waits"], lock.get("longest_hold_ns", 0), lock["lock"]] for lock in locks])
        for row, lock in zip(rows, locks):
            for part in lock.get("holders", [])[:5]:
                text = "%.1f %% held in %s, thread %d %s" % (100 * part["blocked_ns"] / lock["blocked_ns"], part["function"],
                                                           part["tid"], part["thread"])
                self.assertTrue(not part["blocked_ns"] or text in row[4], (text, row[4]))
        self.assertTrue(any("held in locked" in part for row in rows for part in row[4]), rows)

    def test_functions_say_for_whom_they_waited(self):
        """The details of a function are its row of `perfrec report --view lock --stacks --json`."""
        page = self.open(jobs()[1])
        functions = json.loads(Shared.recordings.perfrec("report", "--json", "--view", "lock", "--stacks", "jobs.data"))["functions"]
        self.assertIn("locked", [function["function"] for function in functions])
        for row in functions:
            page.click_on("#tab-profile")
            page.js("[...document.querySelectorAll('#view-profile tbody tr')].find((row) => row.dataset.name === '%s').querySelector('button').click()" % row["function"])
            page.painted()
            seen = page.js("""[...document.querySelectorAll('#view-callers .waited-for')].map((one) =>
                [Number(one.dataset.raw), one.firstChild.textContent, [...one.children].map((part) => [Number(part.dataset.raw), part.textContent])])""")
            self.assertEqual(len(seen), 1, row)
            blocked, head, parts = seen[0]
            self.assertEqual(blocked, row["blocked_ns"])
            self.assertIn("in %s waits" % format(row["waits"], ","), head)
            self.assertEqual(sum(ns for ns, _ in parts), blocked)
            rest = {"hand-over": "hand_over_ns", "woken from outside": "outside_ns", "timed out": "timed_out_ns",
                    "until the process ended": "process_ended_ns", "unknown": "unknown_ns"}
            texts = [(ns, "%s%s%s %s" % (word, " in " + part["function"] if part["function"] else "",
                                         ", thread %d" % part["tid"] if part["tid"] else " by" if part["thread"] else "", part["thread"]))
                     for word, kind in (("held", "holders"), ("woken", "wakers")) for part in row[kind] for ns in [part["blocked_ns"]]]
            texts = sorted(texts, reverse=True, key=lambda part: part[0])[:5] + [(row[key], text) for text, key in rest.items() if row[key]]
            for ns, text in texts:
                self.assertIn([ns, "%.1f %% %s" % (100 * ns / blocked, text)], parts)
        self.silent(page)

    def test_path_is_that_of_the_report(self):
        """The critical path is that of `perfrec report --view path --json`."""
        page = self.opened()
        path = json.loads(Shared.recordings.perfrec("report", "--json", "--view", "path", "jobs.data"))
        rows = page.js("""[...document.querySelectorAll('#path tbody tr')].map((row) =>
            [...[1, 2, 3, 4, 5, 6].map((i) => Number(row.cells[i].dataset.raw)), row.cells[7].textContent, row.cells[8].textContent])""")
        keys = ("time_ns", "on_cpu_ns", "runnable_ns", "hand_over_ns", "outside_ns", "unknown_ns")
        self.assertEqual(rows, [[*(row[key] or 0 for key in keys), "%d %s" % (row["tid"], row["thread"]), row["function"] or "[no call]"]
                                for row in path["functions"][:100]])
        text = page.text("#critical-path")
        for hand_over in path["hand_overs"][:10]:
            self.assertIn("%s × %d %s" % (format(hand_over["times"], ","), hand_over["from_tid"], hand_over["from"]), text)
        self.assertEqual(len(path["stops"]), text.count(" is unknown: "))
        self.silent(page)

    def path_text(self, path, name):
        """What a page with this path says."""
        data = sample.Rich().data
        if path:
            data.header["path"] = path
        return self.sample(name, data.base64()).js("document.querySelector('#critical-path').textContent")

    def test_path_says_why_it_is_empty(self):
        """A large recording, a part without calls, and a path that stops at once."""
        path = {"paths": 0, "length_ns": 0, "functions": [], "hand_overs": [], "stops": []}
        self.assertIn("large recording", self.path_text(None, "path-large"))
        self.assertIn("No thread has a call", self.path_text(path, "path-none"))
        for why, text in (("waker", "no record says who ended the wait of thread 7 worker for [pipe 5]"),
                          ("silent", "no call was recorded of the thread that ended the wait of thread 7 worker for [pipe 5]"),
                          ("start", "no record says who started thread 7 worker"),
                          ("waited", "thread 7 worker waited when it ended another wait")):
            stop = {"why": why, "text": text, "object": "[pipe 5]", "thread": "worker", "tid": 7, "times": 1, "unknown_ns": 250000}
            said = self.path_text(dict(path, paths=1, length_ns=1000000, stops=[stop]), "path-" + why)
            self.assertIn(text, said)
            self.assertIn("(25.0 %)", said)
        row = {"function": "", "thread": "worker", "tid": 7, "time_ns": 750000, "ran_ns": 750000, "on_cpu_ns": None, "runnable_ns": None,
               "hand_over_ns": 0, "outside_ns": 0, "unknown_ns": 0}
        said = self.path_text(dict(path, paths=1, length_ns=1000000, functions=[row]), "path-rest")
        self.assertIn("no switches", said)
        self.assertRegex(said, r"25\.0 %250 .sin other functions$")

    def test_states_are_those_of_the_dump(self):
        """The states of the slowest calls are what `perfrec dump` says of these calls."""
        page = self.open(jobs()[1])
        page.click_on("#tab-calls")
        page.js(CHOOSE % "request")
        page.painted()
        rows = page.js("""[...document.querySelectorAll('.calls tbody tr')].slice(0, 20).map((row) =>
            [1, 2, 3, 4].map((i) => Number(row.cells[i].dataset.raw)))""")
        ends = sorted((end for end in dumped("end") if end["name"] == "request"), key=lambda end: -end["took_ns"])
        self.assertGreater(sum(row[3] for row in rows), 0)
        for row, end in zip(rows, ends):
            self.assertEqual(row, [end["took_ns"], end["on_cpu_ns"], end["preempted_ns"], end["waited_ns"]])
        page.click_on(".calls tbody button")
        page.painted()
        seen = figures(page)
        for name, ns in zip(("on CPU", "runnable", "blocked"), rows[0][1:]):
            self.assertEqual(seen.get(name, ""), page.js("'' + %d" % ns) and self.amount(ns), name)
        self.silent(page)

    @staticmethod
    def amount(ns):
        """A time as the page has it; '' for 0."""
        if not ns:
            return ""
        for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
            if ns >= size * 0.9995:
                value = ns / size
                return "%s %s" % (("%.0f" if value >= 100 else "%.1f" if value >= 10 else "%.2f") % value, unit)
        return "%d ns" % ns

    def test_blocked_on_what(self):
        """A wait has the name of its object, on the strip and in its tip."""
        page = self.opened()
        self.shot(page, "threads-states")
        waits = [wait for wait in dumped("wait") if wait["name"].startswith("[mutex ")]
        self.assertTrue(waits)
        self.assertTrue([text for text, _, _ in page.js("window.painted") if text.startswith("[join thread")])
        longest = max(waits, key=lambda wait: wait["took_ns"])
        x, _, width, _ = page.box(".timeline")
        page.js("window.painted = []; document.querySelector('.timeline').dispatchEvent(new Event('scroll'))")
        page.painted()
        first = json.loads(Shared.recordings.perfrec("dump", "jobs.data").splitlines()[0])["first_ns"]
        last = float(page.text("#view-threads .panel-head .muted").split(" – ")[1].split()[0])
        at = (longest["ns"] + longest["took_ns"] / 2 - first) / 1e9 / last
        rows = [row for text, row in [(text, row) for text, _, row in page.js("window.painted")] if text == str(longest["thread"]["tid"])]
        page.mouse("mouseMoved", x + 150 + at * (width - 150), rows[0] - 16)
        page.painted()
        self.assertEqual(page.text("#tip b"), "blocked on %s" % longest["name"])
        self.shot(page, "threads-wait")
        legend = page.text("#view-threads .legend")
        for word in ("on CPU", "runnable", "blocked", "instant"):
            self.assertIn(word, legend)
        self.assertNotIn("stopped", legend)
        self.silent(page)

    def test_instants(self):
        """An instant has its name; i goes to the next one, whose name, time and thread are said."""
        page = self.opened()
        page.js("window.painted = []; document.querySelector('.timeline').dispatchEvent(new Event('scroll'))")
        page.painted()
        self.assertIn("half", [text for text, *_ in page.js("window.painted")])
        page.js("document.querySelector('.timeline').focus()")
        page.press("+", "+", *"IIIIiiiiii")
        times = sorted(instant["ns"] for instant in dumped("instant"))
        self.assertEqual(len(times), 4)
        seen = []
        for _ in times:
            said = page.text("#view-threads .details")
            self.assertIn("half", said)
            seen.append(float(re.search(r"at(.*?) s", said).group(1)))
            page.press("I")
        self.assertEqual(seen, sorted(seen, reverse=True))
        for one, ns in zip(seen, reversed(times)):
            self.assertAlmostEqual(seen[-1] - one, (times[0] - ns) / 1e9, 5)
        self.assertRegex(page.text("#live"), r"^half, at 0\.\d+ s, jobs \d+")
        self.shot(page, "threads-instant")
        self.silent(page)

    def test_axis_stays_in_view(self):
        """However far the window is scrolled, an axis is above what is seen of the threads."""
        page = self.opened(width=1280, height=420)
        for share in (0, 0.5, 0.75, 1):
            page.js("window.painted = []; scrollTo(0, document.scrollingElement.scrollHeight * %g); document.querySelector('.timeline').scrollTop = 9999 * %g" % (share, share))
            page.js("document.querySelector('.timeline').dispatchEvent(new Event('scroll'))")
            page.painted()
            ys = {y for text, _, y in page.js("window.painted") if re.fullmatch(r"[0-9.]+ s", text)}
            box = page.js("(() => { const r = document.querySelector('.timeline').getBoundingClientRect(); return [r.top, r.bottom]; })()")
            bar = page.js("document.querySelector('.bar-holder').getBoundingClientRect().bottom")
            if max(box[0], bar) < 400:
                self.assertTrue([y for y in ys if max(box[0], min(bar, box[1] - 20)) <= y <= box[1]], (share, ys, box, bar))
        self.silent(page)

    def test_stops_have_a_hatch(self):
        """The time for which perfrec stopped a thread is a legend's entry, and is not like calls."""
        rich = sample.Rich()
        rich.NAMES = ["perfrec: waiting for collector" if name == "wait_for_work" else name for name in rich.NAMES]
        rich.data = sample.Data()
        rich.entries = {key: [] for key in rich.entries}
        rich.fill()
        rich.data.header["waits"] = [{"level": 0, "width_ns": 1}]
        page = self.sample("stops", rich.data.base64())
        page.js("""(() => { const stroke = CanvasRenderingContext2D.prototype.stroke; window.strokes = 0;
            CanvasRenderingContext2D.prototype.stroke = function (...all) {
              if (this.canvas.closest('.timeline')) window.strokes++; return stroke.apply(this, all); }; })()""")
        page.press("3")
        page.painted()
        self.assertIn("stopped by perfrec", page.text("#view-threads .legend"))
        self.assertNotIn("waits for", page.text("#view-threads .legend"))
        self.assertGreater(page.js("window.strokes"), 10)
        self.shot(page, "threads-stops")
        self.silent(page)

    def test_nothing_to_show(self):
        """Without a chosen thread a line says why the view is empty."""
        page = self.rich()
        page.press("3")
        page.painted()
        self.assertTrue(page.js("document.querySelector('#view-threads .empty').hidden"))
        page.click_on("#threads-button")
        page.click_on("#threads .row button:last-child")
        page.painted()
        self.assertFalse(page.js("document.querySelector('#view-threads .empty').hidden"))
        self.assertIn("choose other threads", page.text("#view-threads .empty"))
        self.silent(page)

    def test_counters(self):
        """Counters are above the threads when asked for, with the largest value of each."""
        page = self.opened()
        height = page.box(".timeline .spacer")[3]
        page.click_on("#thread-counters")
        page.painted()
        self.assertGreater(page.box(".timeline .spacer")[3], height + 50)
        seen = [text for text, _, _ in page.js("window.painted") if " ≤ " in text]
        most = max(counter["value"] for counter in dumped("counter") if counter["thread"]["name"] == "done")
        self.assertEqual(most, 100)
        self.assertIn("done ≤ 100", seen)
        self.shot(page, "threads-counters")
        self.silent(page)

    def test_cpu_use(self):
        """The cells of CPU use add up to what threads ran; dragging and the keyboard choose a range."""
        page = self.open(jobs()[1])
        page.click_on("#cpu-heat-button")
        page.painted()
        heat = ".cpu-heat"
        page.js("document.querySelector('%s').focus()" % heat)
        page.press("Home")
        cells = int(page.js("document.querySelector('%s').ariaValueMax" % heat)) + 1
        used = 0
        for _ in range(cells):
            text = page.js("document.querySelector('%s').getAttribute('aria-valuetext')" % heat)
            used += float(re.search(r": <?([\d.]+) %", text).group(1)) / 100 * 2e7
            page.press("ArrowDown")
        inside = sum(end["on_cpu_ns"] for end in dumped("end") if end["depth"] == 0)
        self.assertGreater(used, 0.9 * inside - 1e4 * cells)
        self.assertLess(used, 1.1 * jobs()[2]["totals"]["on_cpu_ns"] + 5e6)
        self.shot(page, "cpu-use")
        page.press("Home")
        page.press("ArrowDown", shift=True)
        page.painted()
        self.assertFalse(page.js("document.querySelector('.chip').hidden"))
        x, y, _, _ = page.box(heat + " canvas")
        page.mouse("mouseMoved", x + 10, y + 3)
        page.mouse("mousePressed", x + 10, y + 3, button="left", buttons=1, clickCount=1)
        page.mouse("mouseMoved", x + 10, y + 15, button="left", buttons=1)
        page.mouse("mouseReleased", x + 10, y + 15, button="left", clickCount=1)
        page.painted()
        begin, end = [float(text.split()[0]) for text in page.text(".chip").rstrip("×").split(" – ")]
        self.assertLessEqual(begin, 0)
        self.assertTrue(0.06 <= end < 0.08, end)
        self.silent(page)

    def test_narrow(self):
        page = self.opened(width=390, height=800, dark=True)
        self.assertLessEqual(page.js("document.scrollingElement.scrollWidth"), 390)
        self.shot(page, "threads-states-390")
        self.silent(page)

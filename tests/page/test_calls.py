# SPDX-License-Identifier: Apache-2.0
"""The calls of a function: the slowest, how long calls took, and when."""

import json
import os

import sample
from test_page import PageTest, Shared

__all__ = ["Calls"]

# Four threads want a lock; one call in seven holds it for long.
JOBS = r"""
#include <pthread.h>
#include <unistd.h>
#include "perfrec.h"
PERFREC_COUNTER(g_done, "done", PERFREC_COUNTS, 0);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long sink;
static void work(long n) { for (long i = 0; i < n; i++) sink += i; }
static void locked(long n)
{
	pthread_mutex_lock(&lock);
	work(n * 50);
	if (n % 7 == 0) usleep(2000);
	pthread_mutex_unlock(&lock);
}
static void request(long n)
{
	PERFREC_SCOPE("job", "number", n, "name", "\xe2\x80\xae</b>");
	work(n * 100);
	locked(n);
	if (n == 50) PERFREC_INSTANT("half");
	PERFREC_COUNT(&g_done, n);
}
static void *serve(void *none) { for (long i = 1; i <= 100; i++) request(i); return none; }
int main(void)
{
	pthread_t thread[4];
	for (int i = 0; i < 4; i++) pthread_create(&thread[i], 0, serve, 0);
	for (int i = 0; i < 4; i++) pthread_join(thread[i], 0);
}
"""
LIST = """[...document.querySelectorAll('.calls tbody tr')].map((row) =>
    [row.cells[0].textContent, Number(row.cells[1].dataset.raw), row.cells[6].textContent])"""
CHOOSE = """(() => { const s = document.querySelector('#view-calls select');
    s.value = [...s.options].find((o) => o.textContent.startsWith('%s ')).value; s.dispatchEvent(new Event('change')); })()"""


def jobs():
    """(folder, page, report) of the recording."""
    made = Shared.recordings
    if "jobs.data" not in made.made:
        command = made.compile("jobs", JOBS, ".c", "cc", ("-finstrument-functions", "-I" + os.path.abspath(
            os.path.join(os.path.dirname(__file__), "../../preload"))))
        made.perfrec("record", "-q", "-o", "jobs.data", "--overhead", "off", "--", command)
        made.take("jobs.data")
    return made.made["jobs.data"]


class Calls(PageTest):
    """Which calls were the outliers."""

    def opened(self, function, **how):
        """The view of calls of a function of the recording."""
        page = self.open(jobs()[1], **how)
        page.click_on("#tab-calls")
        page.js(CHOOSE % function)
        page.painted()
        return page

    def found(self, function):
        """What `perfrec find` lists."""
        return json.loads(Shared.recordings.perfrec("find", "--json", "--limit", "0", function, "jobs.data"))["calls"]

    def test_slowest(self):
        """The list has the calls of `perfrec find`, with their arguments, and all calls are in the heat map."""
        for function in ("request", "locked", "job"):
            page = self.opened(function)
            found = self.found(function)
            rows = page.js(LIST)
            self.assertEqual(len(rows), 100)
            for row, call in zip(rows[:20], found):
                self.assertEqual(row[1], call["duration_ns"])
                self.assertEqual(row[0], "%.6f s" % (call["begin_ns"] / 1e9))
                if function == "job":
                    self.assertEqual(row[2], 'number=%d, name="?</b>"' % call["arguments"]["number"])
            self.assertEqual([row[1] for row in rows], [call["duration_ns"] for call in found[:100]])
            self.assertEqual(page.text("#view-calls .panel-head .muted").strip(), "400 calls")
            self.shot(page, "calls-" + function)
            self.silent(page)

    def test_begins_with_a_frequent_function(self):
        """The view begins with the function of many calls that had the most time, not with a slow call of a root."""
        page = self.open(jobs()[1])
        page.click_on("#tab-calls")
        page.painted()
        select = "document.querySelector('#view-calls select')"
        self.assertTrue(page.js(select + ".options[0].textContent").startswith("main "))
        self.assertTrue(page.js(select + ".selectedOptions[0].textContent").startswith("request "))
        self.silent(page)

    def test_click_shows_the_call(self):
        """A click on the slowest shows it in the threads, zoomed."""
        page = self.opened("request")
        slowest = self.found("request")[0]
        page.click_on(".calls tbody button")
        page.painted()
        self.assertEqual(page.js("document.querySelector('[aria-selected=true]').id"), "tab-threads")
        self.assertTrue(page.text("#timeline-item").startswith("request, lasts "))
        self.assertIn("thread jobs %d" % slowest["tid"], page.text("#timeline-item"))
        first, last = [float(text.split()[0]) for text in page.text("#view-threads .panel-head .muted").split(" · ")[0].split(" – ")]
        self.assertAlmostEqual((last - first) / (1.2e-9 * slowest["duration_ns"]), 1, 1)
        self.shot(page, "calls-shown")
        self.silent(page)

    def test_without_durations(self):
        """A function without durations over time has no map, and not that of the function before."""
        data = sample.Rich().data
        for name, numbers in (("function", [1, 2]), ("duration", [100, 50]), ("stopped", [0, 0]), ("thread", [1, 1]),
                              ("depth", [0, 1]), ("unfinished", [0, 0]), ("arguments", [0, 0])):
            data.column("slow." + name, "u", numbers)
        data.column("slow.begin", "d", [10, 20])
        data.header["heat"] = {"count": 10, "first_ns": 0, "width_ns": 10**8, "exact": True}
        data.column("heat.bucket", "d", [0])
        for name, number in (("function", 1), ("ns", 96), ("calls", 1)):
            data.column("heat." + name, "u", [number])
        page = self.sample("without-durations", data.base64())
        page.click_on("#tab-calls")
        for function, hidden in (("main", False), ("serve", True), ("main", False)):
            page.js(CHOOSE % function)
            page.painted()
            self.assertEqual(page.js("document.querySelector('.heat').hidden"), hidden, function)
        self.silent(page)

    def test_choose_by_mouse(self):
        """Dragging over the histogram chooses durations; over the map also the time; Escape and a click end it."""
        page = self.opened("request")
        found = self.found("request")
        x, y, width, height = page.box(".heat canvas")
        page.js("document.querySelector('.heat').focus()")
        high = (height - 18) / page.js("""(() => { const ns = %d, least = %d, bar = (n) => n < 4 ? n : (l => 4 * l + Math.floor(n / 2 ** l))(
            Math.floor(Math.log2(n)) - 2); return bar(ns) - bar(least) + 1; })()""" % (found[0]["duration_ns"], found[-1]["duration_ns"]))
        page.mouse("mouseMoved", x + width - 40, y + 1)
        page.mouse("mousePressed", x + width - 40, y + 1, button="left", buttons=1, clickCount=1)
        page.mouse("mouseMoved", x + width - 40, y + 3.5 * high, button="left", buttons=1)
        page.mouse("mouseReleased", x + width - 40, y + 3.5 * high, button="left", clickCount=1)
        page.painted()
        self.shot(page, "calls-chosen")
        least = 2 ** (found[0]["duration_ns"].bit_length() - 1)
        bars = sorted(n * least // 4 for n in range(4, 8)) + [n * least // 8 for n in range(4, 8)]
        lowest = sorted(bar for bar in bars if bar <= found[0]["duration_ns"])[-4]
        wanted = [call["duration_ns"] for call in found if call["duration_ns"] >= lowest]
        self.assertEqual([row[1] for row in page.js(LIST)], wanted)
        self.assertIn("%d call" % len(wanted), page.text("#view-calls .panel-head"))
        self.assertFalse(page.js("document.querySelector('#view-calls .panel-head button').hidden"))
        page.press("Escape")
        page.painted()
        self.assertEqual(len(page.js(LIST)), 100)
        page.drag(x + 64, x + 64 + (width - 200) / 2, y + 2)
        page.painted()
        self.assertTrue(page.js("!document.querySelector('.chip').hidden"))
        self.silent(page)

    def test_choose_by_keyboard(self):
        page = self.opened("request")
        page.js("document.querySelector('.heat').focus()")
        page.press("Home", "ArrowDown")
        self.assertRegex(page.js("document.querySelector('.heat').getAttribute('aria-valuetext')"), r" – .*, at .*: \d+ calls$")
        page.press(*["ArrowRight"] * 5, shift=True)
        page.painted()
        self.assertFalse(page.js("document.querySelector('.chip').hidden"))
        page.press("Escape", "Escape")
        page.painted()
        self.assertEqual(len(page.js(LIST)), 100)
        self.assertTrue(page.js("document.querySelector('.chip').hidden"))

    def test_narrow_and_dark(self):
        page = self.opened("request", width=390, height=800, dark=True)
        self.assertLessEqual(page.js("document.scrollingElement.scrollWidth"), 390)
        self.shot(page, "calls-390")
        self.silent(page)

    def test_without_calls(self):
        """A function that was only counted says so, and so does a recording without calls."""
        page = self.open(Shared.recordings.get("muted")[1])
        page.click_on('#view-profile tr[data-name="often"] button')
        page.click_on("#to-calls")
        page.painted()
        self.assertIn("only counted", page.text("#view-calls .empty"))
        self.assertFalse(page.js("document.querySelector('#view-calls .empty').hidden"))
        self.assertTrue(page.js("document.querySelector('.heat').parentElement.hidden"))
        self.silent(page)
        page = self.open(Shared.recordings.get("plain")[1])
        self.assertEqual(page.js("document.querySelectorAll('#to-calls').length"), 0)
        page.click_on("#tab-calls")
        self.assertIn("No call was recorded with its time", page.text("#view-calls"))
        self.silent(page)

# SPDX-License-Identifier: Apache-2.0
"""The tables, flame graphs, memory and differences of the page, driven as a person does."""

import sample
from test_page import PageTest, RICH_DATA

__all__ = ["Tables"]

TITLES = "[...document.querySelectorAll('%s thead th')].map((th) => th.textContent)"


def sleepers():
    """A pool of threads that sleeps for 9 of 10 seconds, beside a function that works."""
    data = sample.Data()
    data.functions(["main", "sleep_in_pool", "work", "wait_and_work"])
    data.nodes([(0, 1), (1, 2), (1, 3), (1, 4)])
    data.value("wall", "nanoseconds", [(1, 90 * 10**8), (2, 6 * 10**8), (3, 4 * 10**8)], title="Wall time")
    data.value("on_cpu", "nanoseconds", [(1, 10**7), (2, 59 * 10**7), (3, 10**8)], title="On CPU", **{"from": "switches"})
    data.value("blocked", "nanoseconds", [(1, 899 * 10**7), (2, 10**7), (3, 3 * 10**8)], title="Blocked",
               **{"from": "switches"})
    return data


class Tables(PageTest):
    """What is on top, and what stays in view."""

    def test_sleepers_are_not_on_top(self):
        """Where most time is waiting, functions that work come first, and the table says so."""
        page = self.sample("sleepers", sleepers().base64())
        self.assertEqual(list(self.rows(page)), ["work", "wait_and_work", "sleep_in_pool", "main"])
        self.assertEqual(page.text("#view-profile th[aria-sort=descending]"), "On CPU")
        self.assertIn("most on a CPU first, as 93.0 % of the time is waiting", page.text("#view-profile .caption"))
        self.assertEqual(page.text('tr[data-name="sleep_in_pool"] .badge'), "waits 99.9 %")
        self.assertEqual(page.text('tr[data-name="wait_and_work"] .badge'), "waits 75.0 %")
        self.assertEqual(page.js("document.querySelectorAll('.badge').length"), 2)
        page.click_on('thead th[data-id="self"] button')
        self.assertEqual(list(self.rows(page))[0], "sleep_in_pool")
        self.assertNotIn("most on a CPU", page.text("#view-profile .caption"))
        # What somebody has chosen stays, and what a value has not is chosen again when it comes back.
        page.press("v")
        page.press("V")
        self.assertEqual(list(self.rows(page))[0], "sleep_in_pool")
        self.silent(page)

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

# SPDX-License-Identifier: Apache-2.0
"""Each figure of the tables of functions and calls is that of `perfrec report --json` and `perfrec find --json`."""

import json

from test_calls import CHOOSE
from test_page import PageTest, Shared

__all__ = ["Figures"]

# Each row: name, path of the module, figures by column.
ALL_ROWS = """[...document.querySelectorAll('#view-%s tbody tr')].map((row) => [row.dataset.name, row.querySelector('.module').title,
    Object.fromEntries([...row.querySelectorAll('td[data-raw]')].map((cell) => [cell.dataset.id, Number(cell.dataset.raw)]))])"""
SHOW_ALL = "document.querySelector('#view-%s .more button:last-child')?.click()"
# Columns of the summary's functions, and values of the views from profiles.
SUMMARY = {"self": "self_ns", "total": "total_ns", "calls": "calls", "median": "median_ns", "p99": "p99_ns", "max": "max_ns",
           "on_cpu.self": "on_cpu_self_ns", "on_cpu.total": "on_cpu_ns", "runnable.self": "runnable_self_ns",
           "runnable.total": "runnable_ns", "blocked.self": "blocked_self_ns", "blocked.total": "blocked_ns"}
VIEWS = {"cpu": ("cpu", "cpu"), "waited": ("wait", "blocked"), "alloc_space": ("heap", "alloc_space"),
         "alloc_objects": ("heap", "alloc_objects"), "inuse_space": ("heap", "inuse_space"),
         "inuse_objects": ("heap", "inuse_objects"), "peak_space": ("heap", "peak_space")}


def nonzero(rows):
    """[(function, module, figure), ...], sorted, without 0."""
    return sorted((name, module, figure) for name, module, figure in rows if figure)


class Figures(PageTest):
    """Of recordings of different kinds."""

    def report(self, data, *options):
        """The functions of `perfrec report --json`."""
        return json.loads(Shared.recordings.perfrec("report", "--json", *options, data))["functions"]

    def wanted(self, data, column, views):
        """What a column has to say; None: no command prints it."""
        if column in SUMMARY and "wall" in views:
            return [(f["name"], f["module"] or "", f[SUMMARY[column]]) for f in views["wall"]]
        value, _, part = column.partition(".")
        if value not in VIEWS or part not in ("self", "total"):
            return None
        view, key = VIEWS[value]
        if (view, part) == ("wait", "total"):
            return None  # of objects only, which call nothing
        if view not in views:
            views[view] = self.report(data, "--view", view)
        return [(f["name"], f["module"], f[part][key]) for f in views[view]
                if f["name"] != "[perfrec]"]  # perfrec's own work, which the page leaves out

    def hold(self, data, rows, views):
        """Holds each column of a table against the command."""
        self.maxDiff = 2000
        checked = 0
        for column in {column for row in rows for column in row[2]}:
            wanted = self.wanted(data, column, views)
            if wanted is None:
                continue
            seen = nonzero((name, module, figures[column]) for name, module, figures in rows)
            self.assertEqual(seen, nonzero(wanted), column)
            checked += len(seen)
        self.assertTrue(checked)

    def check(self, name):
        data, path, report = Shared.recordings.get(name)
        page = self.open(path)
        first = page.js("document.querySelector('#value').value")
        views = {"wall": report["functions"]} if first == "wall" else {}
        page.js("document.querySelector('.functions input[type=checkbox]')?.click()")
        for tab in ("profile", "memory"):
            if page.js("Boolean(document.querySelector('#view-%s table'))" % tab):
                page.click_on("#tab-" + tab)
                while page.js(SHOW_ALL % tab):
                    pass
                rows = page.js(ALL_ROWS % tab)
                if first != "wall":
                    rows = [[row[0], row[1], {first + "." + column if column in ("self", "total") else column: figure
                                              for column, figure in row[2].items()}] for row in rows]
                self.hold(data, rows, views)
        if report["totals"]["spans"]:
            self.assertIn("Recorded calls%s" % format(report["totals"]["spans"], ","), page.text(".figures"))
            # A large recording has calls with stops by perfrec, and says so (docs/PAGE.md).
            if report["totals"]["spans"] < 8 * 10**6:
                self.calls(page, data, report)
        self.silent(page)

    def calls(self, page, data, report):
        """The slowest calls of the function with the longest one."""
        name = max(report["functions"], key=lambda f: f["max_ns"] or 0)["name"]
        page.click_on("#tab-calls")
        page.js(CHOOSE % name)
        page.painted()
        found = json.loads(Shared.recordings.perfrec("find", "--json", "--limit", "5", name, data))["calls"]
        seen = page.js("[...document.querySelectorAll('.calls tbody tr')].slice(0, 5).map((row) => Number(row.cells[1].dataset.raw))")
        self.assertEqual(seen, [call["duration_ns"] for call in found])
        self.assertTrue(seen)

    def test_server(self):
        self.check("server")

    def test_templates(self):
        self.check("templates")

    def test_memory(self):
        self.check("memory")

    def test_muted(self):
        self.check("muted")

    def test_plain(self):
        self.check("plain")

    def test_given(self):
        """PAGE_DATA=DIR:DIR...: recordings of real programs."""
        for data in Shared.given():
            self.check(data)

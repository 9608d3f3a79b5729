# SPDX-License-Identifier: Apache-2.0
"""Source and machine code: values beside both, lines and their instructions."""

import sample
from test_page import PageTest

__all__ = ["Sources"]

MARKED = "[...document.querySelectorAll('#view-lines tr.marked')].map((row) => row.cells[1].textContent)"
COLUMNS = "[...document.querySelectorAll('#view-lines %s thead th')].map((th) => th.textContent)"
FIRST, SECOND = ("#view-lines .panes > :nth-child(%d)" % i for i in (1, 2))


def code():
    """Two functions of which the code is known, one of another file; one without code."""
    data = sample.Data()
    data.functions(["work", "other", "gone"])
    data.nodes([(0, 1), (1, 2), (1, 3)])
    for head in data.heads:
        if head["name"] in ("function.file", "function.line"):
            head["name"] = "no." + head["name"]
    a, b = "/app/a.c", "/app/b.c"
    data.column("function.file", "u", [0, data.text(a), data.text(b), 0])
    data.column("function.line", "u", [0, 2, 5, 0])
    data.value("cpu", "nanoseconds", [(0, 700), (1, 200)], title="CPU time", **{"from": "samples"})
    data.value("alloc_space", "bytes", [(0, 64)], title="Allocated", **{"from": "allocations"})
    data.value("calls", "count", [(0, 3)], title="Calls")
    rows = [(a, 2, "while (n--)", 300, 0), (a, 3, "\tsum += next();", 400, 64), (a, 4, "}" + " /* long */" * 30, 0, 0), (b, 5, "</td>\u202e" + "x" * 300, 200, 0)]
    data.column("source.file", "u", [data.text(row[0]) for row in rows])
    data.column("source.line", "d", [row[1] for row in rows])
    data.column("source.text", "u", [data.text(row[2]) for row in rows])
    data.column("source.cpu", "u", [row[3] for row in rows])
    data.column("source.alloc_space", "u", [row[4] for row in rows])
    data.column("code.left_out", "u", [7])
    data.column("code.function", "u", [1, 2, 3])
    data.column("code.symbol", "u", [data.text("work"), data.text("outer"), 0])
    data.column("code.why", "u", [0, 0, data.text("/app/gone is not the file that was recorded")])
    # The last count is a lie.
    data.column("code.count", "u", [3, 1, 10**15])
    instructions = [(4, "sub rdi, 0x01", a, 2, 300), (5, "call next", a, 3, 400), (2, "jnz +0x0", a, 2, 0), (1, "ret</b>", b, 5, 200)]
    data.column("instruction.bytes", "u", [row[0] for row in instructions])
    data.column("instruction.text", "u", [data.text(row[1]) for row in instructions])
    data.column("instruction.file", "u", [data.text(row[2]) for row in instructions])
    data.column("instruction.line", "d", [row[3] for row in instructions])
    data.column("instruction.cpu", "u", [row[4] for row in instructions])
    return data


class Sources(PageTest):
    """What is slow inside of a function."""

    def opened(self, **how):
        """The view of source of the sample."""
        page = self.sample("code", code().base64(), **how)
        page.click_on("#tab-lines")
        page.painted()
        return page

    def test_source_is_first_with_the_chosen_value(self):
        page = self.opened()
        self.assertEqual(page.js(COLUMNS % ".panes > :first-child"), ["Line", "Source", "CPU time"])
        self.assertEqual(page.js(COLUMNS % ".panes > :last-child"), ["Offset", "Instruction", "CPU time"])
        raw = "[...document.querySelectorAll('%s td.number')].map((td) => Number(td.dataset.raw))"
        self.assertEqual(page.js(raw % FIRST), [300, 400, 0])
        self.assertEqual(page.js(raw % SECOND), [300, 400, 0])
        page.press("v")
        page.painted()
        self.assertEqual(page.js(raw % FIRST), [0, 64, 0])
        page.press("v")
        page.painted()
        self.assertIn("Calls is not known by line, so this is CPU time.", page.text("#view-lines .note"))
        self.assertIn("7 more functions", page.text("#view-lines .note"))
        self.silent(page)

    def test_lines_and_instructions_mark_each_other(self):
        page = self.opened()
        self.assertEqual(page.js(MARKED), [])
        x, y, width, height = page.box(SECOND + " tbody tr")
        page.mouse("mouseMoved", x + width / 2, y + height / 2)
        page.painted()
        self.assertEqual(page.js(MARKED), ["while (n--)", "sub rdi, 0x01", "jnz +0x0"])
        page.js("document.querySelectorAll('%s tbody button')[1].focus()" % FIRST)
        page.press("Enter")
        page.mouse("mouseMoved", 5, 5)
        page.painted()
        self.assertEqual(page.js(MARKED), ["    sum += next();", "call next"])
        self.silent(page)

    def test_instruction_goes_to_its_file(self):
        page = self.opened()
        page.js("""(() => { const select = document.querySelectorAll('#view-lines select')[1];
            select.value = '1'; select.dispatchEvent(new Event('change')); })()""")
        self.assertEqual(page.js("document.querySelectorAll('#view-lines select')[1].selectedOptions[0].textContent"), "other in outer")
        page.click_on(SECOND + " tbody button")
        page.painted()
        self.assertEqual(page.text("#view-lines caption"), "/app/b.c")
        self.assertEqual(len(page.js(MARKED)), 2)
        self.silent(page)

    def test_code_that_is_not_there_says_why(self):
        page = self.opened()
        page.js("""(() => { const select = document.querySelectorAll('#view-lines select')[1];
            select.value = '2'; select.dispatchEvent(new Event('change')); })()""")
        self.assertIn("not the file that was recorded", page.text(SECOND))
        self.assertEqual(page.js("document.querySelectorAll('%s tbody tr').length" % SECOND), 0)
        self.silent(page)

    def test_frame_goes_to_its_line(self):
        page = self.sample("code", code().base64())
        page.press("f", "ArrowDown", "ArrowDown")
        page.js("[...document.querySelectorAll('#view-profile .details button')].find((b) => b.textContent === 'Source').click()")
        page.painted()
        self.assertEqual(page.js("document.querySelector('[aria-selected=true]').textContent"), "Source")
        self.assertEqual(page.text("#view-lines caption"), "/app/b.c")
        self.assertEqual(len(page.js(MARKED)), 2)
        page.wait("location.hash.includes('other')")
        page.js("history.back()")
        page.wait("document.querySelector('[aria-selected=true]').textContent === 'Profile'")
        self.silent(page)

    def test_on_a_phone(self):
        """Source and value fit beside each other, and the code is below."""
        page = self.opened(width=390, height=844, dark=True)
        self.assertEqual(page.js("document.documentElement.scrollWidth"), 390)
        self.assertEqual(page.js("""[...document.querySelectorAll('#view-lines .scroll')].map(
            (pane) => pane.scrollWidth <= pane.clientWidth)"""), [True, True])
        self.assertLess(page.box(FIRST)[1], page.box(SECOND)[1])
        self.shot(page, "source-phone")
        wide = self.opened(width=1280)
        self.assertEqual(wide.box(FIRST)[1], wide.box(SECOND)[1])
        self.shot(wide, "source")

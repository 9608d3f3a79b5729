# SPDX-License-Identifier: Apache-2.0
"""The state in the address of the page: a link says what one sees, and back works."""

import sample
from test_page import RICH_DATA, PageTest, Shared

__all__ = ["Addressed"]

HASH = "decodeURIComponent(location.hash.replaceAll('+', ' '))"


class Addressed(PageTest):
    """What is seen is in the fragment."""

    def until(self, page, words):
        """Waits until the address has these words."""
        page.wait("%s === %r" % (HASH, words))

    def test_link(self):
        """Each part of the state goes into the address, and a second page of that address shows it."""
        page = self.rich()
        self.assertEqual(page.js(HASH), "")
        page.press("v")
        self.until(page, "#value=calls")
        page.press("o", "Home")
        page.press("ArrowRight", "ArrowRight", shift=True)
        self.until(page, "#value=calls&range=0-15000000")
        page.click_on("#threads-button")
        page.click_on("#threads fieldset:last-of-type button")
        self.until(page, "#value=calls&threads=4&range=0-15000000")
        page.press("Escape", "/")
        page.type("tok&=#")
        self.until(page, "#value=calls&query=tok&=#&threads=4&range=0-15000000")
        page.press("Escape")
        page.press("Escape")
        self.until(page, "#value=calls&threads=4")
        page.press("3")
        page.js("document.querySelector('#view-threads [aria-label=\"Zoom in\"]').click()")
        self.until(page, "#tab=threads&value=calls&threads=4&view=250000000-750000000")
        other = self.again(page)
        self.assertEqual(other.js("document.querySelector('[role=tab][aria-selected=true]').id"), "tab-threads")
        self.assertEqual(other.text("#view-threads .panel-head .muted").split(" · ")[0], "0.250 s – 0.750 s")
        self.assertEqual(other.text("#threads-button"), "Threads: 1 of 4")
        other.press("1")
        other.painted()
        self.assertEqual({name: row["self"] for name, row in self.rows(other).items() if row["self"]},
                         Shared.rich.in_range("calls", 0, 999, {4}))
        self.silent(other)

    def test_before_the_first_call(self):
        """Times before the first call are negative, and a link keeps them."""
        data = sample.Rich().data
        data.header["buckets"]["first_ns"] = data.header["time"]["first_ns"] = -(10**7)
        page = self.sample("before", data.base64())
        page.press("o", "Home")
        page.press("ArrowRight", "ArrowRight", shift=True)
        self.until(page, "#range=-10000000-5000000")
        self.assertTrue(page.text(".chip").startswith("-0.010"), page.text(".chip"))
        self.assertEqual(self.again(page).text(".chip"), page.text(".chip"))

    def again(self, page):
        """Another page of the address of PAGE."""
        return self.open(page.js("location.href").replace("file://", ""))

    def test_zoom_and_function(self):
        page = self.rich()
        page.press("f", "ArrowDown", "ArrowDown", "Enter")
        self.until(page, "#zoom=1.2")
        self.assertTrue(self.again(page).js("document.querySelector('.flame [role=treeitem]').textContent").startswith("serve, "))
        page.call("Page.bringToFront")
        page.press("s")
        self.until(page, "#tab=callers&function=2 serve&zoom=1.2")
        self.assertIn("serve", self.again(page).text("#view-callers h2"))

    def test_kind_of_graph(self):
        """A link shows the same graph, with the same colours and folds; "back" leaves it."""
        page = self.rich()
        choose = "(() => { const s = [...document.querySelectorAll('#view-profile .stacks select')][%d]; s.value = %r; s.dispatchEvent(new Event('change')); })()"
        page.js(choose % (0, "up"))
        self.until(page, "#shape=up")
        page.js(choose % (1, "function"))
        self.until(page, "#shape=up&colors=function")
        page.click_on("#fold")
        self.until(page, "#shape=up&colors=function&folds=1")
        other = self.again(page)
        self.assertIn("Bottom-up graph", other.text("#view-profile h2"))
        self.assertEqual(other.js("[...document.querySelectorAll('#view-profile .stacks select')].map((s) => s.value)"), ["up", "function"])
        self.assertTrue(other.js("document.querySelector('#fold').checked"))
        page.js("history.go(-3)")
        page.wait("location.hash === '' && document.querySelector('#view-profile .stacks select').value === 'down'")
        self.assertIn("Flame graph", page.text("#view-profile h2"))
        self.silent(other)

    def test_back_and_forward(self):
        page = self.rich()
        page.press("v")
        self.until(page, "#value=calls")
        page.press("3")
        self.until(page, "#tab=threads&value=calls")
        page.js("history.back()")
        self.until(page, "#value=calls")
        page.wait("document.querySelector('#tab-profile').getAttribute('aria-selected') === 'true'")
        page.js("history.back()")
        page.wait("document.querySelector('#value').value === 'wall'")
        self.assertEqual(page.js(HASH), "")
        self.assertEqual(self.own(page), Shared.rich.in_range("wall", 0, 999))
        page.js("history.go(2)")
        page.wait("document.querySelector('#tab-threads').getAttribute('aria-selected') === 'true'")
        self.assertEqual(page.js("document.querySelector('#value').value"), "calls")
        self.silent(page)

    def test_wrong_words(self):
        """What a link of another recording, or a hostile one, says is as if it were missing."""
        for i, words in enumerate((
                "tab=nothing&value=__proto__&range=9-3&threads=77.-1.x&function=3 nobody&zoom=9.9.x&view=1e9-2&durations=",
                "range=0-99999999999999999999&zoom=%FF%FE&query=%00%E2%80%AE&=&&&threads=constructor.length",
                "view=999999999999999-999999999999999&range=999999999999998-999999999999999", "%", "x" * 100000)):
            # Another file each time: another fragment of the same is not loaded again.
            path = self.sample("wrong-words-%d" % i, RICH_DATA).js("location.pathname")
            page = self.open(path + "#" + words)
            page.js("document.querySelector('#search').value = ''; document.querySelector('#search').dispatchEvent(new Event('input'))")
            self.assertEqual(self.own(page), Shared.rich.in_range("wall", 0, 999), words[:80])
            self.assertEqual(page.js("document.querySelector('[role=tab][aria-selected=true]').id"), "tab-profile")
            self.silent(page)

    def test_without_times(self):
        """A comparison has an address, too."""
        page = self.sample("address-diff", sample.difference().base64())
        page.press("v")
        self.until(page, "#value=calls")
        self.silent(page)

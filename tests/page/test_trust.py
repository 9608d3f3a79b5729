# SPDX-License-Identifier: Apache-2.0
"""The banner that says how far the figures of a page can be trusted."""

import os
import re
import subprocess

import sample
from test_page import BUILD, PageTest, Shared

__all__ = ["Trusted"]

SLOWER = {"level": "poor", "values": "wall blocked", "text": "recording made this run about 11 x slower",
          "next": "perfrec record --overhead 5% -- COMMAND"}
FEW = {"level": "fair", "values": "cpu", "text": "CPU times are from only 7 samples </b>\u202e"}


class Trusted(PageTest):
    """Words and colour on top, and a sentence where a value concerns it."""

    COLOR = "getComputedStyle(document.querySelector('.trust')).color"

    def banner(self, name, trust, **how):
        """A page with this judgement."""
        data = sample.Rich().data
        data.header["trust"] = trust
        return self.sample("trust-" + name, data.base64(), **how)

    def test_levels(self):
        for level, doubts, said, how in (
                ("good", [], "Trust good: nothing was lost.", {}),
                ("poor", [SLOWER, FEW], "Trust poor: recording made this run about 11 x slower; CPU times are from only "
                 "7 samples </b>\u27e8U+202E\u27e9. Next: perfrec record --overhead 5% -- COMMAND", {}),
                ("fair", [FEW], "Trust fair: CPU times are from only 7 samples </b>\u27e8U+202E\u27e9.",
                 {"dark": True, "width": 390})):
            page = self.banner(level, {"level": level, "good": "nothing was lost", "doubts": doubts}, **how)
            self.assertEqual(page.text(".trust"), said)
            red, green, _ = map(int, re.findall(r"\d+", page.js(self.COLOR)))
            self.assertEqual(green > red, level == "good", level)
            self.assertLessEqual(page.js("document.scrollingElement.scrollWidth"), how.get("width", 1200))
            self.shot(page, "trust-" + level)
            self.silent(page)

    def test_values(self):
        """The doubts of the shown value are beside it, and those of others are not."""
        page = self.banner("values", {"level": "poor", "good": "", "doubts": [SLOWER, FEW]})
        self.assertEqual(page.text(".warning"), "Wall time: recording made this run about 11 x slower.")
        page.press("v")
        self.assertEqual(page.text(".warning"), "")
        page.press("v")
        self.assertIn("CPU time: CPU times are from only 7 samples", page.text(".warning"))

    def test_recorded(self):
        """The page says what the text summary says."""
        for name in ("muted", "server"):
            folder, path, _ = Shared.recordings.get(name)
            text = subprocess.run([os.path.join(BUILD, "perfrec"), "report", folder], capture_output=True, text=True,
                                  check=True).stdout
            wanted = [line.split("trust", 1)[1].strip() for line in text.splitlines() if line.startswith("  trust ")]
            self.assertEqual(len(wanted), 1, text)
            page = self.open(path)
            said = page.text(".trust").split(" Next: ")[0]
            self.assertEqual(said, "Trust %s." % wanted[0])
            if name == "muted":
                self.assertRegex(said, "calls have no times|times are estimated")
            self.silent(page)

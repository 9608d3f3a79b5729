# SPDX-License-Identifier: Apache-2.0
"""look.py BUILD FOLDER - pictures of every tab of the pages of five recordings, for a person to look at:
threads with locks, C++ templates, python3 as it is installed, a budget, and `make -j`. Two widths, dark and
light. Figures are compared with `report --json`; axe-core, if npm has put it into BUILD/viewers
(make check-viewers), looks for obstacles. FOLDER keeps recordings, pages and pictures."""

import os
import sys
import unittest

BUILD, FOLDER = (os.path.abspath(word) for word in sys.argv[1:])
sys.argv[1:] = [BUILD]  # for test_page.py

import browser  # noqa: E402
import recordings  # noqa: E402
import test_page  # noqa: E402

browser.LIMIT = 600  # axe takes long for the thousands of functions of python3

AXE = os.path.join(BUILD, "viewers/node_modules/axe-core/axe.min.js")
SIZES = ((1280, 1500), (390, 1500))

LOCKS = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_more = PTHREAD_COND_INITIALIZER;
static int queue[4000], head, tail;
static volatile long sink;
static void parse(int n) { for (long i = 0; i < n * 200L; i++) sink += i ^ n; }
static char *render(int n) { size_t size = 1000 + n % 7 * 100; return memset(malloc(size), n, size); }
static void keep(int n) { pthread_mutex_lock(&queue_lock); for (long i = 0; i < 20000 + n % 100 * 500; i++) sink += i; pthread_mutex_unlock(&queue_lock); }
static void handle(int n) { parse(n % 97); char *text = render(n); keep(n); if (n % 200 == 0) usleep(8000); free(text); }
static int take(void)
{
	pthread_mutex_lock(&queue_lock);
	while (head == tail) pthread_cond_wait(&queue_more, &queue_lock);
	int n = queue[head++];
	pthread_mutex_unlock(&queue_lock);
	return n;
}
static void *serve(void *unused) { for (int n; (n = take()) >= 0;) handle(n); return unused; }
static void put(int n) { pthread_mutex_lock(&queue_lock); queue[tail++] = n; pthread_cond_signal(&queue_more); pthread_mutex_unlock(&queue_lock); }
int main(void)
{
	pthread_t thread[4];
	for (int i = 0; i < 4; i++) { pthread_create(&thread[i], 0, serve, 0); pthread_setname_np(thread[i], "worker"); }
	for (int n = 1; n <= 3000; n++) { put(n); if (n % 50 == 0) usleep(3000); }
	for (int i = 0; i < 4; i++) put(-1);
	for (int i = 0; i < 4; i++) pthread_join(thread[i], 0);
}
"""

PYTHON = """
import hashlib, json, re
def words(n): return [hashlib.md5(str(i).encode()).hexdigest() for i in range(n)]
def table(n):
    rows = {}
    for word in words(n): rows.setdefault(word[:2], []).append(word)
    return json.dumps(rows)
print(sum(len(re.findall("a[0-9]b", table(4000))) for _ in range(25)))
"""

MAKEFILE = """
all: $(patsubst %,part%.o,1 2 3 4 5 6)
part%.o: locks.c ; gcc -O2 -c $< -o $@
"""


class Five(recordings.Recordings):
    """The recordings."""

    def make(self, name):
        if name == "templates":
            self.compile(name, recordings.TEMPLATES.replace("i < 300", "i < 3000"), ".cc", "c++")
            return ["--alloc", "exact"], ["./templates"]
        if name == "budget":
            source = recordings.MUTED.replace("i < 100", "i < 100000").replace("i < 500", "i < 200")
            return ["--overhead", "5%"], [self.compile(name, source, ".c", "cc")]
        if name == "python":
            return ["--patch"], ["python3", self.write("words.py", PYTHON)]
        if name == "make":
            self.write("Makefile", MAKEFILE)
            self.write("locks.c", LOCKS)
            return [], ["make", "-B", "-j4"]
        return [], [self.compile("locks", LOCKS, ".c", "cc")]

    def write(self, name, text):
        """A file of the folder."""
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)
        return name


class Look(test_page.PageTest):
    """A test for each recording."""

    def look(self, name):
        """A picture of each tab; axe finds nothing on it."""
        _, path, _ = test_page.Shared.recordings.get(name)
        for width, height in SIZES:
            for dark in False, True:
                page = self.open(path, width=width, height=height, dark=dark)
                if os.path.exists(AXE):
                    with open(AXE, encoding="utf-8") as file:
                        page.js(file.read() + "; 0")
                for tab in page.js("[...document.querySelectorAll('[role=tab]')].map((tab) => tab.id)"):
                    page.click_on("#" + tab)
                    page.js("window.scrollTo(0, 0)")
                    page.picture(os.path.join(FOLDER, "-".join([name, tab[4:], str(width)] + ["dark"] * dark) + ".png"))
                    wide = page.js("document.documentElement.scrollWidth")
                    self.assertLessEqual(wide, width, "%s is wider than the window" % tab)
                    if os.path.exists(AXE):
                        self.assertEqual(page.js("axe.run({resultTypes: ['violations']}).then((all) => "
                                                 "all.violations.map((v) => [v.id, v.nodes[0].html]))"), [], tab)
                self.silent(page)
        figures = test_page.Figures("check")
        figures.setUp()
        figures.check(name)
        figures.doCleanups()


for one in ("locks", "templates", "python", "budget", "make"):
    setattr(Look, "test_" + one, lambda self, name=one: self.look(name))


if __name__ == "__main__":
    os.makedirs(FOLDER, exist_ok=True)
    test_page.Shared.folder = FOLDER
    test_page.Shared.recordings = Five(BUILD, FOLDER)
    test_page.Shared.browser = browser.Browser()
    try:
        unittest.main(argv=sys.argv[:1], defaultTest="Look")
    finally:
        test_page.Shared.browser.close()

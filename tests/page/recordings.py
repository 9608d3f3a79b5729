# SPDX-License-Identifier: Apache-2.0
"""Small programs, recorded by perfrec, and the pages of their recordings."""

import json
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))

SERVER = r"""
#include <pthread.h>
#include <unistd.h>
static int wires[3][2];
static long answer(long n) { long s = 0; for (long i = 0; i < n; i++) s += i ^ n; return s; }
static long request(long n) { return answer(n) + answer(n / 2); }
static void *serve(void *wire)
{
	long n, sum = 0;
	while (read(((int *)wire)[0], &n, sizeof(n)) == sizeof(n) && n)
		sum += request(n);
	return (void *)sum;
}
static void ask(long n) { for (int i = 0; i < 3; i++) if (write(wires[i][1], &n, sizeof(n)) < 0) _exit(1); }
int main(void)
{
	pthread_t thread[3];
	for (int i = 0; i < 3; i++) {
		if (pipe(wires[i])) return 1;
		pthread_create(&thread[i], 0, serve, wires[i]);
	}
	for (long n = 1; n <= 400; n++) ask(n * 5);
	ask(0);
	for (int i = 0; i < 3; i++) pthread_join(thread[i], 0);
}
"""

TEMPLATES = r"""
#include <map>
#include <string>
#include <vector>
namespace shop {
template <typename Key, typename Value> struct table {
	std::map<Key, std::vector<Value>> rows;
	__attribute__((noinline)) void put(const Key &key, Value value) { rows[key].push_back(value); }
	__attribute__((noinline)) Value sum() const { Value s{}; for (auto &r : rows) for (auto &v : r.second) s += v; return s; }
};
template <int N> __attribute__((noinline)) long steps(long n) { return n + steps<N - 1>(n + 1); }
template <> __attribute__((noinline)) long steps<0>(long n) { return n; }
}
int main()
{
	shop::table<std::string, long> t;
	for (int i = 0; i < 300; i++) t.put(std::to_string(i % 17), shop::steps<6>(i));
	return t.sum() == 0;
}
"""

MEMORY = r"""
#include <stdlib.h>
#include <string.h>
static void *block(size_t n) { char *p = malloc(n); memset(p, 1, n); return p; }
static void *keep(size_t n) { return block(n); }
static void throw_away(size_t n) { free(block(n)); }
void *kept[64];
static int depth(int n) { return n ? 1 + depth(n - 1) : 0; }
int main(void)
{
	for (int i = 0; i < 64; i++) {
		kept[i] = keep(10000 + i);
		for (int j = 0; j < 20; j++) throw_away(30000);
	}
	for (int i = 0; i < 32; i++) free(kept[i]);
	return depth(40) != 40;
}
"""

MUTED = r"""
static volatile long sink;
static void often(int n) { sink += n; }
static void seldom(int n) { for (int i = 0; i < 500; i++) often(n + i); }
int main(void) { for (int i = 0; i < 100; i++) seldom(i); }
"""

# Each of 2,401 stacks has its own short part of the time, and 0.04 % of the whole.
PHASES = r"""
typedef void step(int n, int depth);
static step *steps[7];
static volatile long sink;
static void tick(int n) { sink += n; }
static void down(int n, int depth) { if (depth) steps[n % 7](n / 7, depth - 1); else for (int i = 0; i < 20; i++) tick(n); }
#define STEP(k) static void step_##k(int n, int depth) { down(n, depth); }
STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6)
static step *steps[7] = { step_0, step_1, step_2, step_3, step_4, step_5, step_6 };
int main(void) { for (int n = 0; n < 2401; n++) for (int i = 0; i < 20; i++) steps[n % 7](n / 7, 3); }
"""

PLAIN = r"""
#include <time.h>
static volatile long sink;
static void spin(void) { for (long i = 0; i < 100000; i++) sink += i; }
int main(void) { while (clock() < CLOCKS_PER_SEC / 5) spin(); }
"""


class Recordings:
    """Recordings below a folder; each is made when it is first asked for."""

    # To try another build of perfrec than the one in the folder of the build.
    PERFREC = os.environ.get("PERFREC")

    def __init__(self, build, folder):
        self.build = build
        self.folder = folder
        self.made = {}

    def run(self, *command, words=None):
        """Runs a command, which must do well; returns what it prints. WORDS: what it reads."""
        done = subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              input=words, universal_newlines=True, check=False)
        if done.returncode:
            raise AssertionError("%s: status %d\n%s" % (" ".join(command), done.returncode, done.stderr))
        return done.stdout

    def perfrec(self, *words):
        """Runs perfrec."""
        return self.run(self.PERFREC or os.path.join(self.build, "perfrec"), *words)

    def compile(self, name, source, suffix, compiler, hooks=("-finstrument-functions",)):
        """A program with hooks, if nothing else is said."""
        path = os.path.join(self.folder, name + suffix)
        with open(path, "w", encoding="utf-8") as file:
            file.write(source)
        self.run(compiler, "-g", "-O1", "-fno-inline", *hooks, "-o", name, path, "-lpthread")
        return "./" + name

    def make(self, name):
        """Records; returns the command and options."""
        if name == "demo":
            shutil.copy(os.path.join(self.build, "tests/progs/demo"), self.folder)
            return [], ["./demo"]
        if name == "server":
            return [], [self.compile(name, SERVER, ".c", "cc")]
        if name == "templates":
            return [], [self.compile(name, TEMPLATES, ".cc", "c++")]
        if name == "memory":
            return ["--alloc", "exact"], [self.compile(name, MEMORY, ".c", "cc")]
        if name == "many":
            self.compile("memory", MEMORY, ".c", "cc")
            script = "for i in $(seq 30); do expr 1 + 1; done; ./memory"
            return ["--alloc", "exact"], ["sh", "-c", script]
        if name == "phases":
            return [], [self.compile(name, PHASES, ".c", "cc")]
        if name == "plain":
            return [], [self.compile(name, PLAIN, ".c", "cc", ())]
        assert name == "muted"
        return ["--count", "often"], [self.compile(name, MUTED, ".c", "cc")]

    def take_real(self, name, programs):
        """Records lua or sqlite3 of the folder PROGRAMS (tests/real/fetch-build.sh). What SQLite's shell
        is to do has statements that fail; its status says so, and is not perfrec's."""
        data = os.path.join(self.folder, name + ".data")
        workload = os.path.join(HERE, "../real")
        if name == "lua":
            words, command = None, [os.path.join(workload, "workload.lua"), "2"]
        else:
            words, command = self.run("sh", os.path.join(workload, "workload.sql.sh"), "3"), [":memory:"]
        self.run("sh", "-c", '"$@" || test -s "$0/summary.json"', data,
                 self.PERFREC or os.path.join(self.build, "perfrec"), "record", "-q", "-o", data, "--",
                 os.path.join(programs, name), *command, words=words)
        self.take(data)
        return os.path.basename(data)

    def renamed(self):
        """The page of the difference of one program under two names."""
        self.compile("before", MUTED, ".c", "cc")
        shutil.copy(os.path.join(self.folder, "before"), os.path.join(self.folder, "after"))
        for name in ("before", "after"):
            self.perfrec("record", "-q", "-o", name + ".data", "--", "./" + name)
        self.perfrec("diff", "--html", "renamed.html", "before.data", "after.data")
        return os.path.join(self.folder, "renamed.html")

    def take(self, data):
        """A recording that is there already is asked for by the name of its folder."""
        name = os.path.basename(data)
        page = os.path.join(self.folder, name + ".html")
        self.perfrec("report", "--html", page, data)
        self.made[name] = data, page, json.loads(self.perfrec("report", "--json", data))

    def judged(self, runs):
        """(page of RUNS recordings of each of two programs, `diff --json` of them, `diff`): the second calls more often."""
        page = "judged.%d.html" % runs
        sides = []
        for side, extra in (("less", ""), ("more", "often(1);")):
            self.compile(side, MUTED.replace("seldom(i); }", "{ seldom(i); %s } }" % extra), ".c", "cc")
            sides.append(["%s.%d.data" % (side, i) for i in range(runs)])
            for data in sides[-1]:
                if not os.path.isdir(os.path.join(self.folder, data)):
                    self.perfrec("record", "-q", "-o", data, "--", "./" + side)
        words = sides[0] + ["--"] + sides[1]
        self.perfrec("diff", "--html", page, *words)
        return (os.path.join(self.folder, page), json.loads(self.perfrec("diff", "--json", *words)),
                self.perfrec("diff", *words))

    def compare(self, name):
        """Records NAME again; (folder of it, page of the difference)."""
        before, _, _ = self.get(name)
        after = os.path.join(self.folder, name + ".again")
        page = os.path.join(self.folder, name + ".diff.html")
        options, command = self.make(name)
        self.perfrec("record", "-q", "-o", after, *options, "--", *command)
        self.perfrec("diff", "--html", page, before, after)
        return after, page

    def part(self, name, *options):
        """(page of a part of it, `report --json` of that part)."""
        data, _, _ = self.get(name)
        page = os.path.join(self.folder, name + ".part.html")
        self.perfrec("report", "--html", page, *options, data)
        return page, json.loads(self.perfrec("report", "--json", *options, data))

    def get(self, name):
        """(folder of the recording, its page, `report --json`)."""
        if name not in self.made:
            options, command = self.make(name)
            data = os.path.join(self.folder, name + ".data")
            page = os.path.join(self.folder, name + ".html")
            self.perfrec("record", "-q", "-o", data, *options, "--", *command)
            self.perfrec("report", "--html", page, data)
            self.made[name] = data, page, json.loads(self.perfrec("report", "--json", data))
        return self.made[name]

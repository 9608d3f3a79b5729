# SPDX-License-Identifier: Apache-2.0
#
# read_export.py FORMAT FILE: reads what perfrec export and perfrec dump have
# written, strictly: all that the format demands is checked. Prints lines
# "calls<TAB>name" of the single calls, or "value<TAB>stack" of merged stacks;
# of csv nothing. An error ends it with status 1.
import collections
import gzip
import json
import sys
import xml.dom.minidom


def demand(what, *about):
    if not what:
        sys.exit("read_export: " + " ".join(repr(each) for each in about))


def strict(text):
    """JSON without NaN, and without two members of one name."""
    def members(pairs):
        keys = [key for key, _ in pairs]
        demand(len(keys) == len(set(keys)), "twice the same key", keys)
        return dict(pairs)

    def constant(name):
        demand(False, "no number of JSON", name)
    return json.loads(text, object_pairs_hook=members, parse_constant=constant)


class Stacks:
    """The open calls of each track; counts calls, checks order and nesting."""

    def __init__(self):
        self.open = collections.defaultdict(list)
        self.last = {}
        self.calls = collections.Counter()

    def event(self, track, begins, name, at):
        demand(at >= self.last.get(track, at), "time runs backwards", track, at)
        self.last[track] = at
        if begins:
            self.open[track].append(name)
            self.calls[name] += 1
            return
        demand(self.open[track], "an end without a begin", track, at)
        begun = self.open[track].pop()
        demand(name in (None, begun), "another call ends", name, begun)

    def finish(self):
        demand(not any(self.open.values()), "calls are open at the end")
        return self.calls


def chrome(text):
    stacks = Stacks()
    named = set()
    for event in strict(text)["traceEvents"]:
        track = event["pid"], event["tid"]
        demand(isinstance(event["pid"], int), "pid")
        if event["ph"] == "M":
            named.add(track)
            demand(isinstance(event["args"]["name"], str), "name")
            continue
        demand(track in named, "a track without a name", track)
        at = round(event["ts"] * 1000)
        demand(event["ph"] in "BEiC", "a kind of event", event["ph"])
        if event["ph"] in "BE":
            stacks.event(track, event["ph"] == "B", event.get("name"), at)
    return stacks.finish()


def dump(text):
    stacks = Stacks()
    lines = [strict(line) for line in text.split("\n")[:-1]]
    tracks = set()
    demand(lines[0]["kind"] == "dump" and lines[0]["version"] == 1, "head")
    demand(lines[-1]["kind"] == "totals", "the last line", lines[-1])
    for line in lines[1:-1]:
        if line["kind"] == "track":
            tracks.add(line["track"])
        elif line["kind"] in ("begin", "end"):
            demand(line["track"] in tracks, "a track without a line")
            stacks.event(line["track"], line["kind"] == "begin", line["name"],
                         line["ns"])
    demand(lines[-1]["begins"] == stacks.calls.total(), "the sum of begins")
    return stacks.finish()


def speedscope(text):
    file = strict(text)
    frames = [frame["name"] for frame in file["shared"]["frames"]]
    demand(len(set(frames)) == len(frames), "a frame twice")
    stacks = Stacks()
    merged = collections.Counter()
    for number, profile in enumerate(file["profiles"]):
        for event in profile.get("events", ()):
            demand(profile["startValue"] <= event["at"] <= profile["endValue"],
                   "outside of the profile", event)
            stacks.event(number, event["type"] == "O", frames[event["frame"]],
                         event["at"])
        for stack, weight in zip(profile.get("samples", ()),
                                 profile.get("weights", ()), strict=True):
            merged[";".join(frames[frame] for frame in stack)] += weight
        if profile["type"] == "sampled":
            demand(sum(profile["weights"]) == profile["endValue"], "sum")
    stacks.finish()
    return merged or stacks.calls


def folded(text):
    merged = collections.Counter()
    for line in text.split("\n")[:-1]:
        stack, value = line.rsplit(" ", 1)
        demand(stack and value.isdigit(), "a line of a stack", line)
        merged[stack] += int(value)
    return merged


def check_columns(table, *but):
    for name, column in table.items():
        if isinstance(column, list) and name not in but:
            demand(len(column) == table["length"], "length of column", name)


def firefox(data):
    """Names and their own time in ns."""
    profile = strict(gzip.decompress(data).decode())
    demand(profile["meta"]["preprocessedProfileVersion"] == 48, "version")
    own = collections.Counter()
    categories = profile["meta"]["categories"]
    demand(any(one["color"] == "grey" for one in categories), "default category")
    for thread in profile["threads"]:
        markers = thread["markers"]
        demand(all(name < len(thread["stringArray"]) for name in markers["name"]), "marker")
        for table in markers, thread["stackTable"]:
            demand(all(one < len(categories) for one in table["category"]), "category")
        for name in ("samples", "markers", "stackTable", "frameTable",
                     "funcTable", "resourceTable", "nativeSymbols"):
            check_columns(thread[name])
        samples, table = thread["samples"], thread["stackTable"]
        demand(samples["time"] == sorted(samples["time"]), "order of samples")
        for stack, weight in zip(samples["stack"], samples["weight"]):
            if stack is None:
                continue
            prefix = table["prefix"][stack]
            demand(prefix is None or prefix < stack, "order of stacks")
            function = thread["frameTable"]["func"][table["frame"][stack]]
            name = thread["funcTable"]["name"][function]
            own[thread["stringArray"][name]] += round(weight * 1e6)
    return own


def flamegraph(text):
    """Titles of the frames; no script but our own, no link."""
    page = xml.dom.minidom.parseString(text)
    scripts = page.getElementsByTagName("script")
    demand(len(scripts) == 1, "scripts", len(scripts))
    demand("http" not in text.replace("http://www.w3.org/2000/svg", ""), "link")
    return collections.Counter(
        title.firstChild.data for title in page.getElementsByTagName("title"))


def main():
    form, name = sys.argv[1:]
    with open(name, "rb") as file:
        data = file.read()
    demand(form == "firefox" or not any(
        byte in data for byte in b"\x1b\x07\x7f\x00"), "control characters")
    result = globals()[form](data if form == "firefox" else data.decode())
    for text, value in sorted(result.items()):
        print(value, text.replace("\n", "\\n"), sep="\t")


main()

# SPDX-License-Identifier: Apache-2.0
#
# report.awk - makes tables, and on request JSON, of the samples of
# scripts/bench.sh.
#
#	awk -v machine=FILE [-v json=FILE] -f report.awk SAMPLES
#
# Costs are over the base: the same program built without instrumentation.
# A ratio compares runs of one round; the table has min, median and max of the rounds.

{
	rounds = $1 > rounds ? $1 : rounds
	key = $2 SUBSEP $3 SUBSEP $4
	value[key, $1] = $5
	if (!(key in seen)) {
		seen[key] = 1
		order[++keys] = key
	}
}

# --- statistics: stat_of_*() leave them in n, low, mid, high ------------------

function start_list() { n = 0 }

function add(x, i)
{
	for (i = n++; i > 0 && list[i] > x; i--)
		list[i + 1] = list[i]
	list[i + 1] = x
}

function finish_list()
{
	low = list[1]
	high = list[n]
	mid = n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
	return n
}

function stat_of(program, config, metric, i)
{
	start_list()
	for (i = 1; i <= rounds; i++)
		if ((program, config, metric, i) in value)
			add(value[program, config, metric, i])
	return finish_list()
}

function over_base(program, config, i)
{
	return value[program, config, "cpu", i] - value[program, "base", "cpu", i]
}

function stat_of_cost(program, config, i)
{
	start_list()
	for (i = 1; i <= rounds; i++)
		if ((program, config, "cpu", i) in value)
			add(over_base(program, config, i))
	return finish_list()
}

function stat_of_ratio(program, config, reference, i)
{
	start_list()
	for (i = 1; i <= rounds; i++)
		if ((program, config, "cpu", i) in value &&
		    (program, reference, "cpu", i) in value)
			add(over_base(program, config, i) / \
			    over_base(program, reference, i))
	return finish_list()
}

function median(program, config, metric)
{
	return stat_of(program, config, metric) ? mid : -1
}

function most(program, config, metric)
{
	return stat_of(program, config, metric) ? high : 0
}

# --- parts of a table -----------------------------------------------------------

function verdict(figure, target)
{
	return target == "" ? "" : \
		sprintf("<= %-5s %s", target, figure <= target ? "yes" : "NO")
}

# Lost spans in % of all, the worst round.
function lost(program, config, part)
{
	if (!stat_of(program, config, "lost"))
		return "-"
	part = high
	if (!part)
		return "0"
	return sprintf("%.1f%%", 100 * part / median(program, config, "spans"))
}

function title(text)
{
	printf "\n%s\n", text
}

# --- the tables -----------------------------------------------------------------

# Judged by the median: one disturbed round decides nothing.
function cost_row(program, config, name, reference, target, note, least, middle)
{
	if (!stat_of_cost(program, config))
		return
	least = low
	middle = mid
	stat_of_ratio(program, config, reference)
	note = verdict(mid, target)
	printf "%-9s%-34s%7.1f%7.1f  %-5s%7.2f%7.2f%7.2f  %-13s%s\n", program,
		name, least, middle, reference, low, mid, high, note,
		lost(program, config)
}

# The target is for a hot loop, not for the first pass over fresh memory.
function cost_table(program, target)
{
	target = program == "first" ? "" : "1.10"
	if (!stat_of(program, "base", "cpu"))
		return
	stat_of(program, "base", "cpu")
	printf "%-9s%-34s%7.1f%7.1f\n", program, "base (not over anything)",
		low, mid
	cost_row(program, "empty", "empty hooks", "floor", "")
	cost_row(program, "floor", "FLOOR: clock, 16 bytes, twice", "floor", "")
	cost_row(program, "floor_shared", "floor, shared and published",
		"floor", "")
	cost_row(program, "perfrec_block", "perfrec, block", "floor",
		target)
	cost_row(program, "perfrec_drop", "perfrec, drop", "floor", target)
	cost_row(program, "perfrec_stopped", "perfrec, drop, collector stopped",
		"floor", "1.10")
	cost_row(program, "perfrec_compress", "perfrec, block, --compress",
		"floor", "")
	cost_row(program, "perfrec_norseq", "perfrec, block, PERFREC_RSEQ=off",
		"floor", "")
	cost_row(program, "perfrec_excluded", "perfrec, excluded functions",
		"empty", "1.30")
	cost_row(program, "perfrec_muted",
		"perfrec, excluded, whole thread", "empty", "1.30")
	cost_row(program, "perfrec_off", "perfrec, no collector", "empty",
		"1.30")
	cost_row(program, "uftrace", "uftrace record", "floor", "")
	cost_row(program, "lttng", "LTTng-UST fast + vtid", "floor", "")
	print ""
}

function other_row(program, config, name, target, bytes_target, bytes, least)
{
	if (!stat_of(program, config, "other"))
		return
	least = low
	bytes = median(program, config, "bytes")
	stat_of(program, config, "other")
	printf "%-9s%-24s%7.1f%7.1f%7.2f  %-14s%7.1f  %-14s%s\n", program, name,
		least, mid, mid / clock_ns, verdict(mid / clock_ns, target),
		bytes, verdict(bytes, bytes_target), lost(program, config)
}

function other_table(program)
{
	other_row(program, "perfrec_block", "perfrec", "3.0", "25")
	other_row(program, "perfrec_compress", "perfrec --compress", "", "9.5")
	other_row(program, "uftrace", "uftrace record", "", "")
	other_row(program, "lttng", "LTTng-UST fast + vtid", "", "")
}

function memory_row(program, first, second, change)
{
	first = most(program, "memory1", "rss")
	if (!first)
		return
	second = most(program, "memory10", "rss")
	change = 100 * (second - first) / first
	printf "%-9s%12d%12d%10.1f%10.1f%8.1f%%  within 10%% %s\n", program,
		median(program, "memory1", "spans"),
		median(program, "memory10", "spans"), first / 1024,
		second / 1024, change, change <= 10 ? "yes" : "NO"
}

# Added to the median of plain; min beside min.
function start_row(program, config, name, target, plain_low, plain_mid)
{
	stat_of(program, "plain", "start")
	plain_low = low
	plain_mid = mid
	stat_of(program, config, "start")
	printf "%-10s%-34s%9.3f%9.3f%9.3f%9.3f  %s\n", program, name, low / 1e6, mid / 1e6,
		(low - plain_low) / 1e6, (mid - plain_mid) / 1e6,
		verdict((mid - plain_mid) / 1e6, target)
}

function start_table(program)
{
	start_row(program, "plain", "plain", "")
	start_row(program, "no_daemon", "preloaded, no daemon", "0.3")
	start_row(program, "daemon", "preloaded, a daemon listening", "2")
}

# Millions of spans a second, of ns a span.
function rate_row(program, config, name, whole)
{
	if (!stat_of(program, config, "whole"))
		return
	whole = 1e3 / mid
	stat_of(program, config, "wall")
	printf "%-9s%-28s%8.2f%8.2f%8.2f%12.2f  %s\n", substr(program, 8), name,
		1e3 / high, 1e3 / mid, 1e3 / low, whole, lost(program, config)
}

function rate_table(program)
{
	rate_row(program, "perfrec_wait", "perfrec, block")
	rate_row(program, "uftrace", "uftrace record")
	rate_row(program, "lttng_wait", "LTTng-UST fast + vtid, blocking")
}

function lines_row(config, name)
{
	if (stat_of("symbols", config, "whole"))
		printf "%-38s%9.1f%9.1f%9.1f\n", name, low / 1e6, mid / 1e6,
			high / 1e6
}

function lines_table()
{
	if (!stat_of("symbols", "perfrec_lines", "whole"))
		return
	title("Source lines and inlined functions of 10,000 addresses, with " \
		"100 MB of debug information: ms")
	printf "%-38s%9s%9s%9s\n", "", "min", "median", "max"
	lines_row("perfrec_lines", "perfrec, first recording")
	lines_row("perfrec_cached", "perfrec, next recording of a daemon")
	lines_row("addr2line", "addr2line -fi")
	lines_row("llvm_symbolizer", "llvm-symbolizer -f -i")
}

function profile_row(config, name)
{
	stat_of("profile", config, "whole")
	printf "%-38s%9.1f%9.1f%9.1f\n", name, low / 1e6, mid / 1e6, high / 1e6
}

function profile_table()
{
	if (!stat_of("profile", "perfrec_write", "whole"))
		return
	title("A profile of 100,000 distinct stacks: ms")
	printf "%-38s%9s%9s%9s\n", "", "min", "median", "max"
	profile_row("perfrec_add", "merge the trees")
	profile_row("perfrec_write", "write wall.pb.gz")
	stat_of("profile", "perfrec_write", "bytes")
	printf "%-38s%9.0f KiB\n", "its size", mid / 1024
}

# --- JSON -----------------------------------------------------------------------

function json_row(part, metric)
{
	printf "%s\n  {\"program\": \"%s\", \"config\": \"%s\", " \
		"\"metric\": \"%s\", \"samples\": %d, \"min\": %.9g, " \
		"\"median\": %.9g, \"max\": %.9g}", comma, part[1], part[2],
		metric, n, low, mid, high >json
	comma = ","
}

function json_out(i, part)
{
	printf "{\n \"date\": \"%s\",\n \"machine\": \"%s\",\n", fact[1],
		fact[2] >json
	printf " \"cpus\": %d,\n \"kernel\": \"%s\",\n", fact[3], fact[4] >json
	printf " \"clocksource\": \"%s\",\n \"clock_read_ns\": %s,\n",
		fact[5], clock_ns >json
	printf " \"results\": [" >json
	for (i = 1; i <= keys; i++) {
		split(order[i], part, SUBSEP)
		stat_of(part[1], part[2], part[3])
		json_row(part, part[3])
		if (part[3] != "cpu" || part[2] == "base")
			continue
		if (stat_of_ratio(part[1], part[2], "floor"))
			json_row(part, "times_floor")
	}
	printf "\n ]\n}\n" >json
	close(json)
}

function span_tables()
{
	title("Cost of a span, CPU ns of the program's threads over the base; x: " \
		"times the floor,\nor the empty hooks, of the same round; lost: " \
		"spans, the worst round")
	printf "%-9s%-34s%7s%7s  %-5s%7s%7s%7s  %-13s%s\n", "program", "", "min",
		"median", "x of", "min", "median", "max", "target", "lost"
	cost_table("tight")
	cost_table("burst")
	cost_table("first")
	cost_table("fib")
	cost_table("threads2")
	cost_table("lua")
}

function other_tables()
{
	title("Beside the program: CPU ns a span of collector, recorder or " \
		"daemon, until all is on disk;\nx: times one clock read (" \
		clock_ns " ns); bytes a span on disk, as recorded")
	printf "%-9s%-24s%7s%7s%7s  %-14s%7s  %-14s%s\n", "program", "", "min",
		"median", "x", "target", "bytes", "target", "lost"
	other_table("tight")
	other_table("fib")
	other_table("threads2")
	other_table("lua")
}

END {
	while ((getline line <machine) > 0)
		fact[++facts] = line
	clock_ns = fact[6]
	printf "%s; %s, %d CPUs, kernel %s, clock %s; %d rounds\n", fact[1],
		fact[2], fact[3], fact[4], fact[5], fact[7]
	span_tables()
	other_tables()

	title("Memory of the collector, MiB at most (VmHWM, the worst of up to 5), in a " \
		"run and in one ten times as long")
	printf "%-9s%12s%12s%10s%10s%9s\n", "program", "spans", "and", "MiB",
		"and", "change"
	memory_row("fib")
	memory_row("lua")

	title("Start and end of a program, ms: one that has nothing to record, and " \
		"one with one span")
	printf "%-10s%-34s%9s%9s%11s%7s\n", "program", "", "min", "median",
		"added: min", "median"
	start_table("true")
	start_table("one_call")

	title("A full buffer blocks: million spans a second that all threads " \
		"together make;\nwhole: from the tool's start to its end " \
		"(LTTng: without its stop)")
	printf "%-9s%-28s%8s%8s%8s%12s  %s\n", "threads", "", "min", "median",
		"max", "whole", "lost"
	rate_table("threads1")
	rate_table("threads2")
	rate_table("threads4")

	lines_table()
	profile_table()

	if (json != "")
		json_out()
	for (i = 1; i <= keys; i++) {
		split(order[i], part, SUBSEP)
		if (part[3] == "lost" && part[2] ~ /^perfrec_(block|wait|compress)$/)
			blocked += most(part[1], part[2], "lost")
	}
	if (blocked) {
		print "\nbench: perfrec lost spans in block mode" >"/dev/stderr"
		exit 1
	}
}

# SPDX-License-Identifier: Apache-2.0
#
# overhead_top.awk - compares the top functions of a recording with the stacks of a
# sampled run of the plain build:
#
#	awk -F '\t' -f overhead_top.awk TOLD STACKS
#
# TOLD has a line for each function: name, state, calls, recorded calls, self time,
# CPU time by samples. STACKS has a stack on each line, the leaf first. A sample
# counts for the first recorded function of its stack, because a recording shows it
# as self time there; if a part of the calls of a function is recorded, for this part.
# Functions that wait (the share of CPU time in their self time is less than a tenth
# of the share in all, with enough samples to show it) cannot be at the top of a
# sampled run, and are left out.
#
# Prints how many of the first ten agree, the functions that do not, and the ten with
# the most samples of their own, with their figures in the recording.

# Compilers name parts and copies of functions; parameters are not compared.
function short(text) {
	gsub(/\(anonymous namespace\)/, "{anonymous}", text)
	sub(/\(.*/, "", text)
	gsub(/\.(isra|constprop|part|cold|lto_priv)(\.[0-9]+)*/, "", text)
	sub(/^.* (operator)?/, "&", text)
	return text
}
# The ten greatest of values into first[1..10]; how many there are.
function ten(values, first,    name, i, j, count) {
	for (name in values) {
		for (i = count; i > 0 && values[first[i]] < values[name]; i--)
			first[i + 1] = first[i]
		first[i + 1] = name
		count++
		if (count > 10)
			count = 10
	}
	return count
}
FNR == NR {
	one = short($1)
	if (!(one in state))
		state[one] = $2
	else if (state[one] != $2)
		state[one] = "span"
	calls[one] += $3
	recorded[one] += $4
	ns[one] += $5
	cpu[one] += $6
	self += $5
	used += $6
	next
}
{
	samples++
	raw[short($1)]++
	left = 1
	for (i = 1; i <= NF; i++) {
		one = short($i)
		seen[one] = 1
		if (!calls[one] || state[one] == "off")
			continue
		part = left * recorded[one] / calls[one]
		folded[one] += part
		left -= part
	}
	if (left > 0)
		folded["-"] += left
}
END {
	for (one in ns)
		if (ns[one] > 0 && (ns[one] * used / self < 1e8 ||
		    cpu[one] / ns[one] >= used / self / 10))
			busy[one] = ns[one]
	theirs = ten(folded, sampled)
	ours = ten(busy, told)
	for (i = 1; i <= ours; i++)
		is_told[told[i]] = i
	for (i = 1; i <= theirs; i++) {
		if (sampled[i] in is_told)
			agree++
		else
			differ = differ sprintf("    not in ours: %s, %.1f %% of samples, %.1f %% of self time\n",
				sampled[i], 100 * folded[sampled[i]] / samples,
				100 * ns[sampled[i]] / self)
	}
	printf "%s: %s build: %d of the ten at the top of %d samples agree\n",
		name, kind, agree, samples
	printf "%s", differ
	for (i = 1; i <= theirs; i++)
		is_sampled[sampled[i]] = 1
	for (i = 1; i <= ours; i++) {
		one = told[i]
		if (one in is_sampled)
			continue
		what = "inlined in the plain build"
		if (one in seen)
			what = sprintf("%.1f %% of samples",
				100 * folded[one] / samples)
		printf "    only in ours: %s, %.1f %% of self time, %s\n", one,
			100 * ns[one] / self, what
	}
	count = ten(raw, top)
	for (i = 1; i <= count; i++) {
		one = top[i]
		what = one == "-" ? "code of others: in the self time of callers" \
			: !(one in state) ? "inlined, or without hooks" \
			: state[one] == "off" ? "off" \
			: state[one] == "counted" ? "counted, " calls[one] " calls" \
			: sprintf("span, %.1f %% of self time", \
				100 * ns[one] / self)
		printf "    %2d. %5.1f %%  %s: %s\n", i, 100 * raw[one] / samples,
			one, what
	}
}

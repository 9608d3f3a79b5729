# SPDX-License-Identifier: Apache-2.0
#
# metrics.awk - whether a text is in the format of Prometheus, version 0.0.4:
# each metric has a HELP and a TYPE line before its values, in one group, a
# counter ends in _total, a value is a number, no value comes twice. Ends with
# status 1 after a line for each mistake.
function wrong(what)
{
	print FILENAME ":" FNR ": " what ": " $0
	bad = 1
}
/^# HELP / {
	if ($3 in helped)
		wrong("a second HELP")
	helped[$3] = NF > 3
	next
}
/^# TYPE / {
	if (!helped[$3])
		wrong("no HELP before TYPE")
	if ($3 in type)
		wrong("a second TYPE")
	if ($4 != "gauge" && $4 != "counter")
		wrong("another type")
	if (($4 == "counter") != ($3 ~ /_total$/))
		wrong("a counter ends in _total, and nothing else does")
	type[$3] = $4
	last = $3
	next
}
{
	values++
	name = $0
	sub(/[{ ].*/, "", name)
	if (name !~ /^[a-z_:][a-z0-9_:]*$/ || !(name in type))
		wrong("a value of no metric")
	if (name != last)
		wrong("not in its group")
	labels = substr($0, length(name) + 1)
	sub(/ [0-9]+(\.[0-9]+)?$/, "", labels)
	if (labels != "" && labels !~ /^\{[a-z_]+="([^"\\]|\\["\\n])*"(,[a-z_]+="([^"\\]|\\["\\n])*")*\}$/)
		wrong("labels, or the value")
	if ((name labels) in seen)
		wrong("a second value")
	seen[name labels] = 1
}
END {
	if (values < 20) {
		print FILENAME ": only " values + 0 " values"
		bad = 1
	}
	exit bad
}

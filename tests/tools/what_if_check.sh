#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# what_if_check.sh O [KIND...] - compares perfrec what-if 'FUNC -50%' with runs of
# progs/waits/halved whose FUNC really takes half. Prints, for each kind of program and
# each of its functions, the true time and the predicted one, in percent of the whole
# run. Fails if a prediction is off by more than 5 points; 10 if threads had to wait for
# CPUs. A refusal is no error. Programs run with a real-time priority where that is
# permitted, because other programs would change the truth.
set -u
O=$(cd "$1" && pwd)
shift
bad=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
first= second=
if chrt -f 2 true 2>/dev/null; then
	first='chrt -f 2' # of the collector
	second='chrt -f 1' # of the program
fi

# best ARGUMENT...: the shortest of five runs, us.
best()
{
	for _ in 1 2 3 4 5; do
		$second "$O/tests/progs/waits/halved" "$@"
	done | sort -n | head -n 1
}

functions()
{
	case $1 in
	stages) echo read_item parse_item write_item ;;
	lock) echo prepare commit audit ;;
	fork) echo left right serial ;;
	queue) echo produce consume report ;;
	beside) echo main_work side side_too ;;
	cpus) echo hash pack check ;;
	esac
}

[ $# -eq 0 ] && set -- stages lock fork queue beside cpus
printf '%-8s %-12s %8s %10s\n' kind function true predicted
for kind; do
	$first "$O/perfrec" record -q -o "$work/$kind" \
		$second "$O/tests/progs/waits/halved" "$kind" >"$work/recorded" ||
		exit 1
	whole=$(best "$kind")
	for function in $(functions "$kind"); do
		half=$(best "$kind" "$function")
		"$O/perfrec" what-if --json "$function -50%" "$work/$kind" >"$work/json"
		jq -r --arg kind "$kind" --arg function "$function" \
			--argjson whole "$whole" --argjson half "$half" '
			($half / $whole * 100) as $true |
			(if .refused then null else
				.estimate_ns / .run_ns * 100 end) as $predicted |
			(if (.shared_ns + .stolen_ns) * 20 > .on_cpu_ns then 10
				else 5 end) as $most |
			[$kind, $function, ($true * 10 | round / 10),
			(if $predicted then $predicted * 10 | round / 10
				else .refused end),
			(if $predicted and ($predicted - $true | fabs) > $most
				then "off by more than \($most)" else "" end)] |
			@tsv' "$work/json" >"$work/line"
		awk -F '\t' '{ printf "%-8s %-12s %8s %10s  %s\n", $1, $2, $3, $4, $5 }' \
			"$work/line"
		grep -q 'off by' "$work/line" && bad=1
	done
done
exit $bad

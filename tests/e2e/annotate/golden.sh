# SPDX-License-Identifier: Apache-2.0
#
# Programs that annotate themselves: each of docs/examples and of
# tests/golden/annotations gives exactly the trace that its golden text shows
# (tests/tools/README.md, --text; UPDATE_GOLDEN=1 writes them anew), breaks no
# rule, and decodes with Perfetto's own field numbers.
. "$TOP/tests/e2e/lib.sh"

golden=$TOP/tests/golden/annotations

# Lines move when a program is edited, and times are never the same; what
# perfrec itself measures is not part of it, nor is what not every kernel tells.
normal()
{
	sed 's/@\([A-Za-z]*\.c*\):[0-9]*/@\1/
		s/ perfrec\.\(on_cpu\|unknown_sched\)_ns=[0-9]*//g
		s/\( perfrec\.[a-z_]*_ns\)=[0-9]*/\1=N/g' "$1" |
		awk '/^[^ ]/ { own = /\/ (heap: |RSS)/ } !own'
}

# compare SOURCE NAME
compare()
{
	compiler=${CC:-gcc}
	case $1 in
	*.cc)
		compiler=${CXX:-g++}
		;;
	esac
	"$compiler" -g -O1 -I "$TOP/preload" -iquote "$TOP" -o "$2" "$1" \
		-lpthread -lm || fail "cannot compile $1"
	run_ok "$PERFREC" record --on-full=block -o "data-$2" -- "./$2"
	"$O/tests/tools/trace_check" --text "data-$2/trace.pftrace" >"$2.text" ||
		fail "$2: the trace breaks a rule"
	normal "$2.text" >"$2.txt"
	if [ "${UPDATE_GOLDEN:-}" ]; then
		cp "$2.txt" "$golden/$2.txt"
	fi
	diff -u "$golden/$2.txt" "$2.txt" || fail "$2 is not as it was"
}

count=0
for source in "$golden"/*.c; do
	name=${source##*/}
	compare "$source" "${name%.c}"
	count=$((count + 1))
done
[ $count -ge 5 ] || fail "only $count programs"
for source in "$TOP"/docs/examples/*.c "$TOP"/docs/examples/*.cc; do
	name=${source##*/}
	compare "$source" "example-${name%.*}"
done

# Lines of the source, as the golden texts have them not.
line=$(grep -n 'PERFREC_INSTANT("moment"' "$golden/args.c" | cut -d: -f1)
expect_match args.text "moment @args.c:$line "

# The totals count the annotations without sense, and no others.
totals='.totals | "\(.orphan_async_ends) \(.unended_async_slices)'
totals="$totals"' \(.odd_annotations) \(.withheld_annotations)"'
expect_eq "what async did wrong" \
	"$(json data-async/summary.json "$totals")" "2 1 0 0"
expect_eq "what args did wrong" \
	"$(json data-args/summary.json "$totals")" "0 0 0 0"

# Busy, idle and all time of asynchronous slices, by name.
expect_eq "what stays did wrong" \
	"$(json data-stays/summary.json .totals.odd_async_stays)" 3
expect_eq "names of asynchronous slices" "$(json data-stays/summary.json '
	[.async[] | "\(.name):\(.count):\(.entered)"] | sort | join(" ")')" \
	"ended by another:1:1 never entered:1:0 task:1:1"
expect_eq "times of asynchronous slices that cannot be" \
	"$(json data-stays/summary.json '[.async[] |
		select(.idle_ns > .total_ns or
			.busy_ns + .idle_ns < .total_ns or
			.on_cpu_ns + .unknown_sched_ns > .busy_ns or
			(.entered == 0 and .busy_ns > 0) or
			(.entered > 0 and .busy_ns == 0))] | length')" 0
"$PERFREC" report data-stays >report.txt || fail "no report"
expect_match report.txt 'count +total +busy +on CPU +idle  asynchronous slice'
expect_match report.txt '^ +1 .* - +- +-  never entered$'

# Annotated slices are in the tree, the summary and the profile as functions
# are, under a module of their own.
expect_eq "calls of request" "$(json data-args/summary.json '
	.functions[] | select(.name == "request") | "\(.module) \(.calls)"')" \
	"annotation 3"

# A long name is in the trace once, and Perfetto's own field numbers say what
# the text says.
expect_eq "the long name" \
	"$(grep -c "want to repeat" data-perfetto/trace.pftrace)" 1
if command -v protoc >/dev/null; then
	protoc --decode=perfetto.protos.Trace -I "$TOP/proto" \
		"$TOP/proto/perfetto_trace.proto" <data-perfetto/trace.pftrace \
		>decoded || fail "protoc cannot decode the trace"
	expect_eq "flows" "$(grep -c 'flow_ids: 1055895987$' decoded)" 3
	expect_eq "values" "$(sed -n 's/^ *counter_value: //p' decoded |
		grep -E -c '^(34567|67890|12345)$')" 4
	expect_eq "orders" "$(grep -c 'child_ordering: ' decoded)" 3
fi

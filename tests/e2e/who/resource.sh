# SPDX-License-Identifier: Apache-2.0
#
# The resource of a program comes from its environment, from the context that it
# publishes in its memory (OTEP 4719), or else from its name. summary.json, the
# trace, profiles and reports have it.
. "$TOP/tests/e2e/lib.sh"
. "$TOP/tests/e2e/lib/daemon.sh"

publishes=$O/tests/progs/who/publishes
unset OTEL_SERVICE_NAME OTEL_RESOURCE_ATTRIBUTES KUBERNETES_SERVICE_HOST \
	POD_NAME K8S_POD_NAME

# resource FOLDER: the resource of a recording, without the attributes that depend
# on the machine.
resource()
{
	json "$1/summary.json" '.resource | del(.["host.name"],
		.["process.executable.build_id.gnu"], .["container.id"],
		.["process.executable.name"]) | tostring'
}

# Nobody says anything.
build_calls
"$PERFREC" record -q -o plain ./calls 10
expect_eq plain "$(resource plain)" '{"service.name":"calls"}'
expect_eq 'name of the host' \
	"$(json plain/summary.json '.resource["host.name"]')" "$(uname -n)"
"$PERFREC" report plain >out
expect_no_match out 'as service'

# The environment counts even if the program ends before the collector looks.
OTEL_SERVICE_NAME=checkout OTEL_RESOURCE_ATTRIBUTES='service.name=no,a=1%2C2,bad' \
	"$PERFREC" record -q -o told ./calls 10
expect_eq told "$(resource told)" '{"service.name":"checkout","a":"1,2"}'
"$PERFREC" report told >out
expect_match out 'as service checkout' '1 of the attributes in OTEL_RESOURCE_ATTR'
"$PERFREC" report --json --view span told >out
expect_match out '"service: checkout"'

good='{"service.name":"published","service.version":"published","test.bool":"true","test.int":"42"}'
# publish WHAT REGEX [ANONYMOUS]: runs a program that publishes WHAT, until the
# collector's log matches REGEX. ID in it stands for the program's id.
publish()
{
	rm -rf go go.now data/publishes-*
	PERFREC_QUIET=1 LD_PRELOAD=$SHIM "$publishes" "$1" go ${3:+"$3"} &
	program=$!
	wait_for 60 grep -q "process $program: " collect.log
	touch go.now
	wait_for 60 grep -qE "$(echo "$2" | sed "s/ID/$program/")" collect.log
	touch go
	wait $program || fail "publishes $1: status $?"
	wait_for 60 has_summary publishes
	resource=$(resource data/publishes-*)
}

start_daemon --log debug
published='process ID: [1-9][0-9]* bytes of context'
for what in good later; do
	publish $what "$published"
	expect_eq $what "$resource" "$good"
done
"$O/tests/tools/trace_check" data/publishes-*/trace.pftrace ||
	fail 'the trace is wrong'
# Not every kernel has names for anonymous mappings (CONFIG_ANON_VMA_NAME).
touch go
if "$publishes" good go anonymous; then
	publish good "$published" anonymous
	expect_eq anonymous "$resource" "$good"
fi
OTEL_RESOURCE_ATTRIBUTES=service.name=mine publish good "$published"
expect_eq 'the environment comes first' "$(json data/publishes-*/summary.json \
	'.resource["service.name", "service.version"]' | tr '\n' ' ')" \
	'mine published '

# Programs that publish nonsense are called by their names.
for what in huge unmapped short; do
	: >collect.log
	publish $what "'publishes' publishes for profilers .* is malformed"
	expect_eq $what "$resource" '{"service.name":"publishes"}'
done
publish version 'process ID: 0 bytes'
expect_eq version "$resource" '{"service.name":"publishes"}'
publish junk "$published"
expect_eq junk "$resource" '{"service.name":"publishes"}'

# A context that changes all the time is read whole, or not at all.
publish changing 'process ID: '
case $resource in
*'"service.name":"even-even","service.version":"even-even"'*) ;;
*'"service.name":"odd-odd-odd","service.version":"odd-odd-odd"'*) ;;
'{"service.name":"publishes"}') ;;
*) fail "changing: $resource" ;;
esac
stop_daemon

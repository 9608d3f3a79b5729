# SPDX-License-Identifier: Apache-2.0
# timeout: 3000
# long: repairs the trace of each killed collector
#
# Collectors and programs are killed when their traces have random sizes: trace and
# index agree up to their ends, and the next command repairs them and names the
# missing parts. KILLS is the number of rounds; make check-kill makes 100.
. "$TOP/tests/e2e/lib.sh"
need python3

prog trace/many
seed=${SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
echo "seed $seed"
python3 "$TOP/tests/tools/kill_collector.py" --count "${KILLS:-8}" \
	--seed "$seed" "$O" ./many 3 || fail 'see above'

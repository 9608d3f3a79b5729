# SPDX-License-Identifier: Apache-2.0
#
# scripts/check-subjects.sh checks the subjects of the commits that are newer than
# the script itself, or those of a range.
. "$TOP/tests/e2e/lib.sh"
need git

mkdir repository
cd repository || fail 'no folder'
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x \
	GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x
commit()
{
	git commit -q --allow-empty -m "$1" || fail "no commit: $1"
}
git init -q .
commit 'Older than the rule.'
cp "$TOP/scripts/check-subjects.sh" .
git add check-subjects.sh
commit 'This one adds the rule'
run_ok sh check-subjects.sh

commit 'ring: need one word less'
commit 'push, spool: compress windows of 15 s'
commit 'collector/base: bring .clang-format up to date'
run_ok sh check-subjects.sh
run sh check-subjects.sh HEAD~4..
expect_status 1
expect_match err '^[0-9a-f]* This one adds the rule: '
run sh check-subjects.sh HEAD~5..
expect_status 128

# refused SUBJECT WHY
refused()
{
	commit "$1"
	run sh check-subjects.sh HEAD~1
	expect_status 1
	expect_match err "^[0-9a-f]* $1: .*$2"
	git reset -q --hard HEAD~1
}
refused 'Lower the limits' 'begin'
refused 'lint: Lower the limits' 'begin'
refused 'lint: lower the limits.' 'full stop'
refused 'lint: lowered the limits' 'no imperative'
refused 'lint: lowers the limits' 'no imperative'
refused 'lint: lowering the limits' 'no imperative'
refused 'lint: lower the limits of all folders in the tree that are rewritten today' \
	'has 74 characters'

# SPDX-License-Identifier: Apache-2.0
#
# check-rooms.awk - reads the lines that check-rooms.sh makes and says which
# break the ranks and wings, and which modules form a circle. With graph=--graph, prints
# the rooms that each room uses instead.
#
#	room TREE RANK ROOM [WING]
#	include FILE HEADER
#	defines MODULE SYMBOL
#	calls MODULE SYMBOL

# The module of a file: its path without the ending and the machine, which may be a folder.
function module_of(file)
{
	sub(/\.[chS]$/, "", file)
	sub(/_(x86_64|aarch64)$/, "", file)
	sub(/\/(x86_64|aarch64)\//, "/", file)
	return file
}

function room_of(path)
{
	match(path, /^[a-z]+\/[a-z]+/)
	return substr(path, 1, RLENGTH)
}

# Notes that file @from uses module @to, by @how.
function uses(from, to, how,    key)
{
	key = from SUBSEP to
	if (from == to || key in edge)
		return
	edge[key] = how
}

function may_use(from, to,    a, b)
{
	a = room_of(from)
	b = room_of(to)
	if (a == b)
		return 1
	if (!(a in rank) || !(b in rank) || rank[b] >= rank[a])
		return 0
	return !(is_top[wing[a]] && is_top[wing[b]] && wing[a] != wing[b])
}

BEGIN { is_top["record"] = is_top["view"] = 1 }
$1 == "room" {
	room = $2 "/" $4
	rank[room] = $3
	wing[room] = $5
	order[++rooms] = room
}
$1 == "include" {
	from = module_of($2)
	to = module_of($3)
	if ($3 ~ /_inner\.h$/) {
		if (room_of($2) != room_of($3))
			strange[++n_strange] = $2 " includes " $3
		sub(/_inner$/, "", to)
		part[from] = to
		part[to "_inner"] = to
	}
	include[++n_includes] = from SUBSEP to SUBSEP $2 " includes " $3
}
$1 == "defines" { home[$3] = module_of($2) }
$1 == "calls" { call[++n_calls] = module_of($2) SUBSEP $3 }

# The whole that module @module is a part of.
function whole(module)
{
	return module in part ? part[module] : module
}

# Walks from @module along edges between the modules left, until it meets one
# again; prints this circle and takes it out of left[].
function print_circle(module,    at, path, i, next_one)
{
	for (at = 1; !(module in seen); at++) {
		seen[module] = at
		path[at] = module
		next_one = ""
		for (i in edge) {
			split(i, pair, SUBSEP)
			if (pair[1] == module && pair[2] in left &&
			    (next_one == "" || pair[2] < next_one))
				next_one = pair[2]
		}
		module = next_one
	}
	print "a circle of modules:"
	for (i = seen[module]; i < at; i++) {
		next_one = i + 1 < at ? path[i + 1] : module
		print "    " path[i] " -> " next_one " (" \
			edge[path[i], next_one] ")"
		delete left[path[i]]
	}
	split("", seen)
}

# Removes modules from left[] that use no other module there, and modules that
# no other uses, until the rest lies on a circle, or between two circles.
# Returns a module of the rest, or "" if there is none.
function one_on_a_circle(    i, key, changed, out, in_)
{
	do {
		changed = 0
		split("", out)
		split("", in_)
		for (key in edge) {
			split(key, pair, SUBSEP)
			if (pair[1] in left && pair[2] in left) {
				out[pair[1]]
				in_[pair[2]]
			}
		}
		for (i in left)
			if (!(i in out) || !(i in in_)) {
				delete left[i]
				changed = 1
			}
	} while (changed)
	for (i in left)
		return i
	return ""
}

function print_graph(    i, j, key, used)
{
	for (key in edge) {
		split(key, pair, SUBSEP)
		used[room_of(pair[1]), room_of(pair[2])]
	}
	for (i = 1; i <= rooms; i++) {
		printf "%2d %s:", rank[order[i]], order[i]
		for (j = 1; j <= rooms; j++)
			if (i != j && (order[i], order[j]) in used)
				printf " %s", substr(order[j], index(order[j], "/") + 1)
		print ""
	}
}

END {
	for (i = 1; i <= n_includes; i++) {
		split(include[i], w, SUBSEP)
		if (!may_use(w[1], w[2]))
			wrong[++n_wrong] = w[3]
		uses(whole(w[1]), whole(w[2]), w[3])
	}
	for (i = 1; i <= n_calls; i++) {
		split(call[i], w, SUBSEP)
		if (!(w[2] in home) || room_of(w[1]) == "" ||
		    substr(w[1], 1, 4) != substr(home[w[2]], 1, 4))
			continue
		if (!may_use(w[1], home[w[2]]))
			wrong[++n_wrong] = w[1] " uses " w[2] " of " home[w[2]]
		uses(whole(w[1]), whole(home[w[2]]), w[1] " uses " w[2])
	}
	if (graph) {
		print_graph()
		exit 0
	}
	for (i = 1; i <= n_wrong; i++)
		print "against the ranks or wings of scripts/rooms.txt: " wrong[i]
	for (i = 1; i <= n_strange; i++)
		print "seen by its own room only: " strange[i]
	for (key in edge) {
		split(key, pair, SUBSEP)
		left[pair[1]]
		left[pair[2]]
	}
	while ((module = one_on_a_circle()) != "") {
		print_circle(module)
		circles++
	}
	exit n_wrong > 0 || n_strange > 0 || circles > 0
}

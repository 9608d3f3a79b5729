# SPDX-License-Identifier: Apache-2.0
#
# stacks.sh - pprof files as tables, by protoc and awk alone.

# profile_stacks FILE: for each sample its values, then its functions from the
# outermost in, with ";" between; sorted. Samples of one stack are one line.
profile_stacks()
{
	gunzip -c "$1" | protoc --decode=perftools.profiles.Profile \
		-I "$TOP/proto" profile.proto >stacks.text ||
		fail "protoc cannot decode $1"
	awk '
	/^[a-z_]+ \{$/ { what = $1; delete field; nodes = values = 0; next }
	/^string_table:/ {
		sub(/^string_table: "/, ""); sub(/"$/, "")
		strings[count++] = $0
		next
	}
	what == "sample" && $1 == "location_id:" { node[nodes++] = $2 }
	what == "sample" && $1 == "value:" { value[values++] = $2 }
	/^  [a-z_]+:/ { field[$1] = $2 }
	what == "location" && $1 == "function_id:" { field["function"] = $2 }
	/^}$/ && what == "sample" {
		samples++
		depth[samples] = nodes
		width[samples] = values
		for (i = 0; i < nodes; i++)
			path[samples, i] = node[i]
		for (i = 0; i < values; i++)
			worth[samples, i] = value[i]
	}
	/^}$/ && what == "location" { of[field["id:"]] = field["function"] }
	/^}$/ && what == "function" { name[field["id:"]] = field["name:"] }
	END {
		for (n = 1; n <= samples; n++) {
			text = ""
			for (i = depth[n] - 1; i >= 0; i--)
				text = text (text == "" ? "" : ";") \
					strings[name[of[path[n, i]]] + 0]
			seen[text] = width[n]
			for (i = 0; i < width[n]; i++)
				sum[text, i] += worth[n, i]
		}
		for (text in seen) {
			line = ""
			for (i = 0; i < seen[text]; i++)
				line = line sprintf("%.0f ", sum[text, i])
			print line text
		}
	}' stacks.text | LC_ALL=C sort
}

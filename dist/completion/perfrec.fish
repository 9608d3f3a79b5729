# SPDX-License-Identifier: Apache-2.0
#
# Completion of perfrec and perfrec-collect for fish. The lines are made of
# collector/options/opts.def (scripts/completion.awk).

# Folders that hold a recording, and all others if there are none.
function __perfrec_recordings
	set -l all (__fish_complete_directories (commandline -ct) '')
	set -l found
	for folder in $all
		test -e (string trim $folder)/summary.json; and set -a found $folder
	end
	set -q found[1]; and printf '%s\n' $found; or printf '%s\n' $all
end

# Patterns for the functions of the recording that the line names.
function __perfrec_functions
	perfrec __complete functions (commandline -opc) 2>/dev/null
end

#@LINES@

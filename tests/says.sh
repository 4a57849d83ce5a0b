# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# says [GREP-OPTION...] PATTERN: is it in the standard input? All of it is read: a `grep -q` would leave at the first
# match, and under pipefail the writer that it cuts off has failed.
says()
{
	local lines
	lines=$(grep -c "$@")
}

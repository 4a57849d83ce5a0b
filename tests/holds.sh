# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

# holds EXPRESSION: is it true of the JSON in the standard input? That is j in it, and the language is Python's.
holds()
{
	python3 -c 'import json,sys
j=json.load(sys.stdin)
sys.exit(not eval(sys.argv[1]))' "$1" || { echo "not true: $1" >&2; return 1; }
}

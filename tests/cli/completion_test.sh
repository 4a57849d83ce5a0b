#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Completions, as they are installed, in the shells themselves; see completion_test.py.

set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$MORPH_BUILD" --prefix "$work/prefix" >"$work/log" || exit 1
python3 "$MORPH_SOURCE/tests/cli/completion_test.py" "$MORPH_SOURCE" "$work/prefix/bin/morph" "$work/prefix" bash zsh fish

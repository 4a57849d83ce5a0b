#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What runs with privileges loads no library but those listed here: whoever adds one has to say so.
set -euo pipefail

# loads_only PROGRAM LIBRARY...: beside libc, libm and what sanitizers bring
loads_only()
{
	local program=$1 library

	shift
	for library in $(readelf -d "$MORPH_BIN/$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\.so.*/\1/p'); do
		case " libc libm libasan libubsan libtsan $* " in
		*" $library "*) ;;
		*)
			echo "$program loads $library, which is not among: $*" >&2
			return 1
			;;
		esac
	done
}

loads_only morph-monitor libbpf libsystemd libz
loads_only morph-mount libcrypto libsystemd libxxhash libz
loads_only morph-worker libseccomp
loads_only morphd libcrypto libsqlite3 libsystemd libxxhash libz

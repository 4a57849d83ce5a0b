# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/programs/workload.sh says what these are

workload_title="CPython 3.11 (a large instruction footprint)"
workload_source=python3.11
workload_binaries=(bin/python3.11)
workload_count_percent=3
workload_patches=no

# The interpreter, with the modules that the scripts use as parts of it: others would be files of their own.
workload_build()
{
	./configure --prefix="$1" --without-ensurepip --without-doc-strings --with-platlibdir=lib OPT="$CFLAGS" CC="$CC" AR="$AR" \
		CFLAGS= LDFLAGS="$LDFLAGS"
	cat >Modules/Setup.local <<-END
		*static*
		_bisect _bisectmodule.c
		_csv _csv.c
		_datetime _datetimemodule.c
		_heapq _heapqmodule.c
		_json _json.c
		_pickle _pickle.c
		_random _randommodule.c
		_statistics _statisticsmodule.c
		_struct _struct.c
		array arraymodule.c
		binascii binascii.c
		math mathmodule.c
		_sha512 sha512module.c
	END
	make -j "$JOBS" python
	install -D python "$1/bin/python3.11"
	mkdir -p "$1/lib/python3.11/lib-dynload"
	tar -C Lib --exclude=test --exclude=tests --exclude=idlelib --exclude=lib2to3 --exclude=tkinter -c . |
		tar -C "$1/lib/python3.11" -x
	"$1/bin/python3.11" -I -m compileall -q -l "$1"/lib/python3.11{,/json,/collections,/encodings,/re,/importlib}
}

workload_script()
{
	printf 'PYTHONHASHSEED=0 $RUN bin/python3.11 -B -S -s %s %d\n' "$MORPH_ROOT/bench/programs/workloads/python3.11/$1.py" "$2"
}

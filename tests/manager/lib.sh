# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# lib.sh - a morphd of one's own in a temporary directory, for the manager's script tests. Sourced.
#
# $dir holds everything; $dir/root/usr/bin/prog is "installed". `morphd_start [OPTION...]` waits until
# it answers; every process that was started is stopped at the end.

set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../says.sh"
export LC_ALL=C
: "${MORPH_BIN:?}" "${MORPH_PROGRAMS:?}"

if [ "$(id -u)" != 0 ]; then
	echo "skipped: needs root, to install programs as root and run the editor as another user"
	exit 77
fi

# Not in /tmp: morphd touches no program below a directory that others may write to.
dir=$(mktemp -d /var/lib/morph-test.XXXXXX)
chmod 755 "$dir"
prog=$dir/bin/prog
pids=()

finish()
{
	local status=$?

	for pid in "${pids[@]}"; do
		kill -9 "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	[ "$status" = 0 ] || { sed 's/^/morphd: /' "$dir/morphd.log" >&2 || true; }
	awk -v dir="$dir/" 'index($5, dir) == 1 { print $5 }' /proc/self/mountinfo | tac | xargs -r -n 1 umount -l || true
	rm -rf "$dir"
}
trap finish EXIT

fail()
{
	echo "FAILED: $*" >&2
	exit 1
}

# install a program with an owner, a mode and a time that are easy to tell from defaults
prog_install()
{
	mkdir -p "$dir/bin"
	cp "$MORPH_PROGRAMS/${1:-shipped}" "$prog.new"
	chown 0:12 "$prog.new"
	chmod 0751 "$prog.new"
	touch -d '2001-02-03 04:05:06.789' "$prog.new"
	mv "$prog.new" "$prog"
}

prog_is()
{
	cmp -s "$prog" "$MORPH_PROGRAMS/$1"
}

prog_stat()
{
	stat -c '%u:%g %a %y' "$prog"
}

config_write()
{
	mkdir -p "$dir/spool" "$dir/tools"
	cp "$MORPH_PROGRAMS"/* "$dir/tools/"
	cat >"$dir/morphd.conf" <<-END
		state_directory = ${state:-$dir/state}
		spool_directory = $dir/spool
		runtime_directory = $dir/run
		profile_command = ${profile_command:-touch {profile\}}
		editor_command = ${editor_command:-cp $dir/tools/made {output\}}
		worker_users = 61184-65519
		worker_socket = /nonexistent
		edit_memory = 0
		minimum_samples = 1000
		minimum_free = 0
		edit_interval = 0
		idle_pressure = 100
		idle_load = 1000
		automatic = ${automatic:-no}
		prefixes = ${prefixes:-$dir /usr /bin}
		decide_interval = 1
		idle_session = no
	END
}

# The same with morphd's own commands, which run as user nobody: the test is skipped where that user reaches nothing.
real_config_write()
{
	setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$MORPH_BIN/morph" ||
		{ echo "skipped: user nobody cannot reach $MORPH_BIN"; exit 77; }
	export ASAN_OPTIONS=detect_leaks=0

	config_write
	# The default commands, but for a memory limit that AddressSanitizer's shadow would break.
	sed -i '/^profile_command = /d; /^editor_command = /d' "$dir/morphd.conf"
	"$MORPH_BIN/morphd" --check-config --config="$dir/morphd.conf" |
		sed -n 's/^\(editor_command = .*\)/\1 --memory 0/p' >>"$dir/morphd.conf"
}

export MORPH_SOCKET=$dir/run/socket

morphd_start()
{
	"$MORPH_BIN/morphd" --config="$dir/morphd.conf" --bus=none "$@" >>"$dir/morphd.log" 2>&1 &
	morphd=$!
	pids+=("$morphd")
	morphd_wait
}

# morphd_wait [COMMAND]: until morphd answers COMMAND, which is `morph` where none is given
morphd_wait()
{
	for _ in $(seq 1200); do
		if "${1:-morph}" status >/dev/null 2>&1; then return; fi
		kill -0 "$morphd" 2>/dev/null || fail "morphd ended: $(tail -1 "$dir/morphd.log")"
		sleep 0.05
	done
	fail "morphd does not answer"
}

morphd_stop()
{
	kill -TERM "$morphd"
	wait "$morphd" || fail "morphd ended with status $?"
}

morph()
{
	"$MORPH_BIN/morph" "$@"
}

# sampled COUNT [BUILD]: a spool file that says so, named in order, and wait until it was taken
spooled=0
sampled()
{
	spooled=$((spooled + 1))
	"$MORPH_BIN/manager-samples" "$dir/part" "$MORPH_PROGRAMS/${2:-shipped}" "$prog" "$1" "$spooled"
	mv "$dir/part" "$dir/spool/$(printf %06d "$spooled").samples"
	spool_wait
}

spool_wait()
{
	for _ in $(seq 1200); do
		if ! compgen -G "$dir/spool/*.samples" >/dev/null; then return; fi
		sleep 0.05
	done
	fail "the spool is not taken: $(ls "$dir/spool")"
}

# real_program: tests/programs/vm, built by morph cc, is what stands at $prog
real_program()
{
	sources=$MORPH_SOURCE/tests/programs/vm
	mkdir -p "$dir/bin"
	(cd "$dir/tools" && morph cc -O2 -o vm "$sources/vm.c" "$sources/main.c")
	cp "$dir/tools/vm" "$prog"
}

# trained NUMBER [STEPS]: $prog runs under `morph record`, and morphd counts it. Another run, where a busy machine let a short one
# end before a sample was taken.
trained()
{
	for try in 1 2 3 4 5; do
		morph record --files -F 4000 -o "$dir/spool/.$1" -- "$prog" "${2:-3000000}" 4 >"$dir/recorded" 2>&1
		mv "$dir/spool/.$1" "$dir/spool/$1-$try.samples"
		spool_wait
		if [ "$(json status '[.modules[].new_samples] | add // 0')" -gt 0 ]; then return; fi
	done
	fail "morphd has no samples of five runs: $(cat "$dir/recorded")"
}

# json VERB FILTER ARGUMENT...: one value of a verb's --json
json()
{
	local verb=$1 filter=$2

	shift 2
	morph "$verb" --json "$@" | jq -r "$filter"
}

# is WHAT EXPECTED ACTUAL
is()
{
	[ "$2" = "$3" ] || fail "$1: $3, not $2"
}

# within SECONDS COMMAND...: does it succeed in that time? Asking costs CPU time that others wait for: after a while it asks less often.
within()
{
	local end=$((SECONDS + $1)) pauses=0

	shift
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || return 1
		pauses=$((pauses + 1))
		if [ "$pauses" -lt 10 ]; then sleep 0.05; else sleep 0.2; fi
	done
}

# eventually COMMAND...: within a minute
eventually()
{
	within 60 "$@" || fail "never: $*"
}

# refused PATTERN COMMAND...: exit 1, one line on standard error that matches
refused()
{
	local pattern=$1 status=0

	shift
	"$@" >"$dir/out" 2>"$dir/err" || status=$?
	is "exit status of $*" 1 "$status"
	is "lines of error of $*" 1 "$(wc -l <"$dir/err")"
	grep -q -- "$pattern" "$dir/err" || fail "$*: says \"$(cat "$dir/err")\", not $pattern"
}

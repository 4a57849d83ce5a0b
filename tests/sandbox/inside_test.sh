#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program whose self-test attacks (attacker.c) is edited: by root, with victims that are root's, and by a user, with
# victims that are that user's own, also where the kernel makes no user namespaces. Inside, each attack says whether the kernel let it; here, the victims are looked at.

set -uo pipefail
: "${MORPH_BIN:?}" "${MORPH_SOURCE:?}"
. "$MORPH_SOURCE/tests/attack.sh"
morph=$MORPH_BIN/morph
option=${MORPH_SELFTEST_OPTION---selftest}
export ASAN_OPTIONS=detect_leaks=0

[ "$(id -u)" = 0 ] || { echo "skipped: needs root, to be root and a user"; exit 77; }
user=60770
setpriv --reuid=$user --regid=$user --clear-groups test -x "$morph" ||
	{ echo "skipped: user $user cannot reach $MORPH_BIN"; exit 77; }
dir=$(mktemp -d /var/tmp/morph-inside.XXXXXX)
pids=()
finish()
{
	for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null; done
	rm -rf "$dir" /tmp/morph-attack-left /var/tmp/morph-attack-left /dev/shm/morph-attack-left
}
trap finish EXIT
chmod 755 "$dir"

fail() { echo "FAILED: $*" >&2; exit 1; }

# as WHO COMMAND...
as()
{
	local who=$1
	shift
	case $who in
	root) "$@" ;;
	user) setpriv --reuid=$user --regid=$user --clear-groups -- "$@" ;;
	# In a changed root the kernel makes no user namespaces. The mount goes with its namespace.
	chroot) unshare -m --propagation private sh -c 'mount --rbind / /mnt && exec chroot --userspec='$user:$user' /mnt "$@"' sh "$@" ;;
	esac
}

# victims_make WHO: $place with files, $victim a process
victims_make()
{
	place=$dir/$1
	mkdir -p "$place/victims" "$place/tmp"
	echo "do not lose this" >"$place/victims/kept"
	echo "nobody else may read this" >"$place/victims/private"
	echo "still here" >"$place/victims/gone"
	chmod 0644 "$place/victims/kept"
	chmod 0600 "$place/victims/private"
	touch -d '2001-02-03 04:05:06' "$place/victims/"*
	[ "$1" = root ] || chown -R $user:$user "$place"
	as "$1" setfattr -n user.mark -v x "$place/victims/kept" 2>/dev/null
	: >"$place/signals"
	[ "$1" = root ] || chown $user:$user "$place/signals"
	as "$1" bash -c 'trap "echo hit >>$1" USR1; echo $$ >$1.pid; while :; do sleep 0.2; done' victim "$place/signals" \
		>/dev/null 2>&1 &
	until [ -s "$place/signals.pid" ]; do sleep 0.1; done
	victim=$(cat "$place/signals.pid")
	pids+=("$victim")
}

victims_state()
{
	(cd "$place" && stat -c '%n %s %a %u:%g %Y' victims victims/* && cat victims/* && renice_of)
}

renice_of()
{
	local stat
	read -r stat <"/proc/$victim/stat"
	echo "nice $(echo "${stat##*) }" | cut -d' ' -f17) affinity $(taskset -p "$victim" | sed 's/.*: //') core $(awk '/core/ { print $6 }' "/proc/$victim/limits")"
}

# program_make WHO: $place/attacker with the self-test, and its profile
program_make()
{
	"$morph" cc -O2 --morph-selftest="\"\$PROGRAM\" '$place/victims' $victim" -o "$place/attacker" \
		"$MORPH_SOURCE/tests/sandbox/attacker.c" || fail "attacker.c does not build"
	"$morph" record -F 2000 -o "$place/samples" -- "$place/attacker" 200000000 >/dev/null 2>&1
	"$morph" profile "$place/attacker" "$place/samples" -o "$place/profile" >/dev/null || fail "no profile"
	[ "$1" = root ] || chown -R $user:$user "$place/attacker" "$place/profile"
}

# edit WHO OUT [OPTION...]: on a terminal of its own, with three descriptors that nobody closed
edit()
{
	local who=$1 out=$2 command
	shift 2
	command="cd '$place' && TMPDIR='$place/tmp' '$morph' optimize attacker --profile profile -o new $* 2>&1"
	as "$who" script -qec "$command 7<&0" /dev/null 8>>"$place/victims/kept" 9<"$place/victims/private" </dev/null >"$out" 2>&1
}

outlived() { grep -l "^left-$victim\$" /proc/[0-9]*/comm 2>/dev/null; }
has_not() { ! grep -q "$@"; }
is_empty() { [ -z "$(ls -A "$1")" ]; }

attacks_of()
{
	local who=$1 line i=0 before name held
	victims_make "$who"
	program_make "$who"
	before=$(victims_state)
	edit "$who" "$place/log" "$option"
	line=$(grep -o '[hS]\{50,\}' "$place/log" | head -n 1)
	[ -n "$line" ] || fail "as $who, the self-test said nothing: $(tail -n 5 "$place/log")"
	[ "${#line}" = "$("$place/attacker" | wc -l)" ] || fail "as $who, ${#line} results: $(cat "$place/log")"
	while read -r name; do
		held=false
		[ "${line:i:1}" = S ] || held=true
		case $name in
		outlive) [ -z "$(outlived)" ] || held=false ;;
		kill | tgkill | sigqueue | pidfd-signal) [ ! -s "$place/signals" ] || held=false ;;
		deep-tree | closed-directory) is_empty "$place/tmp" || held=false ;;
		# Without namespaces, /proc shows what it shows to everybody (sandbox_gaps() says so).
		proc-cmdline) if [ "$who" = chroot ]; then i=$((i + 1)); continue; fi ;;
		tiocsti) [ ! -e "$place/typed" ] || held=false ;;
		esac
		attack_held "sandbox-$name-as-$who" $held
		i=$((i + 1))
	done < <("$place/attacker")
	victims_state >"$place/after"
	attack_held "sandbox-victims-as-$who" diff <(echo "$before") "$place/after"
	attack_held "sandbox-escape-sequence-as-$who" has_not $'\033]0;attacked' "$place/log"
	for pid in $(outlived | cut -d/ -f3); do kill -9 "$pid"; done
	chmod -R u+rwx "$place/tmp" 2>/dev/null
	rm -rf "$place/tmp"/* /tmp/morph-attack-left /var/tmp/morph-attack-left /dev/shm/morph-attack-left
}

attacks_of root
attacks_of user
attacks_of chroot

# A program that is not root's says what to do, and does not do it, until it is told to.
: >"$place/signals"
unasked()
{
	edit user "$place/log" && [ -s "$place/new" ] && ! grep -q '[hS]\{50,\}' "$place/log" && grep -q -e '--selftest' "$place/log"
}
attack_held sandbox-selftest-unasked unasked
attacks_end

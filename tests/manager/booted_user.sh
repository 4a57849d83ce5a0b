#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Run by systemd in the machine that user_test.sh boots. /result gets a line for everything that is not so, and "done".

set -u
exec >/booted.log 2>&1
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 ASAN_OPTIONS=detect_leaks=0
trap 'echo done >>/result' EXIT
home=/home/walker prog=/home/walker/.local/bin/vm run=/run/user/4711 shadow=/run/user/4711/morph/bin

fail()
{
	printf '%s\n' "$*" >>/result
	journalctl -b --no-pager -n 80 _UID=4711
	own status -a
	exit 1
}

# eventually COMMAND...: within a minute
eventually()
{
	for _ in $(seq 300); do
		if "$@" >/dev/null 2>&1; then return; fi
		sleep 0.2
	done
	fail "never: $*"
}

as()
{
	setpriv --reuid=4711 --regid=4711 --clear-groups env -i HOME=$home XDG_RUNTIME_DIR=$run ASAN_OPTIONS=detect_leaks=0 \
		PATH="$shadow:$home/.local/bin:/usr/bin:/bin" "$@"
}

own()
{
	as "$MORPH_BIN/morph" --user "$@"
}

systemctl start morphd user@4711.service || fail "the user's systemd does not start: $(systemctl status user@4711)"
eventually as systemctl --user is-system-running --wait
as systemctl --user start morphd morph-monitor || fail "they do not start: $(as systemctl --user status morphd morph-monitor)"
before=$(stat -c '%i %Y %Z %s' $prog)
expected=$(as vm 3000 2)
root_before=$(cd /var/lib/morph && find . -type f ! -name 'state.db*' | sort | xargs -r sha256sum)

# ---- used, and nothing asked. A monitor without privilege finds processes by and by, and has what they start from then on.
# A shell that has run a program goes on with where it found it, unless told otherwise.
as bash -c "while :; do hash -r; vm 300000 4; done" >/dev/null 2>&1 &
work()
{
	[ -L $shadow/vm ] && [ "$(as readlink -f $shadow/vm)" != $prog ]
}
eventually work
[ "$(as bash -c 'command -v vm')" = $shadow/vm ] || fail "vm is $(as bash -c 'command -v vm')"
[ "$(as vm 3000 2)" = "$expected" ] || fail "its output"
[ "$(stat -c '%i %Y %Z %s' $prog)" = "$before" ] || fail "the program's own file changed"
case $(stat -c %U "$(readlink -f $shadow/vm)") in walker) ;; *) fail "the generation is not the user's" ;; esac
own status
own status --json | grep -q '"shadow_directory": *"'$shadow || fail "status"
counted()
{
	[ "$(own explain --json $prog | jq '.generations[1].samples')" -gt 100 ]
}
eventually counted
own log --event=activated --json | grep -q '"MORPH_PATH":"'$prog || fail "the user's journal: $(own log)"

# ---- root's morphd knows nothing of it, and has nothing of it
"$MORPH_BIN/morph" status -a --all-users | grep -q walker && fail "root's morphd knows: $("$MORPH_BIN/morph" status -a --all-users)"
[ "$(cd /var/lib/morph && find . -type f ! -name 'state.db*' | sort | xargs -r sha256sum)" = "$root_before" ] || fail "root's store changed"

kill %1
# ---- another build, at once; stopped, and killed
cp /opt/morph-test/shipped $home/.local/bin/new && chown 4711:4711 $home/.local/bin/new && mv $home/.local/bin/new $prog
falls_through()
{
	[ "$(readlink $shadow/vm)" = $prog ]
}
eventually falls_through
cp /vm $home/.local/bin/new && chown 4711:4711 $home/.local/bin/new && mv $home/.local/bin/new $prog
own reoptimize $prog || fail "reoptimize"
falls_through && fail "no generation again"
as systemctl --user stop morphd
falls_through || fail "after the stop: $(readlink $shadow/vm)"
as systemctl --user start morphd
falls_through && fail "no generation after the start"
as systemctl --user kill -s KILL morphd
eventually falls_through # ExecStopPost
restarted()
{
	! falls_through
}
eventually restarted
systemctl stop user@4711.service
is_gone()
{
	[ ! -e $run/morph ] && [ ! -L $shadow/vm ]
}
eventually is_gone # with the last session

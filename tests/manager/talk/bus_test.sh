#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# morphd on a message bus of its own, with the policy that is installed: who may read, who may change
# something, what polkit has to say, and what stands on the socket beside it.

. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../attack.sh"

command -v dbus-daemon >/dev/null || { echo "skipped: there is no dbus-daemon"; exit 77; }
command -v setpriv >/dev/null || { echo "skipped: there is no setpriv"; exit 77; }

prog_install
config_write
cp "$MORPH_BIN/morph" "$MORPH_BIN/manager-call" "$MORPH_BIN/manager-questions" "$dir/tools/"
cat >"$dir/bus.conf" <<-END
	<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
	 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
	<busconfig>
	  <type>system</type>
	  <listen>unix:path=$dir/bus</listen>
	  <auth>EXTERNAL</auth>
	  <policy context="default">
	    <allow user="*"/>
	    <deny own="*"/>
	    <deny send_type="method_call"/>
	    <allow send_type="signal"/>
	    <allow send_requested_reply="true" send_type="method_return"/>
	    <allow send_requested_reply="true" send_type="error"/>
	    <allow receive_type="method_call"/>
	    <allow receive_type="method_return"/>
	    <allow receive_type="error"/>
	    <allow receive_type="signal"/>
	    <allow send_destination="org.freedesktop.DBus"/>
	  </policy>
	  <policy user="root"><allow own="org.freedesktop.PolicyKit1"/>
	    <allow send_destination="org.freedesktop.PolicyKit1"/></policy>
	  <include>$MORPH_SOURCE/systemd/org.morph.Manager1.conf</include>
	</busconfig>
END
bus=unix:path=$dir/bus
dbus-daemon --config-file="$dir/bus.conf" --nofork --nosyslog >"$dir/bus.log" 2>&1 &
pids+=($!)
eventually test -S "$dir/bus"

unset MORPH_SOCKET
nobody()
{
	setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/tools/morph" "$@"
}

# ---- nobody at home
refused 'morphd is not running' morph status --bus="$bus"
refused 'cannot reach the message bus' morph status --bus=unix:path="$dir/none"

"$MORPH_BIN/morphd" --config="$dir/morphd.conf" --bus="$bus" >>"$dir/morphd.log" 2>&1 &
morphd=$!
pids+=("$morphd")
on_bus()
{
	morph status --bus="$bus" >/dev/null 2>&1
}
eventually on_bus
sampled 3000
is "samples over the bus" 3000 "$(json status '.modules[0].samples' --bus="$bus")"
is "samples over the socket" 3000 "$(json status '.modules[0].samples' --socket="$dir/run/socket")"

# ---- what others may
nobody status --bus="$bus" | says "$prog" || fail "anybody may read on the bus"
nobody status --socket="$dir/run/socket" | says "$prog" || fail "anybody may read on the socket"
nobody explain --bus="$bus" "$prog" | says '3000 samples' || fail "anybody may ask why"
for verb in reoptimize rollback pin; do
	sleep 1 # a user may make so many calls a second, and made some
	refused 'only root may change' nobody "$verb" --bus="$bus" "$prog"
	refused 'only root may change' nobody "$verb" --socket="$dir/run/socket" "$prog"
done
refused 'only root may change' nobody rollback --all --bus="$bus"
call()
{
	setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/tools/manager-call" "$bus" "$@" || true
}
for attempt in "Reoptimize $prog" "Rollback $prog 0" RollbackAll "Pin $prog mine" "Unpin $prog" \
	"PinPart $prog function main 0 mine" "UnpinPart $prog function main" StatusAll \
	"ExplainAll $prog" "HistoryAll $prog" PinsAll; do
	# shellcheck disable=SC2086
	attack_held "bus-${attempt%% *}-by-nobody-without-polkit" grep -q AccessDenied <(call $attempt)
done
prog_is shipped || fail "nobody changed something"
"$MORPH_BIN/manager-samples" "$dir/part" "$MORPH_PROGRAMS/upgraded" /home/alice/prog 500 900
mv "$dir/part" "$dir/spool/900900.samples"
spool_wait
alice()
{
	nobody status -a --json --bus="$bus" "$@" 2>/dev/null | grep -q alice
}
not()
{
	! "$@"
}
attack_held bus-status-on-the-bus-shows-other-users not alice

# ---- polkit says yes, then no
"$MORPH_BIN/manager-authority" "$bus" "$dir/yes" >/dev/null 2>&1 &
pids+=($!)
touch "$dir/yes"
permitted()
{
	nobody pin --bus="$bus" --reason=mine "$prog" 2>/dev/null
}
eventually permitted
grep -q '^org.morph.see-all' "$dir/yes.asked" 2>/dev/null && fail "nobody asked to see all yet"
alice --all-users || fail "polkit permits to see all"
grep -q '^org.morph.see-all 1$' "$dir/yes.asked" || fail "polkit is asked for org.morph.see-all"
is "pinned by the permitted" mine "$(json pin '.pins[0].reason' --bus="$bus")"
grep -q '^org.morph.manage 1$' "$dir/yes.asked" || fail "polkit is asked for org.morph.manage"
nobody pin --bus="$bus" --unpin "$prog" || fail "each method asks anew"
nobody reoptimize --bus="$bus" "$prog" | says 'generation 1' || fail "an edit, permitted by polkit"
prog_is made || fail "the generation stands"
rm "$dir/yes"
refused 'only root may change' nobody rollback --bus="$bus" "$prog"
sleep 2 # until there are calls again (allowance.h)
refused 'only root may see' nobody status --all-users --bus="$bus"
attack_held bus-rollback-that-polkit-denies prog_is made
attack_held bus-status-that-polkit-denies not alice --all-users
questions()
{
	setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/tools/manager-questions" "$bus" "$@" ||
		fail "manager-questions ends with $?"
}
another() # the bus wants one who has a name
{
	setpriv --reuid=daemon --regid=daemon --clear-groups "$dir/tools/manager-call" "$bus" StatusAll
}
asked() { (($(grep -c see-all "$dir/yes.asked") >= known + $1)); }
# dialogs NUMBER: twelve clients of nobody's ask four times each; at least NUMBER of it comes to polkit
dialogs()
{
	known=$(grep -c see-all "$dir/yes.asked")
	touch "$dir/yes.dialog"
	questions 12 4 0 30 &
	pids+=($!)
	eventually asked "$1"
}
all_asked_soon() # as many as one user may (POLKIT_PER_USER)
{
	(eventually asked 8) 2>/dev/null
}
# polkit's answers come when he who asked has no calls left
for n in 4 0 0; do
	dialogs $n
	sleep 0.5
	rm "$dir/yes.dialog"
	sleep 5 # until there are calls again (allowance.h)
done
dialogs 0
attack_held bus-answers-of-polkit-that-nobody-fetches all_asked_soon
# dialogs that nobody looks at, of many clients of one user
sleep 5
dialogs 0
another >"$dir/another" &
sleep 2
rm "$dir/yes.dialog"
wait $! || true
attack_held bus-dialogs-of-one-user grep -q 'only root may see' "$dir/another"
morph rollback --bus="$bus" "$prog" >/dev/null || fail "root needs nobody's permission"
prog_is shipped || fail "rolled back over the bus"

# ---- any client
if command -v busctl >/dev/null; then
	busctl --address="$bus" introspect org.morph.Manager1 /org/morph/Manager1 org.morph.Manager1 |
		grep -q '^.Reoptimize *method *s *s' || fail "introspection"
	busctl --address="$bus" call org.morph.Manager1 /org/morph/Manager1 org.morph.Manager1 History s "$prog" |
		grep -q 'rolled-back' || fail "another client reads the history"
	! busctl --address="$bus" call org.morph.Manager1 /org/morph/Manager1 org.morph.Manager1 \
		Rollback si "$prog" 0 2>/dev/null || fail "wrong types are refused"
fi

# ---- many clients, and rude ones
if command -v python3 >/dev/null; then
	python3 - "$dir/run/socket" <<-'END'
		import os, socket, sys
		held = []
		for i in range(80):
		    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
		    try:
		        s.settimeout(1)
		        s.connect(sys.argv[1])
		        s.send(os.urandom(200) if i % 2 else b"\0AUTH EXTERNAL 30\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n" + os.urandom(300))
		        held.append(s)
		    except OSError:
		        pass
	END
fi
is "still there" 3000 "$(json status '.modules[0].samples' --socket="$dir/run/socket")"

# ---- the system bus: not there yet, then there, then restarted
sed "s|/state$|/state3|; s|/run$|/run3|" "$dir/morphd.conf" >"$dir/third.conf"
late=$dir/late.bus
DBUS_SYSTEM_BUS_ADDRESS=unix:path=$late "$MORPH_BIN/morphd" --config="$dir/third.conf" 2>"$dir/third.log" &
third=$!
pids+=("$third")
on_socket() { morph status --socket="$dir/run3/socket" "$@"; }
third_says() { grep -q "$1" "$dir/third.log"; }
eventually on_socket >/dev/null 2>&1 || fail "morphd without a system bus does not answer: $(cat "$dir/third.log")"
third_says 'going on on the socket' || fail "morphd does not say that there is no bus"
on_socket | grep -q 'not on the system bus (cannot reach' || fail "status does not say it"
late_bus()
{
	sed "s|<listen>.*|<listen>unix:path=$late</listen>|" "$dir/bus.conf" >"$dir/late.conf"
	dbus-daemon --config-file="$dir/late.conf" --nofork --nosyslog >"$dir/bus.log" 2>&1 &
	late_pid=$!
	pids+=("$late_pid")
}
late_bus
eventually third_says 'joined the message bus' || fail "morphd does not join a bus that comes later"
DBUS_SYSTEM_BUS_ADDRESS=unix:path=$late morph status --bus=system >/dev/null || fail "nobody answers on the bus"
on_socket | grep -q 'not on the system bus' && fail "status still says that there is none"
kill "$late_pid"
eventually third_says 'the message bus has gone' || fail "morphd does not notice that the bus has gone"
rm -f "$late"
late_bus
joined_twice() { (($(grep -c 'joined the message bus' "$dir/third.log") == 2)); }
eventually joined_twice || fail "morphd does not join a bus that was restarted"
kill "$third"
wait "$third" || fail "morphd does not end in order"

# ---- the name belongs to one
sed "s|/state$|/state2|; s|/run$|/run2|" "$dir/morphd.conf" >"$dir/second.conf"
status=0
"$MORPH_BIN/morphd" --config="$dir/second.conf" --bus="$bus" 2>"$dir/err" || status=$?
is "a second morphd with the same name" 1 "$status"
grep -q 'cannot take the name' "$dir/err" || fail "it says: $(cat "$dir/err")"
status=0
"$MORPH_BIN/morphd" --config="$dir/morphd.conf" --bus=none 2>"$dir/err" || status=$?
is "a second morphd with the same state" 1 "$status"
grep -q "another morphd (process $morphd) works there" "$dir/err" || fail "it says: $(cat "$dir/err")"
on_bus || fail "the first one still serves"
morphd_stop
attacks_end

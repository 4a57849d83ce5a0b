#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# morph notify: what was taken back is told once, by mail; what could not be delivered is told again; a month's gains.

. "$(dirname "$0")/../lib.sh"
. "$MORPH_SOURCE/tests/attack.sh"

config_write
prog_install
mkdir "$dir/tools/mail"
cat >"$dir/tools/mail/sendmail" <<-END
	#!/bin/sh
	echo "\$*" >>"$dir/words"
	cat >>"$dir/mail"
	test ! -e "$dir/broken"
END
chmod 755 "$dir/tools/mail/sendmail"
export PATH=$dir/tools/mail:$PATH
morphd_start
sampled 5000
tell()
{
	morph notify --state-file="$dir/notified/told" "$@"
}

# ---- nothing to tell, nothing sent
tell --mail=root
[ ! -e "$dir/mail" ] || fail "a mail about nothing: $(cat "$dir/mail")"

# ---- once
morph reoptimize "$prog" >/dev/null
morph rollback "$prog" >/dev/null
touch "$dir/broken"
refused 'the mail was not taken' tell --mail=root
rm "$dir/broken" "$dir/mail"
tell --mail=root
is "how sendmail is called" "-i -t" "$(tail -1 "$dir/words")"
is "to whom" "To: root" "$(head -1 "$dir/mail")"
is "lines about it" 1 "$(grep -c "rolled-back: $prog: generation 0: by request" "$dir/mail")"
! grep -q "activated" "$dir/mail" || fail "what nobody asked to hear: $(cat "$dir/mail")"
rm "$dir/mail"
tell --mail=root
[ ! -e "$dir/mail" ] || fail "told twice: $(cat "$dir/mail")"
is "as JSON" 0 "$(tell --json | jq .lines)"

# ---- a new month
morph reoptimize "$prog" >/dev/null
sed -i 's/^month.*/month = 2001-01/' "$dir/notified/told"
tell --print >"$dir/out"
says "$prog: .*, predicted" <"$dir/out" || fail "gains: $(cat "$dir/out")"
tell --print >"$dir/out"
[ ! -s "$dir/out" ] || fail "gains twice: $(cat "$dir/out")"

# ---- on a desktop: by the portal, and without one by the notification service
# desktop NAME: a session with that service, which takes what it is told
desktop()
{
	sed -i 's/^month.*/month = 2001-01/' "$dir/notified/told"
	NAME=$1 LOG=$dir/$1 BIN=$MORPH_BIN TOLD=$dir/notified/told dbus-run-session -- bash -ec '
		"$BIN/manager-notifier" "$NAME" "$LOG" &
		for _ in $(seq 1200); do
			if busctl --user status "$NAME" >/dev/null 2>&1; then break; fi
			sleep 0.05
		done
		"$BIN/morph" notify --desktop --state-file="$TOLD"
		kill $!'
}
if command -v dbus-run-session >/dev/null; then
	for service in org.freedesktop.portal.Desktop org.freedesktop.Notifications; do
		desktop $service || fail "$service"
		says "$prog: .*, predicted" <"$dir/$service" || fail "what was told to $service: $(cat "$dir/$service")"
	done
	sed -i 's/^month.*/month = 2001-01/' "$dir/notified/told"
	refused 'no desktop takes notifications' env DBUS_SESSION_BUS_ADDRESS=unix:path=/nonexistent "$MORPH_BIN/morph" notify --desktop \
		--state-file="$dir/notified/told"
	grep -q 2001-01 "$dir/notified/told" || fail "noted as told, and was not"
fi

# ---- an address that would be more than one header, or an option
sends()
{
	! tell --mail="$1" 2>/dev/null && [ ! -e "$dir/mail" ]
}
attack_held notify-address-is-a-second-header sends $'root\nBcc: them'
attack_held notify-address-is-an-option sends -C/tmp/sendmail.cf
attack_held notify-address-is-a-command sends 'root|sh'
attacks_end

# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# report_page_look.sh - what a browser makes of a page. Sourced; $browser, $here (tests/cli) and $work are the test's.

# look PAGE WIDTH SCHEME (0 dark, 1 light): what the browser made of the page, as the words of report_page_look.html
look() {
	sed -e "s|PAGE|$1|; s|WIDTH|$2|" "$here/report_page_look.html" >look.html
	timeout 100 "$browser" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$work/profile" \
		--allow-file-access-from-files --virtual-time-budget=5000 --blink-settings=preferredColorScheme="$3" \
		--dump-dom "file://$work/look.html" 2>browser.txt | sed -n 's/.*<p id="seen">\([^<]*\)<.*/\1/p'
}

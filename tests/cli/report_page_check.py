#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""report_page_check.py PAGE TEXT... - reads PAGE as the HTML standard says (html5lib), without mercy: no parse error, no
element and no attribute but those that the page is made of, no address; and every TEXT stands there as text."""
import re
import sys

import html5lib

ELEMENTS = set("html head meta title style body main footer h1 h2 p b i small div span details summary table thead tbody tr th "
               "td ul li a".split())
ATTRIBUTES = set("class style title lang charset name content http-equiv role aria-label id href".split())


def main(path, *texts):
    with open(path, "rb") as file:
        source = file.read()
    parser = html5lib.HTMLParser(namespaceHTMLElements=False)
    tree = parser.parse(source)
    bad = [f"parse error: {error}" for error in parser.errors]
    shown = []
    for element in tree.iter():
        if not isinstance(element.tag, str):
            bad.append("a comment")
            continue
        if element.tag not in ELEMENTS:
            bad.append(f"an element {element.tag}")
        for name, value in element.attrib.items():
            if name not in ATTRIBUTES:
                bad.append(f"an attribute {name}")
            if name == "style" and not re.fullmatch(r"(width:[0-9.]+%|flex:[0-9.]+ 1 0)", value):
                bad.append(f"a style {value}")
            if name in ("id", "href") and not re.fullmatch("#" * (name == "href") + "(flame|f[0-9]+)", value):
                bad.append(f"an {name} {value}")
            if name == "title":
                shown.append(value)
        shown += [element.text or "", element.tail or ""]
    style = [element.text for element in tree.iter("style")]
    if len(style) != 1 or re.search(r"url|@import|expression", style[0]):
        bad.append("a style sheet that asks for more")
    policy = [element.get("content") for element in tree.iter("meta") if element.get("http-equiv")]
    if policy != ["default-src 'none'; style-src 'unsafe-inline'"]:
        bad.append(f"a policy of {policy}")
    if re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", source) or "\u202e" in source.decode():
        bad.append("control characters")
    bad += [f"no text {text!r}" for text in texts if not any(text in s for s in shown)]
    for sentence in bad:
        print(f"{path}: {sentence}", file=sys.stderr)
    return bool(bad)


sys.exit(main(*sys.argv[1:]))

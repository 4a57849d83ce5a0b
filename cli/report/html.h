/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/**
 * html.h - foreign text in a page
 *
 * Whoever made a program or a sample log chose the bytes of its names. In a page they are text and nothing else: what
 * would begin markup or end an attribute becomes a character reference, and what a reader would not see, or be misled by
 * (text.h), its escape. The page also forbids itself every script and every address (page.h).
 */

#include <stdio.h>

/** html_text() - as text, or within double quotes the value of an attribute */
void html_text(FILE *out, const char *text);

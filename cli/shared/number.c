/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/shared/number.h"

#include <stdlib.h>

bool number_parse(const char *text, double low, double high, double *ret)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= low && value <= high))
		return false;
	*ret = value;
	return true;
}

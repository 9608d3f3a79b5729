/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/show/summary_advice.h"

/* If recording took more of the run than this, there is advice. */
#define COST_SHARE_HIGH (1.0 / 3)

void summary_advice_print(const struct summary *summary, FILE *out)
{
	if (summary->cost.share <= COST_SHARE_HIGH || !summary->totals.spans ||
	    summary->settings.overhead > 0)
		return;
	fputs("             --overhead 5% aims at that share: what is called "
	      "too "
	      "often is then\n"
	      "             only counted, or switched off\n",
	      out);
}

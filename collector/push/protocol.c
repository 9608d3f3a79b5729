/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/push/protocol.h"

#include <stdlib.h>

#include "collector/push/otlp_dictionary.h"

void message_release(struct message *message)
{
	bytes_release(&message->body);
	free(message->query);
	if (message->otlp)
		otlp_free(message->otlp);
	*message = (struct message){ .with_pid = message->with_pid };
}

/* Reports the addresses that a task connects to or binds. */
#ifndef ASSAY_SOCKET_H
#define ASSAY_SOCKET_H

#include "access.h"

enum next before_socket_call(struct task *task, const struct call *call, const uint64_t *arguments);

void after_socket_call(struct task *task, int64_t result);

/* The task ended before its connect returned. */
void abandon_connect(struct task *task);

#endif

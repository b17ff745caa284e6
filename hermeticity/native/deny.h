/* Makes the call that a task is stopped before fail with ENOSYS, without running it. */
#ifndef ASSAY_DENY_H
#define ASSAY_DENY_H

#include <sys/types.h>

void deny_call(pid_t tid);

#endif

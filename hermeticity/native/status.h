/* What /proc/PID/status tells of a task. */
#ifndef ASSAY_STATUS_H
#define ASSAY_STATUS_H

#include <stdbool.h>
#include <sys/types.h>

/* The number behind the key, such as "PPid:"; `unknown` if there is none. */
long number_in_status(pid_t tid, const char *key, long unknown);

/* A zombie, or nothing at all. */
bool has_ended(pid_t tid);

#endif

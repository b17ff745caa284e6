/*
 * What a traced call does to files and sockets: checked before it runs and, if the result matters, after it.
 */
#ifndef ASSAY_ACCESS_H
#define ASSAY_ACCESS_H

#include <stdint.h>

#include "task.h"

enum next {
  RUN_ON,     /* the result of this call does not matter */
  SEE_RESULT, /* stop again after the call */
  DENY,       /* make it fail with ENOSYS */
};

enum next before_call(struct task *task, const struct call *call, const uint64_t arguments[6]);

void after_call(struct task *task, int64_t result);

/* The task ended within a call: reports what is known without its result. */
void abandon_call(struct task *task);

/* Call this after a successful exec: the task now runs another program. */
void after_exec(struct task *task);

#endif

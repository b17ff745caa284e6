/* What a traced call does to the world: looked at before it runs, and, where the result matters, after it. */
#ifndef ASSAY_ACCESS_H
#define ASSAY_ACCESS_H

#include <stdint.h>

#include "task.h"

enum next {
  RUN_ON,     /* nothing more to learn from this call */
  SEE_RESULT, /* stop again when it is done */
  DENY,       /* make it fail with ENOSYS */
};

enum next before_call(struct task *task, const struct call *call, const uint64_t arguments[6]);

void after_call(struct task *task, int64_t result);

/* The call was an exec, and it succeeded: the task now runs another program. */
void after_exec(struct task *task);

#endif

/* Calls whose answer depends on the machine and the moment, and what is answered instead. */
#ifndef ASSAY_ANSWERS_H
#define ASSAY_ANSWERS_H

#include <stdint.h>

#include "task.h"

/* The task stands before a call that the filter stopped. Sets `waiting` if its result is wanted. */
void before_call(struct task *task, long call, const uint64_t *arguments);

/* The result that was waited for. */
void after_call(struct task *task, int64_t result);

#endif

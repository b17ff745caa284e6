/* Answers system calls whose results depend on the machine or the time. */
#ifndef ASSAY_ANSWERS_H
#define ASSAY_ANSWERS_H

#include <stdint.h>

#include "task.h"

/* The task is stopped before a call. Sets `waiting` if its result is needed. */
void before_call(struct task *task, long call, const uint64_t *arguments);

/* Handles the awaited result. */
void after_call(struct task *task, int64_t result);

#endif

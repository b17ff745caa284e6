/* Pseudo-random numbers: equal in every run with the same seed, different in every task. */
#ifndef ASSAY_RANDOM_H
#define ASSAY_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "task.h"

uint64_t mix(uint64_t a, uint64_t b);

/* Fills `into` with the task's next bytes. */
void fill_random(struct task *task, void *into, size_t size);

#endif

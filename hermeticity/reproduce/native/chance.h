/* Random numbers that are the same in every run with the same seed, and others in every task. */
#ifndef ASSAY_CHANCE_H
#define ASSAY_CHANCE_H

#include <stddef.h>
#include <stdint.h>

#include "task.h"

uint64_t mix(uint64_t a, uint64_t b);

/* The next bytes that a task gets. */
void fill_by_chance(struct task *task, void *into, size_t size);

#endif

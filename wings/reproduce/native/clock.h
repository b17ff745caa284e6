/*
 * The simulated clock. It stands still: each query of a task adds a microsecond, so two runs get the same
 * times. When `hold` has passed it jumps ahead by `hold`, so a program that waits for a time of day does not
 * wait forever.
 */
#ifndef ASSAY_CLOCK_H
#define ASSAY_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "task.h"

void start_clock(void);

/* The simulated time of a clock of clock_gettime(). */
struct timespec simulated_time(struct task *task, long clock);

/*
 * The simulated time of a file: for a file that changed in this run, the simulated clock's; else the
 * kernel's.
 */
struct timespec simulated_file_time(int64_t seconds, int64_t nanoseconds);

/* The real time of a simulated deadline. */
struct timespec real_deadline(struct timespec simulated);

#endif

/*
 * The time that the command is told. It does not run: whoever asks gets a microsecond more than at his last question, so
 * that two runs are told the same; and it jumps ahead by the whole `hold` when that has passed, so that who waits for a
 * time of day does not wait for ever.
 */
#ifndef ASSAY_CLOCK_H
#define ASSAY_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "task.h"

void start_clock(void);

/* For a clock of clock_gettime(). */
struct timespec time_told(struct task *task, long clock);

/* What the command is told where the kernel says `seconds` and `nanoseconds`: of a file that was changed in this run, the time told. */
struct timespec file_time_told(int64_t seconds, int64_t nanoseconds);

/* When a time of day that the command waits for will really be. */
struct timespec real_deadline(struct timespec told);

#endif

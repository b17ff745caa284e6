/*
 * Binds the helper and a task that stops often to the same CPU core.
 *
 * Only one of the two is ever runnable, but the kernel does not know that. It wakes one on an idle core while
 * the other still finishes on its own, so each stop wakes a sleeping core twice, which costs more than the
 * stop. So both share one core while no other task of this thread of the helper stops. The helper ends this before it could be visible or
 * harmful: when the task asks for its CPU affinity or creates another task, when another task stops, and when
 * it has not stopped for some milliseconds.
 */
#ifndef ASSAY_CORE_H
#define ASSAY_CORE_H

#include <stdbool.h>

#include "task.h"

/* Call this when a task has stopped, before anything else. */
void share_core(const struct task *task);

/* How many cores the command may use. */
int count_cores(void);

/* Lets both use all cores again. */
void part(void);

/* The same for all threads of the helper. */
void part_all(void);

/* A thread that is started by a bound one is bound, too: lets it use all cores. */
void use_all_cores(void);

/* A task that is created by a bound task is bound, too: lets it use all cores. */
void unbind(const struct task *created);

/* Call this after a SIGALRM: while a core is shared, one comes every few milliseconds. */
void part_if_quiet(void);

/* The task is about to set a CPU affinity; from now on the helper leaves it alone. */
void leave_cores_to(struct task *task, pid_t named);

#endif

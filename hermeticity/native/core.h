/*
 * The core on which the helper and a task that stops again and again take turns.
 *
 * Only one of the two ever has something to do, but the kernel does not know that: it wakes the one on an idle core while
 * the other still winds up on its own, so that each stop wakes a sleeping core twice, which costs more than the stop
 * itself. So both are bound to one core while nobody else stops, and let go before anybody could see it or feel it: when
 * the task asks for the cores that it may use or makes another one, when another task stops, and when it has not stopped
 * for some milliseconds.
 */
#ifndef ASSAY_CORE_H
#define ASSAY_CORE_H

#include <stdbool.h>

#include "task.h"

/* A task has stopped, and nothing was done about it yet. */
void share_core(const struct task *task);

/* Both may use all cores again. */
void part(void);

/* Made while its maker was bound, a new task is bound as well. */
void unbind(const struct task *created);

/* To be called when a SIGALRM has come: while a core is shared, there is one every few milliseconds. */
void part_if_quiet(void);

/* The task is about to bind itself or others to cores, which is its own business from now on. */
void leave_cores_to(struct task *task, pid_t named);

#endif

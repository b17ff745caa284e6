/*
 * The threads of the helper that trace. Each serves a part of the process tree.
 *
 * The first traces the command. When a process is created while another one already works under the same
 * thread, an idle thread takes the new process over, and serves it with all its descendants until the last of
 * them has ended. One lock guards what the threads share. A thread holds it from the moment when it has learned
 * of a stop until it has resumed the task, so records are in the order in which things happened.
 */
#ifndef ASSAY_TRACER_H
#define ASSAY_TRACER_H

#include <stdbool.h>
#include <sys/types.h>

enum { MOST_TRACERS = 8 };

struct tracer {
  /* 0: this place in the table is free. */
  pid_t tid;
  /* The task that shares a core with this thread, and the core; or 0 (core.h). */
  pid_t bound;
  int core;
  /* Whether the thread has tasks, and what it begins with. */
  int busy;
  void *first;
};

extern struct tracer tracers[MOST_TRACERS];

/* The calling thread's own. */
extern _Thread_local struct tracer *tracer;

void lock(void);
void unlock(void);

/* The calling thread is the first. */
void begin_tracing(void);

/* Waits for a stop or an end of a task of this thread. */
pid_t wait_for_stop(int *status);

/* Waits until all other threads are idle, or a signal arrives. Without the lock. Whether they are. */
bool wait_for_others(void);

/* Whether a thread is idle, or can be started: no more trace than there are cores. */
bool has_idle_tracer(int cores);

/* Lets that thread call `serve` with `first`. False if it can't be started. With the lock. */
bool wake_tracer(void (*serve)(void *first), void *first);

#endif

#define _GNU_SOURCE
#include "core.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tick.h"
#include "tracer.h"

enum { PART_MS = 4 };

/*
 * One bit for each of the last 64 stops, set if another task stopped before it. A process that starts another
 * one sets a few bits, two that work in parallel set many; then the helper shares no core.
 */
static _Thread_local uint64_t changes = ~0ull;
enum { MOST_CHANGES = 6 };

static _Thread_local pid_t last;
static _Thread_local bool seen_since_tick;
/* The affinity of the helper at its start, which the command inherits. */
static cpu_set_t all;
static enum { UNKNOWN, ONE, SEVERAL } cores;

static bool may_share(void) {
  if (cores != UNKNOWN) return cores == SEVERAL;
  bool several = sched_getaffinity(0, sizeof all, &all) == 0 && CPU_COUNT(&all) > 1;
  cores = several ? SEVERAL : ONE;
  return several;
}

int count_cores(void) { return may_share() ? CPU_COUNT(&all) : 1; }

static bool bind_to(pid_t tid, const cpu_set_t *set) { return sched_setaffinity(tid, sizeof *set, set) == 0; }

/*
 * The core where a task ran last: field 37 after its name, which ends with the last bracket. Moving the
 * helper there instead of the task leaves other work on the helper's core alone.
 */
static int core_of(pid_t tid) {
  char path[32], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", tid);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  text[length > 0 ? length : 0] = 0;
  const char *field = strrchr(text, ')');
  for (int i = 0; field && i < 37; i++) field = strchr(field + 1, ' ');
  return field ? atoi(field + 1) : sched_getcpu();
}

static bool is_taken(int core) {
  for (int i = 0; i < MOST_TRACERS; i++) {
    if (tracers[i].bound && tracers[i].core == core) return true;
  }
  return false;
}

/* The core, or another one if a task and another thread of the helper share it; -1 if all are shared. */
static int free_core(int core) {
  if (!is_taken(core)) return core;
  for (core = 0; core < CPU_SETSIZE; core++) {
    if (CPU_ISSET(core, &all) && !is_taken(core)) return core;
  }
  return -1;
}

static void share_with(pid_t tid) {
  cpu_set_t one;
  int core = free_core(core_of(tid));
  if (core >= 0) {
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    tracer->bound = tid;
    tracer->core = core;
    if (bind_to(tid, &one) && bind_to(0, &one)) return tick_every(PART_MS);
    part();
  }
  changes = ~0ull;
}

void share_core(const struct task *task) {
  seen_since_tick = true;
  changes = changes << 1 | (task->tid != last);
  if (tracer->bound && task->tid == last) return;
  part();
  last = task->tid;
  if (__builtin_popcountll(changes) > MOST_CHANGES || task->process->own_cores || !may_share()) return;
  share_with(task->tid);
}

/* The timer of another thread goes on until its next tick. */
static void end_sharing(struct tracer *shares) {
  if (!shares->bound) return;
  bind_to(shares->bound, &all);
  bind_to(shares->tid, &all);
  shares->bound = 0;
}

void part(void) {
  if (!tracer->bound) return;
  tick_every(0);
  end_sharing(tracer);
}

void part_all(void) {
  part();
  for (int i = 0; i < MOST_TRACERS; i++) end_sharing(&tracers[i]);
}

void unbind(const struct task *created) {
  if (cores == SEVERAL && !created->process->own_cores) bind_to(created->tid, &all);
}

void use_all_cores(void) {
  if (cores == SEVERAL) bind_to(0, &all);
}

void part_if_quiet(void) {
  if (!tracer->bound) tick_every(0);
  if (!seen_since_tick) part();
  seen_since_tick = false;
}

static void mark(struct task *task) { task->process->own_cores = true; }

/* A pid other than 0 may be from another PID namespace, so it may be any task. */
void leave_cores_to(struct task *task, pid_t named) {
  part_all();
  if (named == 0) mark(task);
  else for_each_task(mark);
}

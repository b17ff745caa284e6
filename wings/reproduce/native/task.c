#include "task.h"

#include <stdlib.h>

enum { BUCKETS = 4096 };

static struct task *buckets[BUCKETS];
static int count;

static struct task **slot_of(pid_t tid) {
  struct task **slot = &buckets[(unsigned)tid % BUCKETS];
  while (*slot && (*slot)->tid != tid) slot = &(*slot)->next;
  return slot;
}

struct task *task_of(pid_t tid) { return *slot_of(tid); }

struct task *add_task(pid_t tid) {
  struct task *task = calloc(1, sizeof *task);
  if (!task) abort();
  task->tid = tid;
  *slot_of(tid) = task;
  count++;
  return task;
}

void remove_task(pid_t tid) {
  struct task **slot = slot_of(tid), *task = *slot;
  if (!task) return;
  *slot = task->next;
  free(task);
  count--;
}

int count_tasks(void) { return count; }

void for_each_task(void (*visit)(struct task *)) {
  for (int i = 0; i < BUCKETS; i++) {
    for (struct task *task = buckets[i], *next; task; task = next) {
      next = task->next;
      visit(task);
    }
  }
}

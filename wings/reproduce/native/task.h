/* The traced threads. */
#ifndef ASSAY_VARY_TASK_H
#define ASSAY_VARY_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct task {
  pid_t tid;
  /* False until the event of its creator has arrived. */
  bool introduced;
  /*
   * Identifies the task by its creator and its index among the creator's children: equal in every run,
   * whatever the process ids. It seeds the task's random numbers.
   */
  uint64_t lineage, children;
  /* The number of queries for the time and for random bytes. */
  uint64_t clock_queries, random_queries;
  /* The call whose result is awaited. */
  bool waiting;
  long call;
  uint64_t arguments[6];
  /* A translated deadline, to be restored after the call. */
  uint64_t deadline_at;
  struct timespec deadline;
  struct task *next;
};

struct task *task_of(pid_t tid);
struct task *add_task(pid_t tid);
void remove_task(pid_t tid);
int count_tasks(void);
void for_each_task(void (*visit)(struct task *));

#endif

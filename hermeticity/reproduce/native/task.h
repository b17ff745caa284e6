/* The threads that are watched. */
#ifndef ASSAY_VARY_TASK_H
#define ASSAY_VARY_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct task {
  pid_t tid;
  /* False while only the kernel has told of it, and not yet the stop of who started it. */
  bool introduced;
  /*
   * Who started it, and as its how manieth child: the same in every run, whatever the process ids are. It seeds what the
   * task gets for random numbers.
   */
  uint64_t lineage, children;
  /* How often it has asked for the time, and for random bytes. */
  uint64_t clock_asked, chance_asked;
  /* The call whose result is waited for. */
  bool waiting;
  long call;
  uint64_t arguments[6];
  /* A deadline that was translated, to be put back after the call. */
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

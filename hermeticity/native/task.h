/*
 * The tasks (threads) that are traced and the processes that they belong to.
 *
 * A process has a serial number, because the kernel may give its pid to another one later.
 */
#ifndef ASSAY_TASK_H
#define ASSAY_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "call.h"
#include "path.h"

struct process {
  uint32_t serial;
  pid_t pid;
  int tasks;
  /* The working folder, or NULL while it must be asked for. */
  char *cwd;
  /* Some task of it may have a working folder of its own, or share it with another process: always ask. */
  bool cwd_unsure;
  /* It was bound to cores by itself, or by whoever made it. */
  bool own_cores;
  bool foreign_told, survivor_told;
};

/* A call whose result is waited for. */
struct pending {
  const struct call *call;
  struct place place, second;
  uint64_t arguments[6];
  /* OPEN: the flags of open(2). */
  uint64_t flags;
  /* SYMLINK: the target. To be freed. */
  char *text;
};

struct task {
  struct task *next;
  pid_t tid;
  struct process *process;
  /* It was seen before the event of whoever made it. */
  bool unannounced;
  struct pending pending;
};

struct task *task_of(pid_t tid);

/* A new process, told as a child of `parent` (NULL for the command itself), and its first task. */
struct task *add_process(pid_t pid, const struct process *parent);

struct task *add_thread(pid_t tid, struct process *process);

void remove_task(struct task *task);

/* True, once, for a task that had ended before it was announced: there is nothing left to add. */
bool came_and_went(pid_t tid);

/* exec by a thread: it takes the number of the first thread, and the others are gone. */
struct task *take_over(struct task *first, pid_t former);

void clear_pending(struct task *task);

int count_tasks(void);

void for_each_task(void (*visit)(struct task *));

/* Where a relative path starts; NULL where the kernel won't say. */
const char *working_folder(struct task *task);

/* The path behind a file descriptor, in a buffer that the next call overwrites; NULL for a socket, a pipe … */
const char *path_of_handle(const struct task *task, int handle);

struct viewer viewer_of(const struct task *task);

#endif

/*
 * The traced tasks (threads) and their processes.
 *
 * A process has a serial number, because the kernel may reuse its pid.
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
  /* The thread of the helper that traces it. */
  const struct tracer *tracer;
  /* When it was created, in milliseconds. */
  uint32_t born;
  /* NULL if it has ended, or for the command. And how many children live. */
  struct process *parent;
  int children;
  /* The working directory, or NULL if it must be read from /proc. */
  char *cwd;
  /* A task may have its own working directory, or share it with another process: always read it. */
  bool cwd_unsure;
  /* The process, or its creator, has set its CPU affinity. */
  bool own_cores;
  bool foreign_reported, survivor_reported;
  /* How many of each were reported (ask.h). */
  uint16_t netlink_sockets, netlink_messages;
  /* The folder that the last call looked at, and the one that the call before it did; or NULL. */
  const struct node *probed, *probed_before;
  /* The addresses of the dynamic loader's code, if they are known; an empty range if there is none (loader.h). */
  bool loader_known;
  uint64_t loader_from, loader_to;
};

/* A call whose result is awaited. */
struct pending {
  const struct call *call;
  struct resolved_path resolved, second;
  uint64_t arguments[6];
  /* OPEN: the flags of open(2). */
  uint64_t flags;
  /* SYMLINK: the target. CONNECT: the address, of `text_length` bytes. Must be freed. */
  char *text;
  size_t text_length;
};

struct task {
  struct task *next;
  pid_t tid;
  struct process *process;
  /* The task stopped before the event of its creator arrived. */
  bool unannounced;
  /* The first task of a new process, before its first stop. */
  bool is_new;
  /* What the task was before another thread took it over, until its first stop there; else NULL. */
  struct parked *parked;
  /* The address of the code that makes the current call. */
  uint64_t called_from;
  struct pending pending;
};

struct task *task_of(pid_t tid);

/* Adds and reports a new process, a child of `parent` (NULL for the command itself), and its first task. */
struct task *add_process(pid_t pid, struct process *parent);

struct task *add_thread(pid_t tid, struct process *process);

void remove_task(struct task *task);

/* True, once, for a task that ended before its creator's event arrived. */
bool came_and_went(pid_t tid);

/* exec by a thread: it takes the id of the first thread, and the other threads are gone. */
struct task *take_over(struct task *first, pid_t former);

void clear_pending(struct task *task);

int count_tasks(void);

/*
 * Whether the caller's thread traces no other process that may be at work for long. One with children waits for
 * them. To hand a process over costs 0.3 ms, too much beside one that ends in a millisecond.
 */
bool works_alone(const struct task *task);

void for_each_task(void (*visit)(struct task *));

/* The base of relative paths; NULL if the kernel does not tell. */
const char *working_folder(struct task *task);

/* The path of a file descriptor, in a buffer that the next call overwrites; NULL for a socket or a pipe. */
const char *path_of_handle(const struct task *task, int handle);

/* Closes what path_of_handle() keeps open for the calling thread. */
void forget_handles(void);

struct viewer viewer_of(const struct task *task);

#endif

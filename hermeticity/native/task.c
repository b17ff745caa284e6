#define _GNU_SOURCE
#include "task.h"

#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "numbers.h"
#include "record.h"
#include "trace.h"
#include "tracer.h"

enum { BUCKETS = 1024, SHORT_LIVED_MS = 3 };

static struct task *buckets[BUCKETS];
static int alive;
static uint32_t serials;

static struct task **slot_of(pid_t tid) {
  struct task **slot = &buckets[(unsigned)tid % BUCKETS];
  while (*slot && (*slot)->tid != tid) slot = &(*slot)->next;
  return slot;
}

struct task *task_of(pid_t tid) { return *slot_of(tid); }

static void *or_die(void *memory) {
  if (!memory) _exit(CANNOT_START);
  return memory;
}

struct task *add_thread(pid_t tid, struct process *process) {
  struct task **slot = slot_of(tid);
  struct task *task = or_die(calloc(1, sizeof *task));
  task->tid = tid;
  task->process = process;
  process->tasks++;
  *slot = task;
  alive++;
  return task;
}

struct task *add_process(pid_t pid, struct process *parent) {
  struct process *process = or_die(calloc(1, sizeof *process));
  process->serial = ++serials;
  process->pid = pid;
  process->tracer = tracer;
  process->parent = parent;
  process->born = milliseconds();
  process->own_cores = parent && parent->own_cores;
  process->cwd_unsure = parent && parent->cwd_unsure;
  if (parent) parent->children++;
  uint32_t numbers[] = {(uint32_t)pid, parent ? parent->serial : 0};
  report_numbers((struct origin){.kind = KIND_PROCESS, .process = process->serial}, numbers, 2);
  struct task *task = add_thread(pid, process);
  task->is_new = parent != NULL;
  return task;
}

void clear_pending(struct task *task) {
  free(task->pending.resolved.asked);
  free(task->pending.second.asked);
  free(task->pending.text);
  memset(&task->pending, 0, sizeof task->pending);
}

/*
 * The kernel may report a child's exit before the event of its parent. A child whose parent was killed before
 * that event stays on this list; a new task with the same id is added when it first stops.
 */
static pid_t *ended_early;
static size_t ended_count;

static void remember_end(pid_t tid) {
  ended_early = or_die(realloc(ended_early, (ended_count + 1) * sizeof *ended_early));
  ended_early[ended_count++] = tid;
}

bool came_and_went(pid_t tid) {
  for (size_t i = 0; i < ended_count; i++) {
    if (ended_early[i] != tid) continue;
    ended_early[i] = ended_early[--ended_count];
    return true;
  }
  return false;
}

static void remove_process(struct process *process) {
  if (process->parent) process->parent->children--;
  for (int i = 0; process->children > 0 && i < BUCKETS; i++) {
    for (struct task *task = buckets[i]; task; task = task->next) {
      if (task->process->parent == process) task->process->parent = NULL;
    }
  }
  free(process->cwd);
  free(process);
}

void remove_task(struct task *task) {
  if (task->unannounced) remember_end(task->tid);
  *slot_of(task->tid) = task->next;
  alive--;
  clear_pending(task);
  if (--task->process->tasks == 0) remove_process(task->process);
  free(task->parked);
  free(task);
}

struct task *take_over(struct task *first, pid_t former) {
  struct task *caller = task_of(former);
  if (!caller || caller == first) return first;
  clear_pending(first);
  first->pending = caller->pending;
  memset(&caller->pending, 0, sizeof caller->pending);
  remove_task(caller);
  return first;
}

int count_tasks(void) { return alive; }

bool works_alone(const struct task *task) {
  uint32_t now = milliseconds();
  for (int i = 0; i < BUCKETS; i++) {
    for (const struct task *other = buckets[i]; other; other = other->next) {
      const struct process *process = other->process;
      bool is_here = process->tracer == tracer && process != task->process;
      if (is_here && process->children == 0 && now - process->born >= SHORT_LIVED_MS) return false;
    }
  }
  return true;
}

void for_each_task(void (*visit)(struct task *)) {
  for (int i = 0; i < BUCKETS; i++) {
    for (struct task *task = buckets[i]; task; task = task->next) visit(task);
  }
}

struct viewer viewer_of(const struct task *task) {
  return (struct viewer){.process = task->process->serial, .pid = task->process->pid};
}

static const char *path_behind(const char *link) {
  static const char deleted[] = " (deleted)";
  enum { DELETED = sizeof deleted - 1 };
  static char path[LONGEST_PATH];
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0 || path[0] != '/') return NULL;
  path[length] = 0;
  bool gone = length > DELETED && strcmp(path + length - DELETED, deleted) == 0 && access(path, F_OK) != 0;
  return gone ? NULL : path;
}

const char *working_folder(struct task *task) {
  struct process *process = task->process;
  if (process->cwd && !process->cwd_unsure) return process->cwd;
  char link[64];
  snprintf(link, sizeof link, "/proc/%d/cwd", task->tid);
  const char *path = path_behind(link);
  free(process->cwd);
  process->cwd = path ? or_die(strdup(path)) : NULL;
  return process->cwd;
}

/*
 * Programs that traverse folders use one folder handle many times. At the second use in a row the helper
 * copies the handle. From then on it compares the two with kcmp(2), which is much cheaper than reading the
 * path. Each thread of the helper has its own.
 */
static _Thread_local struct {
  pid_t pid;
  int handle, copy;
  uint32_t generation;
  char *path;
} favourite = {.copy = -1};

static bool is_favourite(const struct task *task, int handle) {
  return favourite.path && favourite.pid == task->process->pid && favourite.handle == handle &&
         favourite.generation == path_generation();
}

static bool favourite_is_same_file(const struct task *task) {
  static pid_t self;
  if (favourite.copy < 0) return false;
  if (self == 0) self = getpid();
  return syscall(__NR_kcmp, self, task->tid, KCMP_FILE, favourite.copy, favourite.handle) == 0;
}

static void copy_favourite(const struct task *task) {
  int process = (int)syscall(__NR_pidfd_open, task->process->pid, 0);
  if (process < 0) return;
  favourite.copy = (int)syscall(__NR_pidfd_getfd, process, favourite.handle, 0);
  close(process);
  struct stat status;
  bool folder = fstat(favourite.copy, &status) == 0 && S_ISDIR(status.st_mode);
  if (folder) return resolve_from(favourite.path, favourite.copy);
  /* A copy of anything else would keep it open: a reader of a named pipe would wait forever. */
  if (favourite.copy >= 0) close(favourite.copy);
  favourite.copy = -1;
}

static void drop_favourite(void) {
  resolve_from(NULL, -1);
  if (favourite.copy >= 0) close(favourite.copy);
  free(favourite.path);
  favourite.copy = -1;
  favourite.path = NULL;
}

void forget_handles(void) { drop_favourite(); }

const char *path_of_handle(const struct task *task, int handle) {
  bool again = is_favourite(task, handle);
  if (again && favourite_is_same_file(task)) return favourite.path;
  char link[64];
  snprintf(link, sizeof link, "/proc/%d/fd/%d", task->tid, handle);
  const char *path = path_behind(link);
  if (again && path && favourite.copy < 0 && strcmp(path, favourite.path) == 0) {
    copy_favourite(task);
    return favourite.path;
  }
  drop_favourite();
  if (!path) return NULL;
  favourite.pid = task->process->pid;
  favourite.handle = handle;
  favourite.generation = path_generation();
  favourite.path = or_die(strdup(path));
  return favourite.path;
}

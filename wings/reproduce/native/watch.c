#define _GNU_SOURCE
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answers.h"
#include "random.h"
#include "filter.h"
#include "limits.h"
#include "image.h"
#include "task.h"
#include "tick.h"
#include "trace.h"

enum { TICK_MS = 100 };

static int refuse(int failures, const char *what, int error) {
  dprintf(failures, "%s: %s\n", what, strerror(error));
  return CANNOT_START;
}

/* ---- starting the command ---- */

static void become_command(const struct command *command, int go, int failures) {
  char byte;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (read(go, &byte, 1) != 1) _exit(CANNOT_START);
  signal(SIGPIPE, SIG_DFL);
  close_on_exec_all();
  umask((mode_t)command->umask);
  if (command->fixed_addresses) personality(ADDR_NO_RANDOMIZE);
  if (command->other_limits) change_limits();
  if (chdir(command->folder) == 0 && install_filter() == 0) execvp(command->argv[0], command->argv);
  _exit(refuse(failures, command->argv[0], errno));
}

static pid_t start(const struct command *command, int failures) {
  int go[2];
  if (pipe2(go, O_CLOEXEC) != 0) return -1;
  pid_t pid = fork();
  if (pid == 0) {
    close(go[1]);
    become_command(command, go[0], failures);
  }
  close(go[0]);
  int error = pid > 0 ? seize(pid) : 0;
  if (error) {
    errno = error;
    pid = -1;
  }
  if (pid > 0 && write(go[1], "g", 1) != 1) pid = -1;
  close(go[1]);
  return pid;
}

/* ---- one stop ---- */

void resume(struct task *task, int signal) {
  ptrace(task->waiting ? PTRACE_SYSCALL : PTRACE_CONT, task->tid, 0, signal);
}

/*
 * A child may stop before the event of its parent arrives. It then stays stopped, because the event tells its
 * lineage.
 */
void on_new_task(struct task *parent) {
  pid_t tid = event_tid(parent->tid);
  struct task *child = task_of(tid);
  bool is_stopped = child != NULL;
  if (!child) child = add_task(tid);
  child->introduced = true;
  child->lineage = mix(parent->lineage, ++parent->children);
  if (is_stopped) resume(child, 0);
}

/* A thread that calls exec takes the id of its process, and the kernel reports no exit for its own id. */
void on_exec(struct task *task) {
  pid_t former = event_tid(task->tid);
  if (former != task->tid) remove_task(former);
  task->waiting = false;
  alter_image(task);
}

void on_call(struct task *task) {
  call_info info;
  if (!call_at(task->tid, &info) || info.op != PTRACE_SYSCALL_INFO_SECCOMP) return;
  uint64_t arguments[6];
  memcpy(arguments, info.seccomp.args, sizeof arguments);
  before_call(task, (long)info.seccomp.nr, arguments);
}

void on_result(struct task *task) {
  call_info info;
  if (task->waiting && call_at(task->tid, &info) && info.op == PTRACE_SYSCALL_INFO_EXIT)
    after_call(task, info.exit.rval);
}

/* ---- the end ---- */

static void tick_from_now(void) {
  catch_ticks();
  tick_every(TICK_MS);
}

static void end_task(struct task *task) { kill(task->tid, SIGKILL); }

static int watch(pid_t pid, long linger_ms) {
  int outcome = 0;
  bool ended = false;
  for (;;) {
    int status;
    pid_t tid = waitpid(-1, &status, __WALL);
    if (tid < 0 && errno == ECHILD) return outcome;
    if (ended && ticks * TICK_MS >= linger_ms) for_each_task(end_task);
    if (tid < 0) continue;
    if (WIFSTOPPED(status)) {
      struct task *task = task_of(tid);
      if (!task) add_task(tid);
      else if (task->introduced) on_stop(task, tid, status);
      continue;
    }
    remove_task(tid);
    if (tid != pid) continue;
    outcome = status;
    ended = true;
    if (count_tasks() > 0) tick_from_now();
  }
}

int run_command(const struct command *command, int failures) {
  pid_t pid = start(command, failures);
  if (pid < 0) return refuse(failures, "this machine does not let one process trace another", errno);
  struct task *task = add_task(pid);
  task->introduced = true;
  int status = watch(pid, command->linger_ms);
  return exit_code_of(status);
}

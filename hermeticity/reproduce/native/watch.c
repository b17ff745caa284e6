#define _GNU_SOURCE
#include "watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answers.h"
#include "chance.h"
#include "filter.h"
#include "image.h"
#include "registers.h"
#include "task.h"

enum { CANNOT_START = 125, TICK_MS = 100 };

#ifdef __GLIBC__
typedef struct __ptrace_syscall_info call_info;
#else
typedef struct ptrace_syscall_info call_info;
#endif

static volatile sig_atomic_t ticks;

static void count_tick(int signal) {
  (void)signal;
  ticks++;
}

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
  syscall(__NR_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC);
  umask((mode_t)command->umask);
  if (command->fixed_addresses) personality(ADDR_NO_RANDOMIZE);
  if (chdir(command->folder) == 0 && install_filter() == 0) execvp(command->argv[0], command->argv);
  _exit(refuse(failures, command->argv[0], errno));
}

static long trace_options(void) {
  return PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC |
         PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL;
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
  if (pid > 0 && ptrace(PTRACE_SEIZE, pid, 0, trace_options()) != 0) {
    int error = errno;
    kill(pid, SIGKILL);
    errno = error;
    pid = -1;
  }
  if (pid > 0 && write(go[1], "g", 1) != 1) pid = -1;
  close(go[1]);
  return pid;
}

/* ---- one stop ---- */

static void resume(struct task *task, int signal) {
  ptrace(task->waiting ? PTRACE_SYSCALL : PTRACE_CONT, task->tid, 0, signal);
}

/* A child may stop before its parent says that there is one: it then waits for that, because only that tells its lineage. */
static void on_new_task(struct task *parent) {
  unsigned long tid = 0;
  ptrace(PTRACE_GETEVENTMSG, parent->tid, 0, &tid);
  struct task *child = task_of((pid_t)tid);
  bool stands = child != NULL;
  if (!child) child = add_task((pid_t)tid);
  child->introduced = true;
  child->lineage = mix(parent->lineage, ++parent->children);
  if (stands) resume(child, 0);
}

/* A thread that becomes another program takes the number of its process, and the kernel forgets its own without a word. */
static void on_exec(struct task *task) {
  unsigned long former = 0;
  ptrace(PTRACE_GETEVENTMSG, task->tid, 0, &former);
  if ((pid_t)former != task->tid) remove_task((pid_t)former);
  task->waiting = false;
  alter_image(task);
}

static bool call_at(pid_t tid, call_info *info) {
  return ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof *info, info) > 0;
}

static void on_call(struct task *task) {
  call_info info;
  if (!call_at(task->tid, &info) || info.op != PTRACE_SYSCALL_INFO_SECCOMP) return;
  uint64_t arguments[6];
  memcpy(arguments, info.seccomp.args, sizeof arguments);
  before_call(task, (long)info.seccomp.nr, arguments);
}

static void on_result(struct task *task) {
  call_info info;
  if (task->waiting && call_at(task->tid, &info) && info.op == PTRACE_SYSCALL_INFO_EXIT)
    after_call(task, info.exit.rval);
}

static bool is_group_stop(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

static void on_stop(struct task *task, int status) {
  int signal = WSTOPSIG(status), deliver = 0;
  switch (status >> 16) {
    case PTRACE_EVENT_SECCOMP:
      on_call(task);
      break;
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE:
      on_new_task(task);
      break;
    case PTRACE_EVENT_EXEC:
      on_exec(task);
      break;
    case PTRACE_EVENT_STOP:
      if (is_group_stop(signal)) {
        ptrace(PTRACE_LISTEN, task->tid, 0, 0);
        return;
      }
      break;
    default:
      if (signal == (SIGTRAP | 0x80)) on_result(task);
      else deliver = signal;
  }
  resume(task, deliver);
}

/* ---- the end ---- */

static void tick_from_now(void) {
  struct sigaction tick = {.sa_handler = count_tick};
  sigaction(SIGALRM, &tick, NULL);
  struct itimerval every = {{0, TICK_MS * 1000}, {0, TICK_MS * 1000}};
  setitimer(ITIMER_REAL, &every, NULL);
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
      else if (task->introduced) on_stop(task, status);
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
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

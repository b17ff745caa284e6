#define _GNU_SOURCE
#include "trace.h"

#include <asm/unistd.h>
#include <errno.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

int try_to_seize(pid_t pid) {
  static const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                              PTRACE_O_TRACEEXEC | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL;
  return ptrace(PTRACE_SEIZE, pid, 0, options) == 0 ? 0 : errno;
}

int seize(pid_t pid) {
  int error = try_to_seize(pid);
  if (error) kill(pid, SIGKILL);
  return error;
}

bool call_at(pid_t tid, call_info *info) {
  return ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof *info, info) > 0;
}

pid_t event_tid(pid_t tid) {
  unsigned long message = 0;
  ptrace(PTRACE_GETEVENTMSG, tid, 0, &message);
  return (pid_t)message;
}

static bool is_group_stop(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

void on_stop(struct task *task, pid_t tid, int status) {
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
        ptrace(PTRACE_LISTEN, tid, 0, 0);
        return;
      }
      break;
    default:
      if (signal == (SIGTRAP | 0x80)) on_result(task);
      else deliver = signal;
  }
  resume(task, deliver);
}

void close_on_exec_all(void) { syscall(__NR_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC); }

int exit_code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

#define _GNU_SOURCE
#include "wait.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record.h"
#include "trace.h"

static const int SURVIVED[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};

int refuse(const char *text, int error) {
  report_text((struct origin){.kind = KIND_START, .code = (uint16_t)error}, text, NULL);
  flush_records();
  return CANNOT_START;
}

int report_end(int status) {
  uint32_t number = (uint32_t)status;
  report_numbers((struct origin){.kind = KIND_END}, &number, 1);
  flush_records();
  return exit_code_of(status);
}

static void survive(void (*handler)(int)) {
  for (size_t i = 0; i < sizeof SURVIVED / sizeof SURVIVED[0]; i++) signal(SURVIVED[i], handler);
}

/* Signals are blocked until here: one that arrived during the start takes effect now. */
static void become_command(char **argv, int failure, const sigset_t *unblocked) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  survive(SIG_DFL);
  sigprocmask(SIG_SETMASK, unblocked, NULL);
  close_on_exec_all();
  execvp(argv[0], argv);
  int error = errno;
  ssize_t written = write(failure, &error, sizeof error);
  (void)written;
  _exit(CANNOT_START);
}

int wait_for_command(char **argv) {
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) return refuse("no pipe", errno);
  sigset_t all, unblocked;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &unblocked);
  pid_t command = fork();
  if (command < 0) return refuse("fork", errno);
  if (command == 0) become_command(argv, failure[1], &unblocked);
  close(failure[1]);
  survive(SIG_IGN);
  sigprocmask(SIG_SETMASK, &unblocked, NULL);
  int status, error = 0;
  while (waitpid(command, &status, 0) < 0) {
    if (errno != EINTR) return refuse("wait", errno);
  }
  if (read(failure[0], &error, sizeof error) == sizeof error) return refuse("exec", error);
  return report_end(status);
}

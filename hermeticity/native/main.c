/*
 * assay-trace: runs a command and reports every access of it and its descendants to files and sockets.
 *
 *   assay-trace --records FD --linger MS -- COMMAND ARGUMENT…
 *   assay-trace --status FD -- COMMAND ARGUMENT…
 *   assay-trace --slots FD JOBS
 *   assay-trace --version
 *
 * Standard input, output and error belong to the command. Processes that outlive the command are killed and
 * reported after MS milliseconds. If the helper ends, the kernel kills the whole process tree. The exit code
 * is the command's (128 + signal), or 125 if it could not be started; the records tell the two apart.
 *
 * With --status the command is not traced: the helper waits for it and reports only its wait status (wait.h). With
 * --slots it runs no command: it takes slots for commands of its client (slots.h).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "access.h"
#include "core.h"
#include "filter.h"
#include "numbers.h"
#include "park.h"
#include "record.h"
#include "registers.h"
#include "slots.h"
#include "status.h"
#include "task.h"
#include "tick.h"
#include "trace.h"
#include "tracer.h"
#include "wait.h"

enum { TICK_MS = 100 };

static const char LOST[] = "a process ran unwatched for a moment";

static const int FORWARDED[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
static const int STOPPING[] = {SIGTSTP, SIGTTIN, SIGTTOU};

static pid_t command;
static int command_status;
static long linger_ms = 1000;

/* ---- signals to the helper itself ---- */

/* A signal of the terminal reaches the command directly: both are in the foreground. */
static void forward(int signal, siginfo_t *info, void *context) {
  (void)context;
  if (info->si_code != SI_KERNEL && command > 0) kill(command, signal);
}

static void catch_signals(void) {
  struct sigaction action = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART};
  for (size_t i = 0; i < sizeof FORWARDED / sizeof FORWARDED[0]; i++) sigaction(FORWARDED[i], &action, NULL);
  catch_ticks();
}

/* ---- starting the command ---- */

struct start {
  int go[2], failure[2];
  void (*old_pipe_handler)(int);
};

static void become_command(struct start *start, char **argv) {
  char byte;
  close(start->go[1]);
  if (read(start->go[0], &byte, 1) != 1) _exit(CANNOT_START);
  signal(SIGPIPE, start->old_pipe_handler);
  close_on_exec_all();
  if (install_filter() == 0) execvp(argv[0], argv);
  int error = errno;
  ssize_t written = write(start->failure[1], &error, sizeof error);
  (void)written;
  _exit(CANNOT_START);
}

static int start_command(struct start *start, char **argv) {
  if (pipe2(start->go, O_CLOEXEC) != 0 || pipe2(start->failure, O_CLOEXEC) != 0) return errno;
  start->old_pipe_handler = signal(SIGPIPE, SIG_IGN);
  command = fork();
  if (command < 0) return errno;
  if (command == 0) become_command(start, argv);
  close(start->failure[1]);
  /* The terminal stops the command, not the helper: a process that is being handed over waits for it. */
  for (size_t i = 0; i < sizeof STOPPING / sizeof STOPPING[0]; i++) signal(STOPPING[i], SIG_IGN);
  int error = seize(command);
  if (error) return error;
  add_process(command, NULL);
  return write(start->go[1], "g", 1) == 1 ? 0 : errno;
}

/* ---- one stop ---- */

void resume(struct task *task, int signal) {
  int request = task->pending.call ? PTRACE_SYSCALL : PTRACE_CONT;
  ptrace(request, task->tid, 0, signal);
}

/* A child may stop before the event of its parent arrives: then /proc tells its parent. */
static struct task *adopt(pid_t tid) {
  pid_t leader = (pid_t)number_in_status(tid, "Tgid:", 0);
  struct task *sibling = leader && leader != tid ? task_of(leader) : NULL;
  struct task *parent = sibling ? NULL : task_of((pid_t)number_in_status(tid, "PPid:", 0));
  struct task *task = sibling ? add_thread(tid, sibling->process) : add_process(tid, parent ? parent->process : NULL);
  task->unannounced = true;
  unbind(task);
  return task;
}

void on_new_task(struct task *parent) {
  pid_t tid = event_tid(parent->tid);
  struct process *process = parent->process;
  bool thread = syscall(SYS_tgkill, process->pid, tid, 0) == 0;
  struct task *child = task_of(tid);
  if (!child && !came_and_went(tid)) {
    child = thread ? add_thread(tid, process) : add_process(tid, process);
  }
  if (!child) return;
  child->unannounced = false;
  /* It was adopted as a child of its parent, which need not be its creator. */
  if (process->cwd_unsure) child->process->cwd_unsure = true;
  unbind(child);
}

void on_exec(struct task *task) {
  after_exec(take_over(task, event_tid(task->tid)));
}

static void on_foreign_call(struct process *process) {
  if (process->foreign_reported) return;
  process->foreign_reported = true;
  report_gap(process->serial, "a process runs code of another architecture");
}

void on_call(struct task *task) {
  call_info info;
  if (!call_at(task->tid, &info) || info.op != PTRACE_SYSCALL_INFO_SECCOMP) return;
  if (info.arch != NATIVE_ARCHITECTURE) return on_foreign_call(task->process);
  const struct call *call = call_of((long)info.seccomp.nr);
  if (!call) return;
  uint64_t arguments[6];
  memcpy(arguments, info.seccomp.args, sizeof arguments);
  clear_pending(task);
  task->called_from = info.instruction_pointer;
  if (before_call(task, call, arguments) == DENY) answer_call(task->tid, -ENOSYS);
}

void on_result(struct task *task) {
  call_info info;
  if (call_at(task->tid, &info) && info.op == PTRACE_SYSCALL_INFO_EXIT) after_call(task, info.exit.rval);
}

/* ---- the end ---- */

static void tick_from_now(void) {
  ticks = 0;
  tick_every(TICK_MS);
}

static void on_exit_of(pid_t tid, int status) {
  struct task *task = task_of(tid);
  part();
  if (!task) return;
  if (tid == task->process->pid) {
    uint32_t number = (uint32_t)status;
    report_numbers((struct origin){.kind = KIND_EXIT, .process = task->process->serial}, &number, 1);
  }
  abandon_call(task);
  remove_task(task);
  if (tid != command) return;
  command_status = status;
  command = 0;
  if (count_tasks() > 0) tick_from_now();
}

static void end_survivor(struct task *task) {
  struct process *process = task->process;
  kill(process->pid, SIGKILL);
  if (process->survivor_reported) return;
  process->survivor_reported = true;
  report((struct origin){.kind = KIND_SURVIVOR, .process = process->serial}, "", 0, NULL, 0);
}

/* ---- a new process may get a thread of its own (tracer.h) ---- */

static void serve(void);

/*
 * A task that can't be attached again is killed, so that it makes no call unseen. One that has ended was killed by
 * somebody else, or ran by a trick: then all its calls on paths failed with ENOSYS, because no tracer answered.
 */
static void attach_again(struct task *task) {
  int error = try_to_seize(task->tid);
  if (error == 0) {
    ptrace(PTRACE_INTERRUPT, task->tid, 0, 0);
    return;
  }
  if (error != ESRCH && !has_ended(task->tid)) report_gap(task->process->serial, LOST);
  kill(task->tid, SIGKILL);
  remove_task(task);
}

static void serve_from(void *first) {
  struct task *task = first;
  lock();
  tracer->tid = (pid_t)syscall(SYS_gettid);
  use_all_cores();
  task->process->tracer = tracer;
  attach_again(task);
  unlock();
  serve();
  lock();
  part();
  forget_handles();
  unlock();
}

/* True if the task is no longer this thread's. */
static bool hand_over(struct task *task) {
  if (works_alone(task) || !has_idle_tracer(count_cores())) return false;
  task->parked = malloc(sizeof *task->parked);
  if (!task->parked || !park(task->tid, task->parked)) {
    free(task->parked);
    task->parked = NULL;
    return false;
  }
  ptrace(PTRACE_DETACH, task->tid, 0, 0);
  if (!wake_tracer(serve_from, task)) attach_again(task);
  return true;
}

/* At the first stop of a task that was handed over, whatever its reason. */
static void receive(struct task *task) {
  if (!unpark(task->tid, task->parked)) report_gap(task->process->serial, LOST);
  free(task->parked);
  task->parked = NULL;
}

/* ---- the loop of each thread ---- */

/* True if the task is no longer this thread's. */
static bool on_first_stop(struct task *task, int status) {
  task->is_new = false;
  return status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP && hand_over(task);
}

static void on_change(pid_t tid, int status) {
  if (!WIFSTOPPED(status)) return on_exit_of(tid, status);
  struct task *known = task_of(tid);
  struct task *task = known ? known : adopt(tid);
  if (task->parked) receive(task);
  if (task->is_new && on_first_stop(task, status)) return;
  if (command != 0) share_core(task);
  on_stop(task, tid, status);
}

static void serve(void) {
  for (int status; ; unlock()) {
    pid_t tid = wait_for_stop(&status);
    bool none = tid < 0 && errno == ECHILD;
    if (none && (tracer != tracers || wait_for_others())) return;
    lock();
    if (tracer == tracers && command == 0 && ticks * TICK_MS >= linger_ms) for_each_task(end_survivor);
    if (tid > 0) on_change(tid, status);
    else if (command != 0 || tracer != tracers) part_if_quiet();
  }
}

/* Also waits for processes that no thread traces: the action's, if it started one untraced. */
static void watch(void) {
  serve();
  while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR) continue;
}

static int trace(char **argv) {
  struct start start;
  begin_tracing();
  int failed = start_command(&start, argv);
  if (failed) return refuse("this machine does not let one process trace another", failed);
  watch();
  int error = 0;
  if (read(start.failure[0], &error, sizeof error) == sizeof error) return refuse("exec", error);
  return report_end(command_status);
}

static int usage(void) {
  fputs("usage: assay-trace --records FD --linger MS -- COMMAND ARGUMENT…\n"
        "       assay-trace --status FD -- COMMAND ARGUMENT…\n"
        "       assay-trace --slots FD JOBS\n", stderr);
  return CANNOT_START;
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    printf("assay-trace %d\n", RECORD_VERSION);
    return 0;
  }
  if (argc >= 5 && strcmp(argv[1], "--status") == 0 && strcmp(argv[3], "--") == 0) {
    if (!records_to(atoi(argv[2]))) return usage();
    return wait_for_command(argv + 4);
  }
  if (argc == 4 && strcmp(argv[1], "--slots") == 0 && atoi(argv[3]) > 0)
    return share_slots(atoi(argv[2]), atoi(argv[3]));
  bool complete = argc >= 7 && strcmp(argv[1], "--records") == 0 && strcmp(argv[3], "--linger") == 0 &&
                  strcmp(argv[5], "--") == 0;
  if (!complete) return usage();
  linger_ms = atol(argv[4]);
  if (!records_to(atoi(argv[2]))) return usage();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  catch_signals();
  return trace(argv + 6);
}

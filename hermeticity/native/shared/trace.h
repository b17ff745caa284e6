/*
 * The ptrace loop's common part: attaching to the command, and what each kind of stop means.
 *
 * The helper defines `struct task` and the callbacks; this file calls the one that fits a stop.
 */
#ifndef ASSAY_TRACE_H
#define ASSAY_TRACE_H

#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/types.h>

#ifdef __GLIBC__
typedef struct __ptrace_syscall_info call_info;
#else
typedef struct ptrace_syscall_info call_info;
#endif

/* The helper's exit code if the command could not be started. */
enum { CANNOT_START = 125 };

struct task;

/* Defined by each helper. */
void on_call(struct task *task);
void on_result(struct task *task);
void on_new_task(struct task *parent);
void on_exec(struct task *task);
void resume(struct task *task, int signal);

/* Attaches to a child, so that the kernel kills the child and its descendants with the helper. 0, or errno: then it is killed. */
int seize(pid_t pid);

/* The same for a task that is no child. It is not killed if that fails. */
int try_to_seize(pid_t pid);

/* Handles one stop and resumes the task, unless it is a group stop. */
void on_stop(struct task *task, pid_t tid, int status);

/* The call that a task is stopped at. */
bool call_at(pid_t tid, call_info *info);

/* The message of a ptrace event: the id of a new task, or the former id of a thread that called exec. */
pid_t event_tid(pid_t tid);

/* An open file that the command inherited would be an undeclared input: closes all but the standard streams at exec. */
void close_on_exec_all(void);

/* The helper's exit code for a wait status: the command's, or 128 + signal. */
int exit_code_of(int status);

#endif

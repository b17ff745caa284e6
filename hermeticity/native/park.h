/*
 * Parks a new task in the kernel while no thread traces it, so that another thread can take it over.
 *
 * The task waits in poll() with all signals blocked, and executes no other instruction. A task whose helper dies
 * meanwhile can't run on either: after PARKED_MS it would go on without a stack, and the kernel kills it.
 */
#ifndef ASSAY_PARK_H
#define ASSAY_PARK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

enum { PARKED_MS = 30000 };

struct parked {
  struct user_regs_struct registers;
  uint64_t mask;
};

/*
 * The task is stopped before its first instruction, which follows the call that created it. True if the caller may
 * detach now. False changes nothing: this architecture is not supported, the task was created in an unusual way,
 * it could not be attached again, or a filter of its own may forbid poll().
 */
bool park(pid_t tid, struct parked *parked);

/* At the task's first stop under its new tracer. False if it executed anything else meanwhile; true if it was killed. */
bool unpark(pid_t tid, const struct parked *parked);

#endif

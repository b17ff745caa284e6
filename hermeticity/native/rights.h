/*
 * The rights that a program's file gives to its process, and that a traced process does not get.
 *
 * A set-user-ID or set-group-ID program, and one with file capabilities, runs with the rights of its caller
 * under any tracer (no_new_privs). So it may behave differently.
 */
#ifndef ASSAY_RIGHTS_H
#define ASSAY_RIGHTS_H

#include <stdint.h>
#include <sys/types.h>

/* Bits of enum withheld, after a successful exec of this binary; 0 if its process has everything that the file gives. */
uint16_t withheld_rights(pid_t tid, const char *path);

#endif

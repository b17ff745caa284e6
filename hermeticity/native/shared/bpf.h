/*
 * Writes and installs a seccomp filter, which the command and all its descendants keep.
 *
 * A helper emits the program instruction by instruction. A call that it returns SECCOMP_RET_TRACE for stops
 * for the helper; every other call runs at full speed.
 */
#ifndef ASSAY_BPF_H
#define ASSAY_BPF_H

#include <linux/filter.h>
#include <linux/seccomp.h>

void emit(unsigned short code, unsigned value, unsigned char if_true, unsigned char if_false);

/* Ends the program with this SECCOMP_RET_ value. */
void answer(unsigned value);

/* Loads a 32-bit field of struct seccomp_data. */
void load(unsigned offset);

/* Loads the low 32 bits of an argument, or its high 32 bits. */
void load_argument(int index);
void load_argument_high(int index);

/* Returns SECCOMP_RET_TRACE if one of `bits` is set in the argument, else SECCOMP_RET_ALLOW. */
void stop_on_bits(int argument, unsigned bits);

/* Emits a jump whose target land_here() sets later. Returns its position. */
unsigned short leap(void);
void land_here(unsigned short leap);

/* Installs the program for the calling process. 0, or -1 with errno. */
int install_program(void);

#endif

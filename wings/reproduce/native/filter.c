#include "filter.h"

#include <asm/unistd.h>
#include <linux/futex.h>
#include <stddef.h>
#include <time.h>

#include "bpf.h"
#include "registers.h"
#include "world.h"

static void stop_at(unsigned call) {
  emit(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
  answer(SECCOMP_RET_TRACE);
}

/* Clocks of other processes and of devices have negative numbers and are not simulated. */
static void stop_at_every_clock(void) {
  emit(BPF_JMP | BPF_JEQ | BPF_K, __NR_clock_gettime, 0, 4);
  load_argument(0);
  emit(BPF_JMP | BPF_JGE | BPF_K, 0x80000000, 1, 0);
  answer(SECCOMP_RET_TRACE);
  answer(SECCOMP_RET_ALLOW);
}

static void stop_at_clocks_of_the_day(void) {
  emit(BPF_JMP | BPF_JEQ | BPF_K, __NR_clock_gettime, 0, 6);
  load_argument(0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, CLOCK_REALTIME, 3, 0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, CLOCK_REALTIME_COARSE, 2, 0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, CLOCK_TAI, 1, 0);
  answer(SECCOMP_RET_ALLOW);
  answer(SECCOMP_RET_TRACE);
}

static void stop_at_bits(unsigned call, int argument, unsigned bits) {
  emit(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4);
  stop_on_bits(argument, bits);
}

/* Absolute sleeps only: a relative sleep is the same by any clock. */
static void stop_at_alarms(void) {
  emit(BPF_JMP | BPF_JEQ | BPF_K, __NR_clock_nanosleep, 0, 6);
  load_argument(0);
  emit(BPF_JMP | BPF_JEQ | BPF_K, CLOCK_REALTIME, 0, 3);
  load_argument(1);
  emit(BPF_JMP | BPF_JSET | BPF_K, TIMER_ABSTIME, 0, 1);
  answer(SECCOMP_RET_TRACE);
  answer(SECCOMP_RET_ALLOW);
}

static void stop_at_file_status(void) {
  stop_at(__NR_newfstatat);
  stop_at(__NR_fstat);
  stop_at(__NR_statx);
#ifdef __NR_stat
  stop_at(__NR_stat);
  stop_at(__NR_lstat);
#endif
}

static void stop_at_users(void) {
  static const unsigned calls[] = {__NR_getuid,   __NR_geteuid,   __NR_getgid,    __NR_getegid, __NR_getresuid, __NR_getresgid,
                                   __NR_setuid,   __NR_setgid,    __NR_setreuid,  __NR_setregid, __NR_setresuid, __NR_setresgid,
                                   __NR_getgroups};
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) stop_at(calls[i]);
}

static void stop_at_time(void) {
  if (world.frozen) stop_at_every_clock();
  else stop_at_clocks_of_the_day();
  stop_at(__NR_gettimeofday);
#ifdef __NR_time
  stop_at(__NR_time);
#endif
  stop_at_bits(__NR_futex, 1, FUTEX_CLOCK_REALTIME);
  stop_at_alarms();
}

/* Programs of another architecture get the kernel's answers. */
static void write_program(void) {
  load(offsetof(struct seccomp_data, arch));
  emit(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCHITECTURE, 1, 0);
  answer(SECCOMP_RET_ALLOW);
  load(offsetof(struct seccomp_data, nr));
  if (world.has_clock) stop_at_time();
  if (world.has_clock || world.has_user) stop_at_file_status();
  if (world.has_seed) stop_at(__NR_getrandom);
  if (world.host) stop_at(__NR_uname);
  if (world.processors > 0) stop_at(__NR_sched_getaffinity);
  if (world.has_user) stop_at_users();
  if (world.order != ORDER_AS_IT_IS) stop_at(__NR_getdents64);
  answer(SECCOMP_RET_ALLOW);
}

int install_filter(void) {
  write_program();
  return install_program();
}

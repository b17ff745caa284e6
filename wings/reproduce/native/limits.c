#define _GNU_SOURCE
#include "limits.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LOWER_PRIORITY = 5 };

static const struct {
  int resource;
  /* In place of "unlimited". Far above what a program needs. */
  rlim_t large;
} LIMITS[] = {
    {RLIMIT_CPU, 1000000},     {RLIMIT_FSIZE, 1ull << 50},  {RLIMIT_DATA, 1ull << 46},     {RLIMIT_STACK, 1ull << 26},
    {RLIMIT_CORE, 1ull << 40}, {RLIMIT_RSS, 1ull << 46},    {RLIMIT_NPROC, 1000000},       {RLIMIT_NOFILE, 1000000},
    {RLIMIT_AS, 1ull << 47},   {RLIMIT_MEMLOCK, 1ull << 40}, {RLIMIT_SIGPENDING, 1000000}, {RLIMIT_MSGQUEUE, 1ull << 30},
};

/* With an unlimited stack the kernel maps memory elsewhere, which changes every address. */
static rlim_t other_than(int resource, rlim_t now, rlim_t large) {
  enum { FEW = 64 };
  if (now == RLIM_INFINITY) return resource == RLIMIT_STACK ? now : large;
  if (resource == RLIMIT_CORE && now == 0) return large;
  return now > FEW ? now - now / FEW : now;
}

void change_limits(void) {
  for (unsigned i = 0; i < sizeof LIMITS / sizeof LIMITS[0]; i++) {
    struct rlimit limit;
    if (getrlimit(LIMITS[i].resource, &limit) != 0) continue;
    limit.rlim_cur = other_than(LIMITS[i].resource, limit.rlim_cur, LIMITS[i].large);
    if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
    setrlimit(LIMITS[i].resource, &limit);
  }
  struct sched_param none = {0};
  sched_setscheduler(0, SCHED_BATCH, &none);
  if (nice(LOWER_PRIORITY) < 0) return;
}

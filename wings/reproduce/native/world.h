/* The simulated facts. A fact that is not set stays real. */
#ifndef ASSAY_WORLD_H
#define ASSAY_WORLD_H

#include <stdbool.h>
#include <stdint.h>

enum order { ORDER_AS_IT_IS, ORDER_RISING, ORDER_FALLING };

struct world {
  /* The time of day in nanoseconds since 1970; it stands still for `hold` nanoseconds at a time. */
  bool has_clock;
  int64_t clock, hold;
  /* A file with a later time was changed in this run and gets the simulated time. */
  int64_t since;
  /* Monotonic clocks stand still, too. */
  bool frozen;
  bool has_seed;
  uint64_t seed;
  const char *host;
  int processors;
  bool has_user;
  uint32_t user;
  enum order order;
};

extern struct world world;

#endif

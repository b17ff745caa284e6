/* What the command is told about the world, in place of how it is. What is not set stays as it is. */
#ifndef ASSAY_WORLD_H
#define ASSAY_WORLD_H

#include <stdbool.h>
#include <stdint.h>

enum order { ORDER_AS_IT_IS, ORDER_RISING, ORDER_FALLING };

struct world {
  /* The time of day, in nanoseconds since 1970; it stands still for `hold` nanoseconds at a time. */
  bool has_clock;
  int64_t clock, hold;
  /* Files that were changed since then were changed in this run, and have its time. */
  int64_t since;
  /* Clocks that only ever measure a distance stand still too. */
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

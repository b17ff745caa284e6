#include "chance.h"

#include <string.h>

#include "world.h"

/* Steps of a splitmix64 generator: enough to look random to whoever makes names and seeds of it. */
uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t z = a + 0x9e3779b97f4a7c15ULL * (b + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

void fill_by_chance(struct task *task, void *into, size_t size) {
  uint64_t seed = mix(world.seed, task->lineage);
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    uint64_t word = mix(seed, ++task->chance_asked);
    size_t left = size - at;
    memcpy((char *)into + at, &word, left < sizeof word ? left : sizeof word);
  }
}

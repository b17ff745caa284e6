#include "random.h"

#include <string.h>

#include "world.h"

/* One step of splitmix64: random enough for names and seeds. */
uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t z = a + 0x9e3779b97f4a7c15ULL * (b + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

void fill_random(struct task *task, void *into, size_t size) {
  uint64_t seed = mix(world.seed, task->lineage);
  for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
    uint64_t word = mix(seed, ++task->random_queries);
    size_t left = size - at;
    memcpy((char *)into + at, &word, left < sizeof word ? left : sizeof word);
  }
}

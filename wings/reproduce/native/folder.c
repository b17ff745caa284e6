#include "folder.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "world.h"

/* The kernel's layout of an entry. */
struct entry {
  uint64_t inode;
  int64_t position;
  uint16_t size;
  uint8_t type;
  char name[];
};

enum { LARGEST = 16 * 1024 * 1024, HEADER = 19 };

static int by_name(const void *a, const void *b) {
  int rising = strcmp((*(struct entry *const *)a)->name, (*(struct entry *const *)b)->name);
  return world.order == ORDER_FALLING ? -rising : rising;
}

static size_t find_entries(char *bytes, size_t size, struct entry **entries) {
  size_t count = 0;
  for (size_t at = 0; at + HEADER < size; count++) {
    struct entry *entry = (struct entry *)(bytes + at);
    if (entry->size <= HEADER || at + entry->size > size) return 0;
    entries[count] = entry;
    at += entry->size;
  }
  return count;
}

/* Offsets stay where they were: the next call continues at the last one. */
static void lay_out(char *into, struct entry **entries, const int64_t *positions, size_t count) {
  for (size_t i = 0; i < count; i++) {
    memcpy(into, entries[i], entries[i]->size);
    ((struct entry *)into)->position = positions[i];
    into += entries[i]->size;
  }
}

void reorder_entries(pid_t tid, uint64_t address, size_t size) {
  if (size > LARGEST) return;
  size_t most = size / HEADER + 1;
  char *bytes = malloc(size), *sorted = malloc(size);
  struct entry **entries = malloc(most * sizeof *entries);
  int64_t *positions = malloc(most * sizeof *positions);
  if (bytes && sorted && entries && positions && peek(tid, address, bytes, size)) {
    size_t count = find_entries(bytes, size, entries);
    for (size_t i = 0; i < count; i++) positions[i] = entries[i]->position;
    qsort(entries, count, sizeof *entries, by_name);
    lay_out(sorted, entries, positions, count);
    if (count > 0) poke(tid, address, sorted, size);
  }
  free(bytes);
  free(sorted);
  free(entries);
  free(positions);
}

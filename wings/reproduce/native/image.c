#include "image.h"

#include <elf.h>
#include <string.h>

#include "random.h"
#include "memory.h"
#include "trace.h"
#include "world.h"

enum { MOST_AUXILIARY = 64, CHUNK = 512 };

/* The address after the NULL that ends a list of pointers. */
static uint64_t behind_list(pid_t tid, uint64_t at) {
  for (;;) {
    uint64_t words[CHUNK];
    int got = CHUNK;
    while (got > 0 && !peek(tid, at, words, (size_t)got * sizeof words[0])) got /= 2;
    if (got == 0) return 0;
    for (int i = 0; i < got; i++) {
      if (words[i] == 0) return at + (uint64_t)(i + 1) * sizeof words[0];
    }
    at += (uint64_t)got * sizeof words[0];
  }
}

static void alter_entry(struct task *task, Elf64_auxv_t *entry) {
  char bytes[16];
  switch (entry->a_type) {
    case AT_SYSINFO_EHDR:
      if (world.has_clock || world.frozen) entry->a_type = AT_IGNORE;
      break;
    case AT_RANDOM:
      if (!world.has_seed) break;
      fill_random(task, bytes, sizeof bytes);
      poke(task->tid, entry->a_un.a_val, bytes, sizeof bytes);
      break;
    case AT_UID:
    case AT_EUID:
    case AT_GID:
    case AT_EGID:
      if (world.has_user) entry->a_un.a_val = world.user;
      break;
  }
}

void alter_image(struct task *task) {
  call_info info;
  if (!call_at(task->tid, &info)) return;
  uint64_t arguments = info.stack_pointer + sizeof(uint64_t);
  uint64_t environment = behind_list(task->tid, arguments);
  uint64_t auxiliary = environment ? behind_list(task->tid, environment) : 0;
  if (!auxiliary) return;
  for (int i = 0; i < MOST_AUXILIARY; i++) {
    uint64_t at = auxiliary + (uint64_t)i * sizeof(Elf64_auxv_t);
    Elf64_auxv_t entry, before;
    if (!peek(task->tid, at, &entry, sizeof entry) || entry.a_type == AT_NULL) return;
    before = entry;
    alter_entry(task, &entry);
    if (memcmp(&before, &entry, sizeof entry) != 0) poke(task->tid, at, &entry, sizeof entry);
  }
}

#define _GNU_SOURCE
#include "loader.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"

enum { MOST_ENTRIES = 64, MOST_HEADERS = 64 };

static const char CACHE[] = "/etc/ld.so.cache";

/* What the kernel told the program at its start. */
struct start {
  uint64_t headers, header_count, loader;
};

static bool read_start(pid_t tid, struct start *start) {
  Elf64_auxv_t entries[MOST_ENTRIES];
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/auxv", tid);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? 0 : read(file, entries, sizeof entries);
  if (file >= 0) close(file);
  *start = (struct start){0};
  for (ssize_t i = 0; i < length / (ssize_t)sizeof entries[0]; i++) {
    if (entries[i].a_type == AT_PHDR) start->headers = entries[i].a_un.a_val;
    if (entries[i].a_type == AT_PHNUM) start->header_count = entries[i].a_un.a_val;
    if (entries[i].a_type == AT_BASE) start->loader = entries[i].a_un.a_val;
  }
  return start->headers && start->loader;
}

static int read_headers(pid_t tid, uint64_t address, uint64_t count, Elf64_Phdr *into) {
  if (count > MOST_HEADERS) count = MOST_HEADERS;
  return peek(tid, address, into, count * sizeof *into) ? (int)count : 0;
}

static const Elf64_Phdr *first_of(const Elf64_Phdr *headers, int count, uint32_t type, uint32_t flags) {
  for (int i = 0; i < count; i++) {
    if (headers[i].p_type == type && (headers[i].p_flags & flags) == flags) return &headers[i];
  }
  return NULL;
}

/*
 * The loader of glibc is named ld-linux-…, and contains no code that a program calls to open a file. musl's
 * loader is its C library: there a call of the program comes from the same code.
 */
static bool has_glibc_loader(pid_t tid, const struct start *start) {
  Elf64_Phdr headers[MOST_HEADERS];
  char path[PATH_MAX];
  int count = read_headers(tid, start->headers, start->header_count, headers);
  const Elf64_Phdr *table = first_of(headers, count, PT_PHDR, 0);
  const Elf64_Phdr *loader = first_of(headers, count, PT_INTERP, 0);
  if (!table || !loader) return false;
  uint64_t moved_by = start->headers - table->p_vaddr;
  if (read_text(tid, moved_by + loader->p_vaddr, path, sizeof path) < 0) return false;
  const char *slash = strrchr(path, '/');
  return strncmp(slash ? slash + 1 : path, "ld-linux", 8) == 0;
}

/* The loader's code. Its ELF header is at its base. */
static void find_loader(pid_t tid, struct process *process) {
  struct start start;
  Elf64_Ehdr header;
  Elf64_Phdr headers[MOST_HEADERS];
  process->loader_known = true;
  process->loader_from = process->loader_to = 0;
  if (!read_start(tid, &start) || !has_glibc_loader(tid, &start)) return;
  if (!peek(tid, start.loader, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return;
  int count = read_headers(tid, start.loader + header.e_phoff, header.e_phnum, headers);
  const Elf64_Phdr *code = first_of(headers, count, PT_LOAD, PF_X);
  if (!code) return;
  process->loader_from = start.loader + code->p_vaddr;
  process->loader_to = process->loader_from + code->p_memsz;
}

/* An exact answer or "no": then the file counts by its content, which is never wrong. */
static bool is_called_by_loader(struct task *task) {
  struct process *process = task->process;
  if (!process->loader_known) find_loader(task->tid, process);
  return task->called_from >= process->loader_from && task->called_from < process->loader_to;
}

void forget_loader(struct process *process) { process->loader_known = false; }

struct node *node_for_caller(struct task *task, struct node *node) {
  static struct node *cache, *by_program;
  if (!cache) cache = node_of(CACHE, sizeof CACHE - 1);
  if (node != cache || is_called_by_loader(task)) return node;
  if (!by_program) by_program = node_by_program(node);
  return by_program;
}

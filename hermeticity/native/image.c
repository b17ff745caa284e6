#define _GNU_SOURCE
#include "image.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record.h"
#include "rights.h"

enum {
  MOST_VARIABLES = 256 * 1024,
  MOST_INTERPRETERS = 5,
  SCRIPT_LINE = 256,
  MOST_HEADERS = 64,
  MOST_ARGUMENTS = 64 * 1024,
};

/* Parses "#! interpreter argument" and copies the interpreter's path to `into`. */
static bool interpreter_of_script(const char *line, size_t length, char *into) {
  if (length < 2 || line[0] != '#' || line[1] != '!') return false;
  const char *from = line + 2, *end = line + length;
  while (from < end && (*from == ' ' || *from == '\t')) from++;
  const char *to = from;
  while (to < end && *to && !strchr(" \t\n", *to)) to++;
  memcpy(into, from, (size_t)(to - from));
  into[to - from] = 0;
  return to > from;
}

static bool loader_of_binary(int file, const char *start, size_t length, char *into) {
  Elf64_Ehdr header;
  if (length < sizeof header) return false;
  memcpy(&header, start, sizeof header);
  bool elf64 = memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64;
  if (!elf64 || header.e_phentsize != sizeof(Elf64_Phdr)) return false;
  for (int i = 0; i < header.e_phnum && i < MOST_HEADERS; i++) {
    Elf64_Phdr segment;
    off_t at = (off_t)header.e_phoff + i * (off_t)sizeof segment;
    if (pread(file, &segment, sizeof segment, at) != sizeof segment) return false;
    if (segment.p_type != PT_INTERP || segment.p_filesz > PATH_MAX) continue;
    ssize_t got = pread(file, into, segment.p_filesz, (off_t)segment.p_offset);
    if (got <= 0) return false;
    into[got] = 0;
    return true;
  }
  return false;
}

/* Whether the file is a script. `into` gets the path of its interpreter or, for a binary, of its loader; "" if there is none. */
static bool read_interpreter(const char *path, char *into) {
  into[0] = 0;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  char start[SCRIPT_LINE];
  ssize_t got = read(file, start, sizeof start);
  size_t length = got > 0 ? (size_t)got : 0;
  bool script = interpreter_of_script(start, length, into);
  if (!script && !loader_of_binary(file, start, length, into)) into[0] = 0;
  close(file);
  return script;
}

/* The kernel heeds the rights of the binary that runs, not those of a script or of a loader. */
void report_program(struct task *task, const struct resolved_path *program) {
  struct resolved_path resolved = *program;
  bool is_loader = false;
  for (int depth = 0; depth < MOST_INTERPRETERS; depth++) {
    struct node *node = resolved.node;
    char interpreter[PATH_MAX + 1] = "";
    bool reported = node->reported & REPORTED_EXEC;
    bool script = !reported && read_interpreter(node->path, interpreter);
    node->reported = (uint16_t)((node->reported & ~REPORTED_ABSENT) | REPORTED_EXEC);
    struct origin origin = {.kind = KIND_EXEC, .process = task->process->serial};
    if (!reported && !script && !is_loader) origin.code = withheld_rights(task->tid, node->path);
    struct identity seen;
    bool stamped = identify(node, &seen) && !(node->reported & REPORTED_WRITE);
    bool same = stamped && seen.inode == node->identity.inode && seen.changed == node->read_at;
    if (stamped && !(reported && same)) {
      node->identity = seen;
      node->read_at = seen.changed;
      report_stamped(origin, (uint64_t[2]){seen.inode, seen.changed}, node->path, resolved.asked);
    } else if (!reported) report_text(origin, node->path, resolved.asked);
    if (depth > 0) free(resolved.asked);
    const char *base = working_folder(task);
    if (!base || !interpreter[0]) return;
    is_loader = !script;
    if (!resolve(viewer_of(task), base, interpreter, FOLLOW, &resolved)) return;
  }
}

/* Reads a file of the process as texts that end with a NUL. Whether all of it fits. */
static bool read_texts(const struct task *task, const char *name, char *into, size_t size, size_t *length) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", task->process->pid, name);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  *length = 0;
  for (ssize_t got; file >= 0 && *length < size; *length += (size_t)got) {
    got = read(file, into + *length, size - *length);
    if (got <= 0) break;
  }
  if (file >= 0) close(file);
  return file >= 0 && *length < size;
}

/* Whether Node is told to load other code before the script. Yes if that can't be seen. */
static bool has_node_options(const struct task *task) {
  static char variables[MOST_VARIABLES];
  static const char name[] = "NODE_OPTIONS=";
  size_t length;
  if (!read_texts(task, "environ", variables, sizeof variables - 1, &length)) return true;
  variables[length] = 0;
  for (const char *at = variables; at < variables + length; at += strlen(at) + 1) {
    if (strncmp(at, name, sizeof name - 1) != 0) continue;
    const char *options = at + sizeof name - 1;
    return strstr(options, "-r") || strstr(options, "--import") || strstr(options, "loader");
  }
  return false;
}

void report_image(struct task *task) {
  static char arguments[MOST_ARGUMENTS];
  char link[64], program[PATH_MAX] = "";
  size_t length;
  struct origin origin = {.kind = KIND_IMAGE, .process = task->process->serial};
  if (!read_texts(task, "cmdline", arguments, sizeof arguments, &length) && length > 0) origin.flags = FLAG_CUT;
  snprintf(link, sizeof link, "/proc/%d/exe", task->process->pid);
  ssize_t got = readlink(link, program, sizeof program - 1);
  program[got > 0 ? got : 0] = 0;
  if (has_node_options(task)) origin.flags |= FLAG_HOOKED;
  report(origin, program, strlen(program), arguments, length);
}

#define _GNU_SOURCE
#include "path.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record.h"

enum { MOST_LINKS = 40 };

const char BEYOND_PATH_MAX[] = "a path is longer than PATH_MAX, so Assay cannot check what is there";

static struct node **buckets;
static uint32_t bucket_count, node_count, generation = 1;

static void *or_die(void *memory) {
  if (!memory) _exit(125);
  return memory;
}

static uint32_t hash_of(const char *text, size_t length) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
  return hash;
}

static void grow(void) {
  uint32_t wider = bucket_count ? bucket_count * 2 : 4096;
  struct node **fresh = or_die(calloc(wider, sizeof *fresh));
  for (uint32_t i = 0; i < bucket_count; i++) {
    for (struct node *node = buckets[i], *next; node; node = next) {
      next = node->next;
      node->next = fresh[node->hash & (wider - 1)];
      fresh[node->hash & (wider - 1)] = node;
    }
  }
  free(buckets);
  buckets = fresh;
  bucket_count = wider;
}

static void renew(struct node *node) {
  if (node->generation == generation) return;
  node->generation = generation;
  forget_type(node);
}

static struct node *find(const char *path, size_t length, uint32_t hash) {
  if (bucket_count == 0) return NULL;
  for (struct node *node = buckets[hash & (bucket_count - 1)]; node; node = node->next) {
    if (node->hash != hash || node->length != length || memcmp(node->path, path, length) != 0) continue;
    renew(node);
    return node;
  }
  return NULL;
}

static struct node *new_node(const char *path, size_t length) {
  struct node *node = or_die(calloc(1, sizeof *node + length + 1));
  memcpy(node->path, path, length);
  node->length = (uint32_t)length;
  return node;
}

static struct node *insert(const char *path, size_t length, uint32_t hash) {
  if (node_count >= bucket_count) grow();
  struct node *node = new_node(path, length);
  node->hash = hash;
  node->generation = generation;
  node->next = buckets[hash & (bucket_count - 1)];
  buckets[hash & (bucket_count - 1)] = node;
  node_count++;
  return node;
}

struct node *node_of(const char *path, size_t length) {
  uint32_t hash = hash_of(path, length);
  struct node *node = find(path, length, hash);
  return node ? node : insert(path, length, hash);
}

struct node *node_by_program(const struct node *node) {
  struct node *second = new_node(node->path, node->length);
  second->by_program = true;
  return second;
}

void forget_type(struct node *node) {
  node->type = TYPE_UNKNOWN;
  free(node->target);
  node->target = NULL;
}

void forget_everything(void) { generation++; }

uint32_t path_generation(void) { return generation; }

static bool below_proc(const char *path) { return strncmp(path, "/proc/", 6) == 0; }

static bool is_dots(const char *name, size_t length) {
  return (length == 1 && name[0] == '.') || (length == 2 && name[0] == '.' && name[1] == '.');
}

/* ---- one path under construction ---- */

struct walk {
  struct viewer viewer;
  char path[LONGEST_PATH];
  size_t length;
  int links;
  bool too_long;
};

static bool below_self(const char *path) {
  return strncmp(path, "/proc/self", 10) == 0 && (path[10] == '/' || path[10] == 0);
}

/* The path that the helper must use to see what the task sees. */
static const char *seen_from_here(const char *path, pid_t pid) {
  static char buffer[LONGEST_PATH];
  if (!below_self(path)) return *path ? path : "/";
  int length = snprintf(buffer, sizeof buffer, "/proc/%d%s", pid, path + 10);
  return length < (int)sizeof buffer ? buffer : path;
}

/* Targets below /proc that are no paths: pipes, sockets, anonymous files. */
static bool leads_nowhere(const char *path, const char *target) {
  if (!below_proc(path)) return false;
  size_t length = strlen(target);
  bool deleted = length > 10 && strcmp(target + length - 10, " (deleted)") == 0;
  bool nameless = strchr(target, ':') && target[0] != '/';
  return deleted || nameless;
}

/* Of the calling thread of the helper. */
static _Thread_local struct {
  const char *path;
  size_t length;
  int handle;
} open_folder;

void resolve_from(const char *path, int handle) {
  open_folder.path = path;
  open_folder.length = path ? strlen(path) : 0;
  open_folder.handle = handle;
}

static int last_link(const struct node *node, const char *here, struct stat *status) {
  size_t length = open_folder.length;
  bool inside = open_folder.path && node->length > length + 1 && node->path[length] == '/' &&
                memcmp(node->path, open_folder.path, length) == 0 && !strchr(node->path + length + 1, '/');
  if (inside) return fstatat(open_folder.handle, node->path + length + 1, status, AT_SYMLINK_NOFOLLOW);
  return lstat(here, status);
}

/* The last path whose stats were taken. */
static struct {
  const struct node *node;
  struct identity identity;
} looked;

static struct identity identity_of(const struct stat *status) {
  const struct timespec *changed = &status->st_ctim;
  uint64_t microseconds = (uint64_t)changed->tv_sec * 1000000 + (uint64_t)changed->tv_nsec / 1000;
  return (struct identity){.inode = status->st_ino, .changed = microseconds, .folder = S_ISDIR(status->st_mode)};
}

void forget_looks(void) { looked.node = NULL; }

bool identify(struct node *node, struct identity *identity) {
  struct stat status;
  if (looked.node != node) {
    if (last_link(node, node->path, &status) != 0) return false;
    looked.node = node;
    looked.identity = identity_of(&status);
  }
  *identity = looked.identity;
  return true;
}

static enum type look_freshly(struct node *node, pid_t pid) {
  const char *here = seen_from_here(node->path, pid);
  struct stat status;
  if (last_link(node, here, &status) != 0) return TYPE_ABSENT;
  looked.node = node;
  looked.identity = identity_of(&status);
  if (S_ISDIR(status.st_mode)) return TYPE_FOLDER;
  if (!S_ISLNK(status.st_mode)) return TYPE_OTHER;
  char target[PATH_MAX];
  ssize_t length = readlink(here, target, sizeof target - 1);
  if (length < 0) return TYPE_OTHER;
  target[length] = 0;
  if (leads_nowhere(node->path, target)) return TYPE_OTHER;
  free(node->target);
  node->target = or_die(strdup(target));
  return TYPE_LINK;
}

static enum type type_of(struct node *node, pid_t pid) {
  if (node->type != TYPE_UNKNOWN) return node->type;
  enum type type = look_freshly(node, pid);
  if (type != TYPE_ABSENT && !below_proc(node->path)) node->type = type;
  return type;
}

static void push(struct walk *walk, const char *name, size_t length) {
  if (walk->length + length + 2 > LONGEST_PATH) {
    walk->too_long = true;
    return;
  }
  walk->path[walk->length++] = '/';
  memcpy(walk->path + walk->length, name, length);
  walk->length += length;
  walk->path[walk->length] = 0;
}

static void pop(struct walk *walk) {
  while (walk->length > 0 && walk->path[--walk->length] != '/') continue;
  walk->path[walk->length] = 0;
}

/* A process's own pid in /proc means /proc/self. */
static void fold_self(struct walk *walk) {
  char own[32];
  int length = snprintf(own, sizeof own, "/proc/%d", walk->viewer.pid);
  bool itself = strcmp(walk->path, own) == 0 || strcmp(walk->path, "/proc/thread-self") == 0;
  if (!itself || length <= 0) return;
  walk->length = strlen(strcpy(walk->path, "/proc/self"));
}

static struct node *node_here(struct walk *walk) {
  if (below_proc(walk->path)) fold_self(walk);
  return node_of(walk->path, walk->length);
}

static void start_at(struct walk *walk, const char *base, const char *raw) {
  walk->length = 0;
  walk->path[0] = 0;
  if (raw[0] == '/' || strcmp(base, "/") == 0) return;
  walk->length = strlen(base);
  if (walk->length >= LONGEST_PATH) {
    walk->length = 0;
    walk->too_long = true;
  }
  memcpy(walk->path, base, walk->length + 1);
}

void report_followed(struct viewer viewer, struct node *node) {
  if (node->reported & REPORTED_FOLLOWED || below_proc(node->path)) return;
  node->reported |= REPORTED_FOLLOWED;
  report_text((struct origin){.kind = KIND_FOLLOWED, .process = viewer.process}, node->path, node->target);
}

/* Whether the path has no ".", ".." or empty part: then a known parent folder needs no resolution. */
static bool is_plain(const char *raw) {
  const char *name = raw + (raw[0] == '/');
  for (;;) {
    const char *end = strchrnul(name, '/');
    if (end == name || is_dots(name, (size_t)(end - name))) return false;
    if (*end == 0) return true;
    name = end + 1;
  }
}

/* The part left to resolve: the last name if its parent is known, else everything. */
static const char *skip_known_parent(struct walk *walk, const char *raw) {
  if (!is_plain(raw)) return raw;
  const char *slash = strrchr(raw, '/');
  size_t extra = slash && slash > raw ? (size_t)(slash - raw) - (raw[0] == '/') : 0;
  size_t before = walk->length;
  if (extra > 0) push(walk, raw + (raw[0] == '/'), extra);
  struct node *parent = find(walk->path, walk->length, hash_of(walk->path, walk->length));
  if (parent && parent->type == TYPE_FOLDER) return slash ? slash + 1 : raw;
  walk->path[walk->length = before] = 0;
  return raw;
}

/* The resolved part ends in a link: continue with its target and then the rest. NULL if that is too long. */
static char *through_link(struct walk *walk, struct node *link, const char *rest, bool folder_wanted) {
  static char joined[2][LONGEST_PATH];
  char *onward = joined[walk->links % 2];
  report_followed(walk->viewer, link);
  int size = snprintf(onward, LONGEST_PATH, "%s%s%s", link->target, *rest || folder_wanted ? "/" : "", rest);
  if (++walk->links > MOST_LINKS || size >= LONGEST_PATH) return NULL;
  if (onward[0] == '/') walk->path[walk->length = 0] = 0;
  else pop(walk);
  return onward;
}

/* Resolves the rest, one name at a time. After a missing name the others are only appended. */
static enum type walk_on(struct walk *walk, char *rest, enum last_link last_link) {
  enum type type = TYPE_FOLDER;
  bool missing = false;
  while (*rest && !walk->too_long) {
    const char *name = rest;
    size_t length = (size_t)(strchrnul(name, '/') - name);
    rest += length;
    bool folder_wanted = *rest == '/';
    rest += strspn(rest, "/");
    if (length == 2 && is_dots(name, 2)) pop(walk);
    if (length == 0 || is_dots(name, length)) continue;
    push(walk, name, length);
    if (missing || walk->too_long) continue;
    bool end = *rest == 0 && !folder_wanted;
    struct node *node = node_here(walk);
    type = walk->length < PATH_MAX ? type_of(node, walk->viewer.pid) : end ? TYPE_OTHER : TYPE_FOLDER;
    if (type == TYPE_LINK && (!end || last_link == FOLLOW)) {
      rest = through_link(walk, node, rest, folder_wanted);
      if (!rest) return TYPE_OTHER;
      type = TYPE_FOLDER;
    }
    missing = type == TYPE_ABSENT || (type != TYPE_FOLDER && !end);
  }
  return missing ? TYPE_ABSENT : type;
}

/* The requested path without following links: "a/../b" is "b". */
static char *absolute(const char *base, const char *raw) {
  static struct walk walk;
  walk.too_long = false;
  start_at(&walk, base, raw);
  for (const char *name = raw; *name;) {
    size_t length = (size_t)(strchrnul(name, '/') - name);
    if (length == 2 && is_dots(name, 2)) pop(&walk);
    else if (length > 0 && !is_dots(name, length)) push(&walk, name, length);
    name += length + (name[length] == '/');
  }
  return or_die(strdup(walk.length ? walk.path : "/"));
}

bool resolve(struct viewer viewer, const char *base, const char *raw, enum last_link last_link, struct resolved_path *resolved) {
  static struct walk walk;
  static char rest[LONGEST_PATH];
  walk.viewer = viewer;
  walk.links = 0;
  walk.too_long = false;
  start_at(&walk, base, raw);
  const char *way = skip_known_parent(&walk, raw);
  size_t length = strlen(way);
  if (length >= LONGEST_PATH) return false;
  memcpy(rest, way, length + 1);
  resolved->type = walk_on(&walk, rest, last_link);
  if (walk.too_long) return false;
  if (walk.length >= PATH_MAX) report_gap(viewer.process, BEYOND_PATH_MAX);
  resolved->node = walk.length ? node_here(&walk) : node_of("/", 1);
  resolved->asked = walk.links > 0 ? absolute(base, raw) : NULL;
  return true;
}

/*
 * Canonical paths, one node each, and the resolution of a requested path to its node.
 *
 * Paths are resolved while the task is stopped before its call. The types of folders, links and files are
 * cached until the action itself changes them. Changes by other processes may be missed.
 */
#ifndef ASSAY_PATH_H
#define ASSAY_PATH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A path that starts at a folder handle can exceed the kernel's PATH_MAX. */
enum { LONGEST_PATH = 16 * 1024 };

/* The gap that such a path causes. */
extern const char BEYOND_PATH_MAX[];

enum type { TYPE_UNKNOWN, TYPE_ABSENT, TYPE_FOLDER, TYPE_LINK, TYPE_OTHER };

enum reported {
  REPORTED_READ = 1,
  REPORTED_PROBE = 2,
  REPORTED_ABSENT = 4,
  REPORTED_LIST = 8,
  REPORTED_WRITE = 16,
  REPORTED_EXEC = 32,
  REPORTED_FOLLOWED = 64,
  REPORTED_ENTERED = 128,
  REPORTED_ATTRIBUTE = 256,
  /* Each of these implies that the path exists. */
  REPORTED_THERE = REPORTED_READ | REPORTED_PROBE | REPORTED_LIST | REPORTED_WRITE | REPORTED_EXEC | REPORTED_ENTERED,
};

/* What stands at a path. */
struct identity {
  uint64_t inode;
  /* The ctime in microseconds. */
  uint64_t changed;
  bool folder;
};

struct node {
  struct node *next;
  char *target;
  /* The last reported names of the folder (listing.h), or NULL. */
  struct listing *listing;
  /* What stood at the path when it was last reported, and the ctime when it was last reported as read. */
  struct identity identity;
  uint64_t read_at;
  uint32_t hash, generation, length;
  /* The last process that was reported to list the folder, or to open the kernel file or the file of an installation:
   * the reason depends on the program. */
  uint32_t lister;
  /* The process that opened the folder just after a look at the folder itself. */
  uint32_t prober;
  /* How often that process was reported to open it. */
  uint16_t openings;
  uint16_t reported;
  uint8_t type;
  /* Reported as accessed by the program itself, not by the dynamic loader (loader.h). */
  bool by_program;
  char path[];
};

/* The process that makes the access: /proc/self is its own. */
struct viewer {
  uint32_t process;
  pid_t pid;
};

enum last_link {
  FOLLOW, /* follow a link in the last part */
  NO_FOLLOW,   /* do not follow it */
};

struct resolved_path {
  struct node *node;
  enum type type;
  /* The requested path, made absolute, if links led to the node; else NULL. Must be freed. */
  char *asked;
};

/* The node of a canonical path. */
struct node *node_of(const char *path, size_t length);

/* A second node of the same path, for accesses by the program itself. node_of() does not find it. */
struct node *node_by_program(const struct node *node);

/* Reports each followed link once. False if the path is too long. */
bool resolve(struct viewer viewer, const char *base, const char *raw, enum last_link last_link, struct resolved_path *resolved);

/*
 * A folder that the helper holds open: names directly in it are resolved from there, which is faster than
 * from the root. `path` is borrowed until the next call; NULL for none.
 */
void resolve_from(const char *path, int handle);

/* The number of calls of forget_everything(): a path resolved earlier may now lead elsewhere. */
uint32_t path_generation(void);

/* What stands at the path now. False if nothing does. The path itself is not followed. */
bool identify(struct node *node, struct identity *identity);

/* Time has passed: identify() takes the stats of a path again. */
void forget_looks(void);

/* Reports once that the link was read. */
void report_followed(struct viewer viewer, struct node *link);

/* The action changed this path: its cached type is invalid. */
void forget_type(struct node *node);

/* A folder or a link was created, removed or moved: any path through it may now lead elsewhere. */
void forget_everything(void);

#endif

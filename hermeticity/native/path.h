/*
 * Canonical paths, each known once, with what was told about it; and the walk that finds one from what a task asked for.
 *
 * The walk looks at the file system while the task stands still before its call. Folders, links and files that were seen
 * are remembered until the action itself changes them; what others change meanwhile may be missed, as it may by the
 * action itself.
 */
#ifndef ASSAY_PATH_H
#define ASSAY_PATH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A path can be longer than the kernel's PATH_MAX where it starts at a folder handle. */
enum { LONGEST_PATH = 16 * 1024 };

/* Why a trace is not complete in which such a path occurs. */
extern const char BEYOND_PATH_MAX[];

enum type { TYPE_UNKNOWN, TYPE_ABSENT, TYPE_FOLDER, TYPE_LINK, TYPE_OTHER };

enum told {
  TOLD_READ = 1,
  TOLD_PROBE = 2,
  TOLD_ABSENT = 4,
  TOLD_LIST = 8,
  TOLD_WRITE = 16,
  TOLD_EXEC = 32,
  TOLD_FOLLOWED = 64,
  TOLD_ENTERED = 128,
  TOLD_ATTRIBUTE = 256,
  /* Each of these says that the path exists. */
  TOLD_THERE = TOLD_READ | TOLD_PROBE | TOLD_LIST | TOLD_WRITE | TOLD_EXEC | TOLD_ENTERED,
};

struct node {
  struct node *next;
  char *target;
  uint32_t hash, generation, length;
  /* The process that was told last to have listed it: why a folder is listed depends on who does it. */
  uint32_t lister;
  uint16_t told;
  uint8_t type;
  char path[];
};

/* Who looks: paths below /proc/self are the task's own. */
struct viewer {
  uint32_t process;
  pid_t pid;
};

enum look {
  FOLLOW, /* through a link at the end */
  STAY,   /* a link at the end is the thing itself */
};

struct place {
  struct node *node;
  enum type type;
  /* What was asked for, made absolute, if a link was on the way; else NULL. To be freed. */
  char *asked;
};

/* The node of a canonical path. */
struct node *node_of(const char *path, size_t length);

/* Tells each link on the way once. False where a path is longer than can be kept. */
bool resolve(struct viewer viewer, const char *base, const char *raw, enum look look, struct place *place);

/*
 * A folder that the helper holds open: names directly in it are looked at from there, which is a shorter way than from
 * the root. `path` is borrowed until the next call; NULL for none.
 */
void look_from(const char *path, int handle);

/* A task lists this folder: it will look at what is in it one by one, so the types of all are asked for at once. */
void remember_names(const struct node *folder);

/* Counts the calls of forget_everything: paths that were found earlier may lead elsewhere now. */
uint32_t path_generation(void);

/* Tells that the link was read, once. */
void tell_followed(struct viewer viewer, struct node *link);

/* The action changed this path itself: what is remembered about its type no longer holds. */
void forget_type(struct node *node);

/* A folder or a link came, went or moved: anything that leads through it may now lead elsewhere. */
void forget_everything(void);

#endif

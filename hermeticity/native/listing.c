#define _GNU_SOURCE
#include "listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "record.h"

/* The kernel's clock for file times ticks every 1 to 10 ms. Two changes within a tick have the same time. */
enum { SETTLED_AFTER_MS = 20 };
/* A record holds at most so many bytes of names. */
enum { MOST_BYTES = 256 * 1024 };
/* The types of so many entries of a folder are remembered. */
enum { MOST_TYPES = 4096 };

struct listing {
  uint64_t hash;
  ino_t inode;
  struct timespec changed;
  /* A later change of the folder gives it another time. */
  bool settled;
};

static struct {
  char *bytes;
  size_t size, used;
} buffer;

static void append(const char *bytes, size_t length) {
  if (buffer.used + length > buffer.size) {
    buffer.size = (buffer.used + length) * 2;
    buffer.bytes = realloc(buffer.bytes, buffer.size);
    if (!buffer.bytes) _exit(125);
  }
  memcpy(buffer.bytes + buffer.used, bytes, length);
  buffer.used += length;
}

static char type_in(DIR *folder, const struct dirent *entry) {
  struct stat status;
  switch (entry->d_type) {
    case DT_REG:
      return 'f';
    case DT_DIR:
      return 'd';
    case DT_LNK:
      return 'l';
    case DT_UNKNOWN:
      break;
    default:
      return 'o';
  }
  if (fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) return 'o';
  return S_ISREG(status.st_mode) ? 'f' : S_ISDIR(status.st_mode) ? 'd' : S_ISLNK(status.st_mode) ? 'l' : 'o';
}

/* FNV-1a of 64 bits. The hashes of a folder's entries are added, so that their order does not count. */
static uint64_t hash_of(const char *bytes, size_t length) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
  return hash;
}

static bool is_dots(const char *name) { return strcmp(name, ".") == 0 || strcmp(name, "..") == 0; }

static void remember_type(const struct node *folder, const char *name, char type) {
  static char path[LONGEST_PATH];
  size_t length = folder->length > 1 ? folder->length : 0, size = strlen(name);
  if ((type != 'f' && type != 'd') || length + 1 + size >= LONGEST_PATH) return;
  memcpy(path, folder->path, length);
  path[length] = '/';
  memcpy(path + length + 1, name, size);
  struct node *node = node_of(path, length + 1 + size);
  if (node->type == TYPE_UNKNOWN) node->type = type == 'd' ? TYPE_FOLDER : TYPE_OTHER;
}

/* Reads the names into the buffer, behind the path. False if the folder can't be read. */
static bool read_names(const struct node *folder, bool first, uint64_t *hash) {
  DIR *names = opendir(folder->path);
  if (!names) return false;
  buffer.used = 0;
  *hash = 0;
  struct dirent *entry;
  for (int i = 0; (entry = readdir(names));) {
    if (is_dots(entry->d_name)) continue;
    char type = type_in(names, entry);
    size_t start = buffer.used;
    append(&type, 1);
    append(entry->d_name, strlen(entry->d_name) + 1);
    *hash += hash_of(buffer.bytes + start, buffer.used - start);
    if (first && i++ < MOST_TYPES) remember_type(folder, entry->d_name, type);
  }
  closedir(names);
  return true;
}

/* The end of the last whole entry within the limit. */
static size_t piece_end(size_t start) {
  size_t end = start + MOST_BYTES;
  if (end >= buffer.used) return buffer.used;
  while (buffer.bytes[end - 1] != 0) end--;
  return end;
}

static void send_names(uint32_t process, const char *path) {
  size_t start = 0, end;
  do {
    end = piece_end(start);
    struct origin origin = {.kind = KIND_NAMES, .process = process, .flags = end < buffer.used ? FLAG_CONTINUED : 0};
    report(origin, path, strlen(path), buffer.bytes ? buffer.bytes + start : "", end - start);
    start = end;
  } while (start < buffer.used);
}

static bool is_settled(struct timespec changed, struct timespec now) {
  int64_t age_ms = (int64_t)(now.tv_sec - changed.tv_sec) * 1000 + (now.tv_nsec - changed.tv_nsec) / 1000000;
  return age_ms > SETTLED_AFTER_MS;
}

/* Files of /proc come and go with every process. */
static bool is_below_proc(const char *path) { return strncmp(path, "/proc", 5) == 0 && (path[5] == '/' || path[5] == 0); }

bool report_names(const struct task *task, struct node *folder) {
  struct stat status;
  struct timespec now;
  struct listing *known = folder->listing;
  if (is_below_proc(folder->path) || stat(folder->path, &status) != 0) return false;
  bool same = known && known->settled && known->inode == status.st_ino && known->changed.tv_sec == status.st_ctim.tv_sec &&
              known->changed.tv_nsec == status.st_ctim.tv_nsec;
  if (same) return false;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  uint64_t hash;
  if (!read_names(folder, !known, &hash)) return false;
  if (!known) known = folder->listing = calloc(1, sizeof *known);
  if (!known) _exit(125);
  bool is_new = known->inode == 0 || known->hash != hash;
  *known = (struct listing){hash, status.st_ino, status.st_ctim, is_settled(status.st_ctim, now)};
  if (is_new) send_names(task->process->serial, folder->path);
  return is_new;
}

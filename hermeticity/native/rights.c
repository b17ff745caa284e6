#define _GNU_SOURCE
#include "rights.h"

#include <endian.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include "record.h"

struct rights {
  unsigned user, group;
  unsigned long long permitted, limit;
};

static bool read_rights(pid_t tid, struct rights *rights) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/%d/status", tid);
  FILE *file = fopen(path, "re");
  int found = 0;
  while (file && fgets(line, sizeof line, file)) {
    found += sscanf(line, "Uid: %*u %u", &rights->user) == 1;
    found += sscanf(line, "Gid: %*u %u", &rights->group) == 1;
    found += sscanf(line, "CapPrm: %llx", &rights->permitted) == 1;
    found += sscanf(line, "CapBnd: %llx", &rights->limit) == 1;
  }
  if (file) fclose(file);
  return found == 4;
}

/* The capabilities of a file: struct vfs_cap_data, little-endian, in 32-bit words of which the second is not used here. */
static unsigned long long capabilities_of(const char *path) {
  uint32_t words[6] = {0};
  ssize_t size = getxattr(path, "security.capability", words, sizeof words);
  if (size < 3 * (ssize_t)sizeof words[0]) return 0;
  return le32toh(words[1]) | (unsigned long long)le32toh(words[3]) << 32;
}

static bool is_without_effect(const char *path) {
  struct statvfs mount;
  return statvfs(path, &mount) == 0 && mount.f_flag & ST_NOSUID;
}

/* Root needs no group's rights. */
uint16_t withheld_rights(pid_t tid, const char *path) {
  struct stat status;
  struct rights rights;
  if (stat(path, &status) != 0) return 0;
  bool sets_user = status.st_mode & S_ISUID;
  bool sets_group = status.st_mode & S_ISGID && status.st_mode & S_IXGRP;
  unsigned long long capabilities = capabilities_of(path);
  if (!sets_user && !sets_group && capabilities == 0) return 0;
  if (is_without_effect(path) || !read_rights(tid, &rights)) return 0;
  uint16_t withheld = 0;
  if (sets_user && status.st_uid != rights.user) withheld |= WITHHELD_USER;
  if (sets_group && status.st_gid != rights.group && rights.user != 0) withheld |= WITHHELD_GROUP;
  if (capabilities & rights.limit & ~rights.permitted) withheld |= WITHHELD_CAPABILITIES;
  return withheld;
}

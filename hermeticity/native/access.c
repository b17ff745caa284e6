#define _GNU_SOURCE
#include "access.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

#include "ask.h"
#include "core.h"
#include "image.h"
#include "listing.h"
#include "loader.h"
#include "memory.h"
#include "numbers.h"
#include "record.h"
#include "socket.h"

#ifndef CLONE_UNTRACED
#define CLONE_UNTRACED 0x00800000
#endif

/* How often one process is reported to open the same kernel file, or the same file of an installation. */
enum { MOST_OPENINGS = 1000 };

static const char UNREADABLE[] = "the memory of a process could not be read";
static const char TOO_LONG[] = "a path is longer than the tracer can keep";
static const char OTHER_VIEW[] = "a process changed its own view of the file system (mounts, namespaces, chroot)";
static const char OTHER_TRACER[] = "a process tried to trace another one";
static const char OTHER_LISTENER[] = "a process answers system calls for another one (seccomp listener)";

/* ---- reporting ---- */

static void report_path(struct task *task, enum kind kind, uint8_t flags, const struct resolved_path *resolved) {
  struct origin origin = {.kind = kind, .flags = flags, .process = task->process->serial};
  if (resolved->node->by_program) origin.flags |= FLAG_BY_PROGRAM;
  report_text(origin, resolved->node->path, resolved->asked);
}

static void report_there(struct task *task, enum kind kind, enum reported bit, const struct resolved_path *resolved) {
  struct node *node = resolved->node;
  node->reported &= (uint16_t)~REPORTED_ABSENT;
  if (node->reported & bit) return;
  node->reported |= bit;
  report_path(task, kind, 0, resolved);
}

static bool is_virtual(const char *path) {
  return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0 || strncmp(path, "/dev/", 5) == 0;
}

/*
 * Reports a look at a path with its inode, and again if a later look finds another one: somebody put it there. The
 * action's own paths need no stamp. `enough`: any of these bits says what the look says.
 */
static void report_look(struct task *task, enum kind kind, enum reported bit, uint16_t enough, const struct resolved_path *resolved) {
  struct node *node = resolved->node;
  struct identity seen;
  bool stamped = !(node->reported & REPORTED_WRITE) && !is_virtual(node->path) && identify(node, &seen);
  if (!stamped) {
    if (!(node->reported & enough)) report_there(task, kind, bit, resolved);
    return;
  }
  bool same = seen.inode == node->identity.inode && seen.folder == node->identity.folder;
  bool known = node->reported & enough && same;
  node->reported = (uint16_t)((node->reported & ~REPORTED_ABSENT) | bit);
  if (known) return;
  node->identity = seen;
  struct origin origin = {.kind = kind, .process = task->process->serial, .flags = seen.folder ? FLAG_FOLDER : 0};
  if (node->by_program) origin.flags |= FLAG_BY_PROGRAM;
  report_stamped(origin, (uint64_t[2]){seen.inode, 0}, node->path, resolved->asked);
}

static void report_probe(struct task *task, const struct resolved_path *resolved) {
  report_look(task, KIND_PROBE, REPORTED_PROBE, REPORTED_THERE, resolved);
}

static void report_absent(struct task *task, uint8_t flags, const struct resolved_path *resolved) {
  struct node *node = resolved->node;
  if (node->reported & REPORTED_ABSENT) return;
  node->reported = REPORTED_ABSENT;
  report_path(task, KIND_ABSENT, flags, resolved);
}

/* The path is now the action's own: its existence needs no report any more, but a read of it does. */
static void report_created(struct task *task, uint8_t flags, const struct resolved_path *resolved) {
  resolved->node->reported = REPORTED_WRITE | REPORTED_PROBE;
  forget_type(resolved->node);
  report_path(task, KIND_WRITE, FLAG_CREATED | flags, resolved);
}

static void report_written(struct task *task, const struct resolved_path *resolved) {
  report_there(task, KIND_WRITE, REPORTED_WRITE, resolved);
}

static void report_attribute(struct task *task, const struct resolved_path *resolved) {
  if (resolved->node->reported & REPORTED_ATTRIBUTE) return;
  resolved->node->reported |= REPORTED_ATTRIBUTE;
  report_path(task, KIND_WRITE, FLAG_ATTRIBUTE, resolved);
}

static void mark_deleted(struct node *node) {
  node->reported = REPORTED_ABSENT;
  forget_type(node);
}

/* Errors that are about the call, not about the path. */
static bool is_about_the_call(int error) {
  switch (error) {
    case EFAULT:
    case EINVAL:
    case EBADF:
    case ENOSYS:
    case EMFILE:
    case ENFILE:
    case EINTR:
    case ENOMEM:
    case ENAMETOOLONG:
    case EOPNOTSUPP:
      return true;
    default:
      return false;
  }
}

static bool opens(const struct call *call) {
  return call->meaning == OPEN || call->meaning == OPEN_HOW || call->meaning == CREATE_FILE;
}

/* Whether the open call depends on the file's content: it reads, or it appends. */
static bool wants_content(uint64_t flags) {
  if (flags & (O_TRUNC | O_EXCL | O_PATH | O_DIRECTORY)) return false;
  return flags & O_APPEND || (flags & O_ACCMODE) != O_WRONLY;
}

/* A call that needs an empty folder tells that there are names in it. */
static void report_not_empty(struct task *task, const struct pending *pending) {
  bool renames = pending->call->meaning == RENAME;
  if (!renames && pending->call->meaning != DELETE) return;
  const struct resolved_path *folder = renames ? &pending->second : &pending->resolved;
  if (folder->type != TYPE_FOLDER) return;
  report_names(task, folder->node);
  report_there(task, KIND_LIST, REPORTED_LIST, folder);
}

/* A failed call on a path is still a probe. */
static void report_failure(struct task *task, const struct pending *pending, int error) {
  const struct resolved_path *resolved = &pending->resolved;
  uint8_t flags = opens(pending->call) && wants_content(pending->flags) ? FLAG_WANTED : 0;
  if (error == ENOENT || error == ENOTDIR) return report_absent(task, flags, resolved);
  if (is_about_the_call(error)) return;
  if (error == ENOTEMPTY || error == EEXIST) report_not_empty(task, pending);
  if (resolved->type == TYPE_ABSENT) return report_absent(task, 0, resolved);
  report_probe(task, resolved);
}

/* ---- finding the path that a call means ---- */

static bool is_cwd(const struct call *call, const uint64_t *arguments, int folder) {
  return call->folder == CWD || (int)arguments[folder] == AT_FDCWD;
}

static bool resolve_handle(struct task *task, int handle, struct resolved_path *resolved) {
  const char *path = path_of_handle(task, handle);
  if (!path) return false;
  *resolved = (struct resolved_path){.node = node_of(path, strlen(path)), .type = TYPE_OTHER};
  return true;
}

/* False if the call names no path: it uses a handle only, or will fail. */
static bool locate_at(struct task *task, const struct call *call, const uint64_t *arguments, int folder, int path,
                      enum last_link last_link, struct resolved_path *resolved) {
  static char raw[LONGEST_PATH];
  if (arguments[path] == 0) return false;
  if (read_text(task->tid, arguments[path], raw, sizeof raw) < 0) {
    if (errno == EPERM || errno == ESRCH) report_gap(task->process->serial, UNREADABLE);
    return false;
  }
  if (raw[0] == 0) return false;
  const char *base = "/";
  errno = 0;
  if (raw[0] != '/') {
    base = is_cwd(call, arguments, folder) ? working_folder(task) : path_of_handle(task, (int)arguments[folder]);
  }
  if (!base && errno == ENAMETOOLONG) report_gap(task->process->serial, BEYOND_PATH_MAX);
  if (!base) return false;
  if (resolve(viewer_of(task), base, raw, last_link, resolved)) return true;
  report_gap(task->process->serial, TOO_LONG);
  return false;
}

static bool locate(struct task *task, const struct call *call, const uint64_t *arguments, enum last_link last_link,
                   struct resolved_path *resolved) {
  return locate_at(task, call, arguments, call->folder, call->path, last_link, resolved);
}

/* For calls that only look. */
static bool locate_look(struct task *task, const struct call *call, const uint64_t *arguments, enum last_link last_link,
                        struct resolved_path *resolved) {
  if (!locate(task, call, arguments, last_link, resolved)) return false;
  resolved->node = node_for_caller(task, resolved->node);
  return true;
}

/* The second path follows the first, with its folder handle where there is one. */
static bool locate_second(struct task *task, const struct call *call, const uint64_t *arguments, struct resolved_path *resolved) {
  int distance = call->folder == CWD ? 1 : 2;
  return locate_at(task, call, arguments, call->folder + distance, call->path + distance, NO_FOLLOW, resolved);
}

static uint64_t flags_of(const struct call *call, const uint64_t *arguments) {
  return call->flags == NONE ? 0 : (uint32_t)arguments[call->flags];
}

/* For calls that take a path, or the handle itself (AT_EMPTY_PATH, or no path at all as in futimens). */
static bool locate_or_handle(struct task *task, const struct call *call, const uint64_t *arguments, enum last_link last_link,
                             struct resolved_path *resolved) {
  if (locate(task, call, arguments, last_link, resolved)) return true;
  bool by_handle = flags_of(call, arguments) & AT_EMPTY_PATH || arguments[call->path] == 0;
  if (!by_handle || call->folder == CWD) return false;
  return resolve_handle(task, (int)arguments[call->folder], resolved);
}

/* ---- before the call ---- */

static enum next wait_for(struct task *task, const struct call *call, const uint64_t *arguments,
                          const struct resolved_path *resolved) {
  struct pending *pending = &task->pending;
  pending->call = call;
  pending->resolved = *resolved;
  memcpy(pending->arguments, arguments, sizeof pending->arguments);
  return SEE_RESULT;
}

static enum next no_news(struct resolved_path *resolved) {
  free(resolved->asked);
  return RUN_ON;
}

static bool ends_with(const struct node *node, const char *end) {
  size_t length = strlen(end);
  return node->length > length && strcmp(node->path + node->length - length, end) == 0;
}

/* Which process loads a module of Python tells who listed its folder. So each process's opening is reported. */
static void repeat_module(const struct task *task, struct node *node) {
  if (node->lister == task->process->serial || node->reported & REPORTED_WRITE) return;
  if (!ends_with(node, ".py") && !ends_with(node, ".pyc")) return;
  node->lister = task->process->serial;
  node->openings = 0;
  node->reported &= (uint16_t)~(REPORTED_READ | REPORTED_ABSENT);
}

/* A compiled Python module, or a file that an installer writes, but not of the system's software. */
static bool is_of_installation(const struct node *node) {
  static const char *const ends[] = {".pyc", "/pyvenv.cfg", ".pth", ".egg-link", ".dist-info/RECORD", "/direct_url.json"};
  if (strncmp(node->path, "/usr/", 5) == 0) return false;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (ends_with(node, ends[i])) return true;
  const char *name = strrchr(node->path, '/');
  if (strncmp(name, "/_", 2) == 0 && strstr(name, "editable")) return true;
  return name - node->path >= 4 && (memcmp(name - 4, "/bin", 4) == 0 || memcmp(name - 4, ".bin", 4) == 0);
}

/* A program that wants the size of such a file is another one than the program that it is for. */
static void repeat_look(const struct task *task, struct node *node) {
  if (node->lister == task->process->serial || node->reported & REPORTED_WRITE || !is_of_installation(node)) return;
  node->lister = task->process->serial;
  node->openings = 0;
  node->reported &= (uint16_t)~REPORTED_THERE;
}

static bool is_known_absent(const struct resolved_path *resolved) {
  return resolved->type == TYPE_ABSENT && resolved->node->reported & REPORTED_ABSENT;
}

/* A known type may be out of date: somebody else may have removed the path. */
static void look_again(struct resolved_path *resolved) {
  struct identity seen;
  if (resolved->type == TYPE_ABSENT || is_virtual(resolved->node->path) || identify(resolved->node, &seen)) return;
  forget_type(resolved->node);
  resolved->type = TYPE_ABSENT;
}

/*
 * Reports a path that the tracer itself sees before the call, without waiting for the result: that halves the
 * stops. If the path vanishes in between, the probe of an existing path is a finding in the same cases. A
 * path that the tracer does not see is reported by the call's result alone.
 */
static enum next before_probe(struct task *task, const struct call *call, const uint64_t *arguments, enum last_link last_link) {
  struct resolved_path resolved;
  if (!locate_look(task, call, arguments, last_link, &resolved)) return RUN_ON;
  look_again(&resolved);
  if (resolved.type == TYPE_FOLDER) task->process->probed = resolved.node;
  if (resolved.type != TYPE_ABSENT) {
    repeat_look(task, resolved.node);
    report_probe(task, &resolved);
    bool asks = asks_user_attributes(task, call, arguments);
    return asks ? wait_for(task, call, arguments, &resolved) : no_news(&resolved);
  }
  return is_known_absent(&resolved) ? no_news(&resolved) : wait_for(task, call, arguments, &resolved);
}

static void report_link_read(struct task *task, const struct resolved_path *resolved) {
  if (resolved->type == TYPE_LINK) report_followed(viewer_of(task), resolved->node);
  else report_probe(task, resolved);
}

static enum next before_read_link(struct task *task, const struct call *call, const uint64_t *arguments) {
  struct resolved_path resolved;
  if (!locate_look(task, call, arguments, NO_FOLLOW, &resolved)) return RUN_ON;
  if (resolved.type != TYPE_ABSENT) {
    report_link_read(task, &resolved);
    return no_news(&resolved);
  }
  return is_known_absent(&resolved) ? no_news(&resolved) : wait_for(task, call, arguments, &resolved);
}

static bool writes(uint64_t flags) {
  return !(flags & O_PATH) && ((flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC));
}

/* Describes the machine: not what most programs read of themselves, such as /proc/self/maps. */
static bool is_kernel_file(const char *path) {
  if (strncmp(path, "/sys/", 5) == 0) return true;
  if (strncmp(path, "/proc/", 6) != 0) return false;
  return strncmp(path, "/proc/self/", 11) != 0 || strcmp(path, "/proc/self/cgroup") == 0 || strcmp(path, "/proc/self/mountinfo") == 0;
}

/*
 * Each opening of a kernel file may have another reason: the runtime's at its start, or the script's. The same holds
 * for what an installer writes: the program that it is for opens it, or somebody who wants its bytes.
 */
static void repeat_opening(const struct task *task, struct node *node) {
  if (!is_kernel_file(node->path) && !is_of_installation(node)) return;
  if (node->lister != task->process->serial) node->openings = 0;
  node->lister = task->process->serial;
  if (node->openings++ < MOST_OPENINGS) node->reported &= (uint16_t)~REPORTED_READ;
  else node->openings = MOST_OPENINGS;
}

/*
 * Reports a read with the file's inode and ctime, and again if another opening finds others: somebody changed
 * the file, or put another one in its place. The action's own files need no stamp.
 */
static void report_read(struct task *task, const struct resolved_path *resolved) {
  struct node *node = resolved->node;
  struct identity seen;
  bool stamped = !(node->reported & REPORTED_WRITE) && !is_virtual(node->path) && identify(node, &seen);
  if (!stamped) return report_there(task, KIND_READ, REPORTED_READ, resolved);
  bool known = node->reported & REPORTED_READ && seen.inode == node->identity.inode && seen.changed == node->read_at;
  node->reported = (uint16_t)((node->reported & ~REPORTED_ABSENT) | REPORTED_READ);
  if (known) return;
  node->identity = seen;
  node->read_at = seen.changed;
  struct origin origin = {.kind = KIND_READ, .process = task->process->serial};
  if (node->by_program) origin.flags |= FLAG_BY_PROGRAM;
  report_stamped(origin, (uint64_t[2]){seen.inode, seen.changed}, node->path, resolved->asked);
}

/* Each opening of a folder may have another reason to list it. */
static void report_opened(struct task *task, const struct resolved_path *resolved, uint64_t flags) {
  struct node *node = resolved->node;
  if (resolved->type == TYPE_FOLDER) {
    node->reported &= (uint16_t)~REPORTED_LIST;
    node->prober = task->process->probed_before == node ? task->process->serial : 0;
  } else repeat_opening(task, node);
  if (resolved->type == TYPE_FOLDER || flags & O_PATH) report_probe(task, resolved);
  else report_read(task, resolved);
}

/* /proc/PID/status contains the process's CPU affinity. */
static bool shows_cores(const struct resolved_path *resolved) { return strncmp(resolved->node->path, "/proc/", 6) == 0; }

static enum next before_open(struct task *task, const struct call *call, const uint64_t *arguments, uint64_t flags) {
  struct resolved_path resolved;
  bool stays = flags & O_NOFOLLOW || (flags & O_CREAT && flags & O_EXCL);
  if (!locate(task, call, arguments, stays ? NO_FOLLOW : FOLLOW, &resolved)) return RUN_ON;
  if (shows_cores(&resolved)) part_all();
  if (!writes(flags)) resolved.node = node_for_caller(task, resolved.node);
  if (!writes(flags)) look_again(&resolved);
  if (!writes(flags)) repeat_module(task, resolved.node);
  if (!writes(flags) && resolved.type != TYPE_ABSENT) {
    report_opened(task, &resolved, flags);
    return no_news(&resolved);
  }
  if (!writes(flags) && is_known_absent(&resolved)) return no_news(&resolved);
  task->pending.flags = flags;
  return wait_for(task, call, arguments, &resolved);
}

static enum next before_open_how(struct task *task, const struct call *call, const uint64_t *arguments) {
  struct open_how how = {0};
  if (read_memory(task->tid, arguments[call->flags], &how, sizeof how) < (ssize_t)sizeof how) return RUN_ON;
  if (how.resolve & RESOLVE_IN_ROOT) report_gap(task->process->serial, OTHER_VIEW);
  return before_open(task, call, arguments, how.flags);
}

static enum next before_list(struct task *task, int handle) {
  struct resolved_path resolved;
  if (!resolve_handle(task, handle, &resolved)) return RUN_ON;
  struct node *folder = resolved.node;
  bool again = folder->reported & REPORTED_LIST && folder->lister == task->process->serial;
  bool is_new = report_names(task, folder) || folder->lister != task->process->serial;
  folder->lister = task->process->serial;
  folder->reported &= (uint16_t)~REPORTED_ABSENT;
  if (folder->reported & REPORTED_LIST && !is_new) return RUN_ON;
  folder->reported |= REPORTED_LIST;
  uint8_t flags = folder->prober == task->process->serial ? FLAG_PROBED : 0;
  report_path(task, KIND_LIST, flags | (again ? FLAG_AGAIN : 0), &resolved);
  return RUN_ON;
}

static enum next before_change(struct task *task, const struct call *call, const uint64_t *arguments, enum last_link last_link) {
  struct resolved_path resolved;
  if (!locate_or_handle(task, call, arguments, last_link, &resolved)) return RUN_ON;
  return wait_for(task, call, arguments, &resolved);
}

static enum next before_pair(struct task *task, const struct call *call, const uint64_t *arguments) {
  struct resolved_path first, second;
  bool follow = call->meaning == HARD_LINK && flags_of(call, arguments) & AT_SYMLINK_FOLLOW;
  if (!locate_or_handle(task, call, arguments, follow ? FOLLOW : NO_FOLLOW, &first)) return RUN_ON;
  if (!locate_second(task, call, arguments, &second)) return no_news(&first);
  task->pending.second = second;
  return wait_for(task, call, arguments, &first);
}

static enum next before_symlink(struct task *task, const struct call *call, const uint64_t *arguments) {
  static char target[LONGEST_PATH];
  if (read_text(task->tid, arguments[0], target, sizeof target) < 0) return RUN_ON;
  enum next next = before_change(task, call, arguments, NO_FOLLOW);
  if (next == SEE_RESULT) task->pending.text = strdup(target);
  return next;
}

static enum next before_exec(struct task *task, const struct call *call, const uint64_t *arguments) {
  struct resolved_path resolved;
  if (!locate_or_handle(task, call, arguments, FOLLOW, &resolved)) return RUN_ON;
  return is_known_absent(&resolved) ? no_news(&resolved) : wait_for(task, call, arguments, &resolved);
}

static enum next deny_ring(struct task *task, const uint64_t *arguments) {
  enum { FLAGS_OFFSET = 8 };
  uint32_t numbers[2] = {(uint32_t)arguments[0], 0};
  read_memory(task->tid, arguments[1] + FLAGS_OFFSET, &numbers[1], sizeof numbers[1]);
  report_numbers((struct origin){.kind = KIND_RING, .process = task->process->serial}, numbers, 2);
  return DENY;
}

static enum next before_new_view(struct task *task, const struct call *call, const uint64_t *arguments,
                                 uint64_t flags) {
  /* A process may share its working directory with another one, which then may change it for both. */
  if (flags & CLONE_FS && !(flags & CLONE_THREAD)) task->process->cwd_unsure = true;
  bool other_view = call->meaning == NEW_VIEW || flags & (CLONE_NEWNS | CLONE_UNTRACED);
  return other_view ? wait_for(task, call, arguments, &(struct resolved_path){0}) : RUN_ON;
}

static uint64_t clone3_flags(struct task *task, uint64_t address) {
  uint64_t flags = 0;
  read_memory(task->tid, address, &flags, sizeof flags);
  return flags;
}

static enum next before_blinding(struct task *task, const struct call *call, const uint64_t *arguments) {
  if (call->number == __NR_seccomp) return wait_for(task, call, arguments, &(struct resolved_path){0});
  bool starts = arguments[0] == PTRACE_TRACEME || arguments[0] == PTRACE_ATTACH || arguments[0] == PTRACE_SEIZE;
  if (starts) report_gap(task->process->serial, OTHER_TRACER);
  return RUN_ON;
}

enum next before_call(struct task *task, const struct call *call, const uint64_t arguments[6]) {
  forget_looks();
  task->process->probed_before = task->process->probed;
  task->process->probed = NULL;
  enum last_link last_link = flags_of(call, arguments) & AT_SYMLINK_NOFOLLOW ? NO_FOLLOW : FOLLOW;
  switch (call->meaning) {
    case OPEN:
      return before_open(task, call, arguments, flags_of(call, arguments));
    case OPEN_HOW:
      return before_open_how(task, call, arguments);
    case CREATE_FILE:
      return before_open(task, call, arguments, O_WRONLY | O_CREAT | O_TRUNC);
    case PROBE:
      return before_probe(task, call, arguments, last_link);
    case PROBE_LINK:
      return before_probe(task, call, arguments, NO_FOLLOW);
    case READ_LINK:
      return before_read_link(task, call, arguments);
    case LIST:
      return before_list(task, (int)arguments[call->folder]);
    case TRUNCATE:
    case ATTRIBUTE:
      return before_change(task, call, arguments, last_link);
    case ATTRIBUTE_LINK:
    case CREATE_FOLDER:
    case CREATE:
    case DELETE:
      return before_change(task, call, arguments, NO_FOLLOW);
    case SYMLINK:
      return before_symlink(task, call, arguments);
    case HARD_LINK:
    case RENAME:
      return before_pair(task, call, arguments);
    case EXECUTE:
      return before_exec(task, call, arguments);
    case CHANGE_FOLDER:
      return before_change(task, call, arguments, FOLLOW);
    case ATTRIBUTE_HANDLE:
    case CHANGE_FOLDER_HANDLE:
    case OPEN_HANDLE:
      return wait_for(task, call, arguments, &(struct resolved_path){0});
    case CONNECT:
    case BIND:
    case SEND_TO:
    case SEND_MESSAGE:
    case SEND_MESSAGES:
      return before_socket_call(task, call, arguments);
    case RING:
      return deny_ring(task, arguments);
    case NEW_VIEW:
    case NEW_VIEW_FLAGS:
      return before_new_view(task, call, arguments, arguments[0]);
    case NEW_VIEW_STRUCT:
      return before_new_view(task, call, arguments, clone3_flags(task, arguments[0]));
    case ASK:
      return before_ask(task, call);
    case ASK_LIMIT:
      return before_ask_limit(task, call, arguments);
    case IOCTL:
      return before_ioctl(task, call, arguments);
    case NEW_SOCKET:
      return before_new_socket(task, arguments);
    case ATTRIBUTES_OF_HANDLE:
      if (!asks_user_attributes(task, call, arguments)) return RUN_ON;
      return wait_for(task, call, arguments, &(struct resolved_path){0});
    case ASK_CORES:
      part_all();
      return RUN_ON;
    case CHOOSE_CORES:
      leave_cores_to(task, (pid_t)arguments[0]);
      return RUN_ON;
    case BLINDING:
      return before_blinding(task, call, arguments);
  }
  return RUN_ON;
}

/* ---- after the call ---- */

static void after_open(struct task *task, const struct pending *pending) {
  const struct resolved_path *resolved = &pending->resolved;
  uint64_t flags = pending->flags;
  bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
  if (resolved->type == TYPE_FOLDER || nameless) return report_probe(task, resolved);
  if (!writes(flags)) return report_opened(task, resolved, flags);
  if (resolved->type == TYPE_ABSENT) return report_created(task, wants_content(flags) ? FLAG_WANTED : 0, resolved);
  /*
   * Without O_TRUNC the old content stays, so the result depends on it even if the command does not read it.
   */
  if (!(flags & O_TRUNC)) report_there(task, KIND_READ, REPORTED_READ, resolved);
  if ((flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC) report_written(task, resolved);
}

static void after_rename(struct task *task, const struct pending *pending) {
  bool exchange = flags_of(pending->call, pending->arguments) & 2 /* RENAME_EXCHANGE */;
  struct origin origin = {.kind = KIND_RENAME, .process = task->process->serial};
  if (exchange) origin.flags = FLAG_EXCHANGE;
  report_text(origin, pending->resolved.node->path, pending->second.node->path);
  mark_deleted(pending->resolved.node);
  pending->second.node->reported = REPORTED_WRITE | REPORTED_PROBE;
  forget_type(pending->second.node);
  bool plain = pending->resolved.type == TYPE_OTHER && pending->second.type != TYPE_LINK && !exchange;
  if (!plain) forget_everything();
}

static void after_hard_link(struct task *task, const struct pending *pending) {
  bool from_nameless = strncmp(pending->resolved.node->path, "/proc/", 6) == 0;
  if (from_nameless) return report_created(task, 0, &pending->second);
  struct origin origin = {.kind = KIND_HARDLINK, .process = task->process->serial};
  report_text(origin, pending->resolved.node->path, pending->second.node->path);
  /* A write through the new name also changes the old one, so it must be reported. */
  pending->second.node->reported = REPORTED_PROBE;
  forget_type(pending->second.node);
  if (pending->resolved.type == TYPE_LINK) forget_everything();
}

static void after_symlink(struct task *task, const struct pending *pending) {
  struct origin origin = {.kind = KIND_SYMLINK, .process = task->process->serial};
  report_text(origin, pending->resolved.node->path, pending->text ? pending->text : "");
  pending->resolved.node->reported = REPORTED_WRITE | REPORTED_PROBE;
  forget_everything();
}

static void after_delete(struct task *task, const struct resolved_path *resolved) {
  report_path(task, KIND_DELETE, 0, resolved);
  mark_deleted(resolved->node);
  if (resolved->type == TYPE_LINK) forget_everything();
}

static void after_change_folder(struct task *task, const struct pending *pending) {
  free(task->process->cwd);
  task->process->cwd = NULL;
  if (pending->resolved.node) report_look(task, KIND_ENTERED, REPORTED_ENTERED, REPORTED_ENTERED, &pending->resolved);
}

static void after_truncate(struct task *task, const struct pending *pending) {
  bool keeps_some = pending->arguments[pending->call->path + 1] != 0;
  if (keeps_some) report_there(task, KIND_READ, REPORTED_READ, &pending->resolved);
  report_written(task, &pending->resolved);
}

static void after_open_handle(struct task *task, int handle) {
  struct resolved_path resolved;
  if (!resolve_handle(task, handle, &resolved)) return;
  resolved.node = node_for_caller(task, resolved.node);
  report_there(task, KIND_READ, REPORTED_READ, &resolved);
}

static void after_attribute_handle(struct task *task, int handle) {
  struct resolved_path resolved;
  if (resolve_handle(task, handle, &resolved)) report_attribute(task, &resolved);
}

static void after_success(struct task *task, const struct pending *pending, int64_t result) {
  const struct resolved_path *resolved = &pending->resolved;
  switch (pending->call->meaning) {
    case OPEN:
    case OPEN_HOW:
    case CREATE_FILE:
      return after_open(task, pending);
    case OPEN_HANDLE:
      return after_open_handle(task, (int)result);
    case PROBE:
    case PROBE_LINK:
    case READ_LINK:
      report_probe(task, resolved);
      return report_user_attributes(task, pending, result);
    case ATTRIBUTES_OF_HANDLE:
      return report_user_attributes(task, pending, result);
    case TRUNCATE:
      return after_truncate(task, pending);
    case ATTRIBUTE:
    case ATTRIBUTE_LINK:
      return report_attribute(task, resolved);
    case ATTRIBUTE_HANDLE:
      return after_attribute_handle(task, (int)pending->arguments[0]);
    case CREATE_FOLDER:
      return report_created(task, FLAG_FOLDER, resolved);
    case CREATE:
      return report_created(task, 0, resolved);
    case SYMLINK:
      return after_symlink(task, pending);
    case HARD_LINK:
      return after_hard_link(task, pending);
    case RENAME:
      return after_rename(task, pending);
    case DELETE:
      return after_delete(task, resolved);
    case CHANGE_FOLDER:
    case CHANGE_FOLDER_HANDLE:
      return after_change_folder(task, pending);
    case NEW_VIEW:
    case NEW_VIEW_FLAGS:
    case NEW_VIEW_STRUCT:
      return report_gap(task->process->serial, OTHER_VIEW);
    case BLINDING:
      return report_gap(task->process->serial, OTHER_LISTENER);
    default:
      return;
  }
}

static bool is_socket_call(const struct pending *pending) {
  switch (pending->call->meaning) {
    case CONNECT:
    case BIND:
    case SEND_TO:
    case SEND_MESSAGE:
    case SEND_MESSAGES:
      return true;
    default:
      return false;
  }
}

void abandon_call(struct task *task) {
  if (task->pending.call && task->pending.call->meaning == CONNECT) abandon_connect(task);
}

void after_call(struct task *task, int64_t result) {
  const struct pending *pending = &task->pending;
  forget_looks();
  if (!pending->call) return;
  if (is_socket_call(pending)) after_socket_call(task, result);
  else if (result >= 0) after_success(task, pending, result);
  else if (pending->call->meaning == READ_LINK && result == -EINVAL) report_probe(task, &pending->resolved);
  else if (pending->resolved.node) report_failure(task, pending, (int)-result);
  clear_pending(task);
}

void after_exec(struct task *task) {
  const struct pending *pending = &task->pending;
  forget_looks();
  if (pending->call && pending->resolved.node) report_program(task, &pending->resolved);
  report_image(task);
  forget_loader(task->process);
  clear_pending(task);
}

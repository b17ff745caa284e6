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

#include "core.h"
#include "image.h"
#include "memory.h"
#include "numbers.h"
#include "record.h"
#include "socket.h"

#ifndef CLONE_UNTRACED
#define CLONE_UNTRACED 0x00800000
#endif

static const char UNREADABLE[] = "the memory of a process could not be read";
static const char TOO_LONG[] = "a path is longer than the tracer can keep";
static const char OTHER_VIEW[] = "a process changed its own view of the file system (mounts, namespaces, chroot)";
static const char OTHER_TRACER[] = "a process tried to trace another one";
static const char OTHER_LISTENER[] = "a process answers system calls for another one (seccomp listener)";

/* ---- telling ---- */

static void tell_path(struct task *task, enum kind kind, uint8_t flags, const struct place *place) {
  struct origin origin = {.kind = kind, .flags = flags, .process = task->process->serial};
  tell_text(origin, place->node->path, place->asked);
}

static void tell_there(struct task *task, enum kind kind, enum told bit, const struct place *place) {
  struct node *node = place->node;
  node->told &= (uint16_t)~TOLD_ABSENT;
  if (node->told & bit) return;
  node->told |= bit;
  tell_path(task, kind, 0, place);
}

static void tell_probe(struct task *task, const struct place *place) {
  if (!(place->node->told & TOLD_THERE)) tell_there(task, KIND_PROBE, TOLD_PROBE, place);
}

static void tell_absent(struct task *task, uint8_t flags, const struct place *place) {
  struct node *node = place->node;
  if (node->told & TOLD_ABSENT) return;
  node->told = TOLD_ABSENT;
  tell_path(task, KIND_ABSENT, flags, place);
}

/* The path is now the action's own: that it is there needs no telling any more, what is read from it does. */
static void tell_created(struct task *task, uint8_t flags, const struct place *place) {
  place->node->told = TOLD_WRITE | TOLD_PROBE;
  forget_type(place->node);
  tell_path(task, KIND_WRITE, FLAG_CREATED | flags, place);
}

static void tell_written(struct task *task, const struct place *place) {
  tell_there(task, KIND_WRITE, TOLD_WRITE, place);
}

static void tell_attribute(struct task *task, const struct place *place) {
  if (place->node->told & TOLD_ATTRIBUTE) return;
  place->node->told |= TOLD_ATTRIBUTE;
  tell_path(task, KIND_WRITE, FLAG_ATTRIBUTE, place);
}

static void mark_deleted(struct node *node) {
  node->told = TOLD_ABSENT;
  forget_type(node);
}

/* Errors that say nothing about the path. */
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

/* What would have been in the file would have counted: it was to be read, or to be written on to. */
static bool wants_content(uint64_t flags) {
  if (flags & (O_TRUNC | O_EXCL | O_PATH | O_DIRECTORY)) return false;
  return flags & O_APPEND || (flags & O_ACCMODE) != O_WRONLY;
}

/* A call on a path that failed has still looked at it. */
static void tell_failure(struct task *task, const struct pending *pending, int error) {
  const struct place *place = &pending->place;
  uint8_t flags = opens(pending->call) && wants_content(pending->flags) ? FLAG_WANTED : 0;
  if (error == ENOENT || error == ENOTDIR) return tell_absent(task, flags, place);
  if (is_about_the_call(error)) return;
  if (place->type == TYPE_ABSENT) return tell_absent(task, 0, place);
  tell_probe(task, place);
}

/* ---- finding the path that a call means ---- */

static bool is_cwd(const struct call *call, const uint64_t *arguments, int folder) {
  return call->folder == CWD || (int)arguments[folder] == AT_FDCWD;
}

static bool place_of_handle(struct task *task, int handle, struct place *place) {
  const char *path = path_of_handle(task, handle);
  if (!path) return false;
  *place = (struct place){.node = node_of(path, strlen(path)), .type = TYPE_OTHER};
  return true;
}

/* False where the call names no path: it works on a handle alone, or it is bound to fail. */
static bool locate_at(struct task *task, const struct call *call, const uint64_t *arguments, int folder, int path,
                      enum look look, struct place *place) {
  static char raw[LONGEST_PATH];
  if (arguments[path] == 0) return false;
  if (read_text(task->tid, arguments[path], raw, sizeof raw) < 0) {
    if (errno == EPERM || errno == ESRCH) tell_gap(task->process->serial, UNREADABLE);
    return false;
  }
  if (raw[0] == 0) return false;
  const char *base = "/";
  errno = 0;
  if (raw[0] != '/') {
    base = is_cwd(call, arguments, folder) ? working_folder(task) : path_of_handle(task, (int)arguments[folder]);
  }
  if (!base && errno == ENAMETOOLONG) tell_gap(task->process->serial, BEYOND_PATH_MAX);
  if (!base) return false;
  if (resolve(viewer_of(task), base, raw, look, place)) return true;
  tell_gap(task->process->serial, TOO_LONG);
  return false;
}

static bool locate(struct task *task, const struct call *call, const uint64_t *arguments, enum look look,
                   struct place *place) {
  return locate_at(task, call, arguments, call->folder, call->path, look, place);
}

/* The second path of a call that takes two stands right after the first, with its folder where there is one. */
static bool locate_second(struct task *task, const struct call *call, const uint64_t *arguments, struct place *place) {
  int distance = call->folder == CWD ? 1 : 2;
  return locate_at(task, call, arguments, call->folder + distance, call->path + distance, STAY, place);
}

static uint64_t flags_of(const struct call *call, const uint64_t *arguments) {
  return call->flags == NONE ? 0 : (uint32_t)arguments[call->flags];
}

/* For calls that take a path, or with AT_EMPTY_PATH or no path at all (futimens) the handle itself. */
static bool locate_or_handle(struct task *task, const struct call *call, const uint64_t *arguments, enum look look,
                             struct place *place) {
  if (locate(task, call, arguments, look, place)) return true;
  bool by_handle = flags_of(call, arguments) & AT_EMPTY_PATH || arguments[call->path] == 0;
  if (!by_handle || call->folder == CWD) return false;
  return place_of_handle(task, (int)arguments[call->folder], place);
}

/* ---- before the call ---- */

static enum next wait_for(struct task *task, const struct call *call, const uint64_t *arguments,
                          const struct place *place) {
  struct pending *pending = &task->pending;
  pending->call = call;
  pending->place = *place;
  memcpy(pending->arguments, arguments, sizeof pending->arguments);
  return SEE_RESULT;
}

static enum next no_news(struct place *place) {
  free(place->asked);
  return RUN_ON;
}

static bool is_known_absent(const struct place *place) {
  return place->type == TYPE_ABSENT && place->node->told & TOLD_ABSENT;
}

/*
 * What the tracer itself sees to be there, while the task stands still before its call, is told without waiting for the
 * result: that halves the stops. Should it vanish in between, it is told as a look at something that was there, which
 * is a finding in the same cases. What is not seen to be there is told by the result alone.
 */
static enum next before_probe(struct task *task, const struct call *call, const uint64_t *arguments, enum look look) {
  struct place place;
  if (!locate(task, call, arguments, look, &place)) return RUN_ON;
  if (place.type != TYPE_ABSENT) {
    tell_probe(task, &place);
    return no_news(&place);
  }
  return is_known_absent(&place) ? no_news(&place) : wait_for(task, call, arguments, &place);
}

static void tell_link_read(struct task *task, const struct place *place) {
  if (place->type == TYPE_LINK) tell_followed(viewer_of(task), place->node);
  else tell_probe(task, place);
}

static enum next before_read_link(struct task *task, const struct call *call, const uint64_t *arguments) {
  struct place place;
  if (!locate(task, call, arguments, STAY, &place)) return RUN_ON;
  if (place.type != TYPE_ABSENT) {
    tell_link_read(task, &place);
    return no_news(&place);
  }
  return is_known_absent(&place) ? no_news(&place) : wait_for(task, call, arguments, &place);
}

static bool writes(uint64_t flags) {
  return !(flags & O_PATH) && ((flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC));
}

/* Why a folder is listed may be another reason each time that it is opened. */
static void tell_opened(struct task *task, const struct place *place, uint64_t flags) {
  if (place->type == TYPE_FOLDER) place->node->told &= (uint16_t)~TOLD_LIST;
  if (place->type == TYPE_FOLDER || flags & O_PATH) tell_probe(task, place);
  else tell_there(task, KIND_READ, TOLD_READ, place);
}

/* /proc/PID/status names the cores that a process may use. */
static bool shows_cores(const struct place *place) { return strncmp(place->node->path, "/proc/", 6) == 0; }

static enum next before_open(struct task *task, const struct call *call, const uint64_t *arguments, uint64_t flags) {
  struct place place;
  bool stays = flags & O_NOFOLLOW || (flags & O_CREAT && flags & O_EXCL);
  if (!locate(task, call, arguments, stays ? STAY : FOLLOW, &place)) return RUN_ON;
  if (shows_cores(&place)) part();
  if (!writes(flags) && place.type != TYPE_ABSENT) {
    tell_opened(task, &place, flags);
    return no_news(&place);
  }
  if (!writes(flags) && is_known_absent(&place)) return no_news(&place);
  task->pending.flags = flags;
  return wait_for(task, call, arguments, &place);
}

static enum next before_open_how(struct task *task, const struct call *call, const uint64_t *arguments) {
  struct open_how how = {0};
  if (read_memory(task->tid, arguments[call->flags], &how, sizeof how) < (ssize_t)sizeof how) return RUN_ON;
  if (how.resolve & RESOLVE_IN_ROOT) tell_gap(task->process->serial, OTHER_VIEW);
  return before_open(task, call, arguments, how.flags);
}

static enum next before_list(struct task *task, int handle) {
  struct place place;
  if (!place_of_handle(task, handle, &place)) return RUN_ON;
  struct node *folder = place.node;
  if (folder->lister == 0) remember_names(folder);
  if (folder->lister != task->process->serial) folder->told &= (uint16_t)~TOLD_LIST;
  folder->lister = task->process->serial;
  tell_there(task, KIND_LIST, TOLD_LIST, &place);
  return RUN_ON;
}

static enum next before_change(struct task *task, const struct call *call, const uint64_t *arguments, enum look look) {
  struct place place;
  if (!locate_or_handle(task, call, arguments, look, &place)) return RUN_ON;
  return wait_for(task, call, arguments, &place);
}

static enum next before_pair(struct task *task, const struct call *call, const uint64_t *arguments) {
  struct place first, second;
  bool follow = call->meaning == HARD_LINK && flags_of(call, arguments) & AT_SYMLINK_FOLLOW;
  if (!locate_or_handle(task, call, arguments, follow ? FOLLOW : STAY, &first)) return RUN_ON;
  if (!locate_second(task, call, arguments, &second)) return no_news(&first);
  task->pending.second = second;
  return wait_for(task, call, arguments, &first);
}

static enum next before_symlink(struct task *task, const struct call *call, const uint64_t *arguments) {
  static char target[LONGEST_PATH];
  if (read_text(task->tid, arguments[0], target, sizeof target) < 0) return RUN_ON;
  enum next next = before_change(task, call, arguments, STAY);
  if (next == SEE_RESULT) task->pending.text = strdup(target);
  return next;
}

static enum next before_exec(struct task *task, const struct call *call, const uint64_t *arguments) {
  struct place place;
  if (!locate_or_handle(task, call, arguments, FOLLOW, &place)) return RUN_ON;
  return is_known_absent(&place) ? no_news(&place) : wait_for(task, call, arguments, &place);
}

static enum next deny_ring(struct task *task, const uint64_t *arguments) {
  enum { FLAGS_OFFSET = 8 };
  uint32_t numbers[2] = {(uint32_t)arguments[0], 0};
  read_memory(task->tid, arguments[1] + FLAGS_OFFSET, &numbers[1], sizeof numbers[1]);
  tell_numbers((struct origin){.kind = KIND_RING, .process = task->process->serial}, numbers, 2);
  return DENY;
}

static enum next before_new_view(struct task *task, const struct call *call, const uint64_t *arguments,
                                 uint64_t flags) {
  /* A process may share its working folder with another one, which then may leave it for both. */
  if (flags & CLONE_FS && !(flags & CLONE_THREAD)) task->process->cwd_unsure = true;
  bool other_view = call->meaning == NEW_VIEW || flags & (CLONE_NEWNS | CLONE_UNTRACED);
  return other_view ? wait_for(task, call, arguments, &(struct place){0}) : RUN_ON;
}

static uint64_t clone3_flags(struct task *task, uint64_t address) {
  uint64_t flags = 0;
  read_memory(task->tid, address, &flags, sizeof flags);
  return flags;
}

static enum next before_blinding(struct task *task, const struct call *call, const uint64_t *arguments) {
  if (call->number == __NR_seccomp) return wait_for(task, call, arguments, &(struct place){0});
  bool starts = arguments[0] == PTRACE_TRACEME || arguments[0] == PTRACE_ATTACH || arguments[0] == PTRACE_SEIZE;
  if (starts) tell_gap(task->process->serial, OTHER_TRACER);
  return RUN_ON;
}

enum next before_call(struct task *task, const struct call *call, const uint64_t arguments[6]) {
  enum look look = flags_of(call, arguments) & AT_SYMLINK_NOFOLLOW ? STAY : FOLLOW;
  switch (call->meaning) {
    case OPEN:
      return before_open(task, call, arguments, flags_of(call, arguments));
    case OPEN_HOW:
      return before_open_how(task, call, arguments);
    case CREATE_FILE:
      return before_open(task, call, arguments, O_WRONLY | O_CREAT | O_TRUNC);
    case PROBE:
      return before_probe(task, call, arguments, look);
    case PROBE_LINK:
      return before_probe(task, call, arguments, STAY);
    case READ_LINK:
      return before_read_link(task, call, arguments);
    case LIST:
      return before_list(task, (int)arguments[call->folder]);
    case TRUNCATE:
    case ATTRIBUTE:
      return before_change(task, call, arguments, look);
    case ATTRIBUTE_LINK:
    case CREATE_FOLDER:
    case CREATE:
    case DELETE:
      return before_change(task, call, arguments, STAY);
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
      return wait_for(task, call, arguments, &(struct place){0});
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
    case ASK_CORES:
      part();
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
  const struct place *place = &pending->place;
  uint64_t flags = pending->flags;
  bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
  if (place->type == TYPE_FOLDER || nameless) return tell_probe(task, place);
  if (!writes(flags)) return tell_opened(task, place, flags);
  if (place->type == TYPE_ABSENT) return tell_created(task, wants_content(flags) ? FLAG_WANTED : 0, place);
  /* Without O_TRUNC what was in the file stays in it, so the result depends on it even where nobody reads it. */
  if (!(flags & O_TRUNC)) tell_there(task, KIND_READ, TOLD_READ, place);
  if ((flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC) tell_written(task, place);
}

static void after_rename(struct task *task, const struct pending *pending) {
  bool exchange = flags_of(pending->call, pending->arguments) & 2 /* RENAME_EXCHANGE */;
  struct origin origin = {.kind = KIND_RENAME, .process = task->process->serial};
  if (exchange) origin.flags = FLAG_EXCHANGE;
  tell_text(origin, pending->place.node->path, pending->second.node->path);
  mark_deleted(pending->place.node);
  pending->second.node->told = TOLD_WRITE | TOLD_PROBE;
  forget_type(pending->second.node);
  bool plain = pending->place.type == TYPE_OTHER && pending->second.type != TYPE_LINK && !exchange;
  if (!plain) forget_everything();
}

static void after_hard_link(struct task *task, const struct pending *pending) {
  bool from_nameless = strncmp(pending->place.node->path, "/proc/", 6) == 0;
  if (from_nameless) return tell_created(task, 0, &pending->second);
  struct origin origin = {.kind = KIND_HARDLINK, .process = task->process->serial};
  tell_text(origin, pending->place.node->path, pending->second.node->path);
  /* Who writes to the new name writes to the old one, so that is news. */
  pending->second.node->told = TOLD_PROBE;
  forget_type(pending->second.node);
  if (pending->place.type == TYPE_LINK) forget_everything();
}

static void after_symlink(struct task *task, const struct pending *pending) {
  struct origin origin = {.kind = KIND_SYMLINK, .process = task->process->serial};
  tell_text(origin, pending->place.node->path, pending->text ? pending->text : "");
  pending->place.node->told = TOLD_WRITE | TOLD_PROBE;
  forget_everything();
}

static void after_delete(struct task *task, const struct place *place) {
  tell_path(task, KIND_DELETE, 0, place);
  mark_deleted(place->node);
  if (place->type == TYPE_LINK) forget_everything();
}

static void after_change_folder(struct task *task, const struct pending *pending) {
  free(task->process->cwd);
  task->process->cwd = NULL;
  if (pending->place.node) tell_there(task, KIND_ENTERED, TOLD_ENTERED, &pending->place);
}

static void after_truncate(struct task *task, const struct pending *pending) {
  bool keeps_some = pending->arguments[pending->call->path + 1] != 0;
  if (keeps_some) tell_there(task, KIND_READ, TOLD_READ, &pending->place);
  tell_written(task, &pending->place);
}

static void after_handle(struct task *task, int handle, void (*teller)(struct task *, const struct place *)) {
  struct place place;
  if (place_of_handle(task, handle, &place)) teller(task, &place);
}

static void tell_read(struct task *task, const struct place *place) {
  tell_there(task, KIND_READ, TOLD_READ, place);
}

static void after_success(struct task *task, const struct pending *pending, int64_t result) {
  const struct place *place = &pending->place;
  switch (pending->call->meaning) {
    case OPEN:
    case OPEN_HOW:
    case CREATE_FILE:
      return after_open(task, pending);
    case OPEN_HANDLE:
      return after_handle(task, (int)result, tell_read);
    case PROBE:
    case PROBE_LINK:
    case READ_LINK:
      return tell_probe(task, place);
    case TRUNCATE:
      return after_truncate(task, pending);
    case ATTRIBUTE:
    case ATTRIBUTE_LINK:
      return tell_attribute(task, place);
    case ATTRIBUTE_HANDLE:
      return after_handle(task, (int)pending->arguments[0], tell_attribute);
    case CREATE_FOLDER:
      return tell_created(task, FLAG_FOLDER, place);
    case CREATE:
      return tell_created(task, 0, place);
    case SYMLINK:
      return after_symlink(task, pending);
    case HARD_LINK:
      return after_hard_link(task, pending);
    case RENAME:
      return after_rename(task, pending);
    case DELETE:
      return after_delete(task, place);
    case CHANGE_FOLDER:
    case CHANGE_FOLDER_HANDLE:
      return after_change_folder(task, pending);
    case NEW_VIEW:
    case NEW_VIEW_FLAGS:
    case NEW_VIEW_STRUCT:
      return tell_gap(task->process->serial, OTHER_VIEW);
    case BLINDING:
      return tell_gap(task->process->serial, OTHER_LISTENER);
    default:
      return;
  }
}

static bool is_socket_call(const struct pending *pending) {
  return pending->call->meaning == CONNECT || pending->call->meaning == BIND;
}

void after_call(struct task *task, int64_t result) {
  const struct pending *pending = &task->pending;
  if (!pending->call) return;
  if (is_socket_call(pending)) after_socket_call(task, result);
  else if (result >= 0) after_success(task, pending, result);
  else if (pending->call->meaning == READ_LINK && result == -EINVAL) tell_probe(task, &pending->place);
  else if (pending->place.node) tell_failure(task, pending, (int)-result);
  clear_pending(task);
}

void after_exec(struct task *task) {
  const struct pending *pending = &task->pending;
  if (pending->call && pending->place.node) tell_program(task, &pending->place);
  tell_image(task);
  clear_pending(task);
}

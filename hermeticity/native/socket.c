#define _GNU_SOURCE
#include "socket.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "memory.h"
#include "numbers.h"
#include "record.h"

struct address {
  socklen_t length;
  union {
    struct sockaddr any;
    struct sockaddr_un local;
    unsigned char bytes[sizeof(struct sockaddr_storage)];
  };
};

static bool read_address(struct task *task, uint64_t from, uint64_t length, struct address *address) {
  memset(address, 0, sizeof *address);
  if (length > sizeof address->bytes) length = sizeof address->bytes;
  if (from == 0 || length < sizeof(sa_family_t)) return false;
  address->length = (socklen_t)length;
  return read_memory(task->tid, from, address->bytes, length) == (ssize_t)length;
}

static bool leads_out(const struct address *address) {
  sa_family_t family = address->any.sa_family;
  return family != AF_UNSPEC && family != AF_NETLINK && family != AF_ALG;
}

static bool has_path(const struct address *address) {
  bool local = address->any.sa_family == AF_UNIX;
  return local && address->length > sizeof(sa_family_t) && address->local.sun_path[0] != 0;
}

/* Reports each address once per direction and outcome. */
static void report_address(struct task *task, uint8_t flags, uint16_t code, const void *bytes, size_t length) {
  char key[LONGEST_PATH] = {1, (char)flags, (char)code};
  if (length + 3 > sizeof key) return;
  memcpy(key + 3, bytes, length);
  struct node *node = node_of(key, length + 3);
  if (node->reported) return;
  node->reported = REPORTED_PROBE;
  struct origin origin = {.kind = KIND_SOCKET, .flags = flags, .code = code, .process = task->process->serial};
  report(origin, bytes, length, NULL, 0);
}

static bool locate_socket(struct task *task, const struct address *address, struct resolved_path *resolved) {
  char raw[sizeof address->local.sun_path + 1] = {0};
  memcpy(raw, address->local.sun_path, address->length - offsetof(struct sockaddr_un, sun_path));
  const char *base = working_folder(task);
  return base && resolve(viewer_of(task), base, raw, FOLLOW, resolved);
}

/* A family, and a path that may be longer than sockaddr_un allows. */
static void report_path_address(struct task *task, uint8_t flags, uint16_t code, const struct resolved_path *resolved) {
  char bytes[LONGEST_PATH];
  sa_family_t family = AF_UNIX;
  size_t length = resolved->node->length;
  if (length + sizeof family > sizeof bytes) return;
  memcpy(bytes, &family, sizeof family);
  memcpy(bytes + sizeof family, resolved->node->path, length);
  report_address(task, flags, code, bytes, sizeof family + length);
}

static enum next reach_out(struct task *task, const struct call *call, const uint64_t *arguments, uint64_t from,
                           uint64_t length) {
  struct address address;
  if (!read_address(task, from, length, &address) || !leads_out(&address)) return RUN_ON;
  struct resolved_path resolved = {0};
  if (has_path(&address) && !locate_socket(task, &address, &resolved)) return RUN_ON;
  bool result_matters = call->meaning == BIND || (call->meaning == CONNECT && resolved.node);
  if (result_matters) {
    task->pending.call = call;
    task->pending.resolved = resolved;
    memcpy(task->pending.arguments, arguments, sizeof task->pending.arguments);
    return SEE_RESULT;
  }
  if (resolved.node) report_path_address(task, 0, 0, &resolved);
  else report_address(task, 0, 0, address.bytes, address.length);
  free(resolved.asked);
  return RUN_ON;
}

static void reach_out_by_message(struct task *task, const struct call *call, const uint64_t *arguments,
                                 uint64_t header) {
  struct msghdr message;
  if (read_memory(task->tid, header, &message, sizeof message) != sizeof message) return;
  reach_out(task, call, arguments, (uint64_t)(uintptr_t)message.msg_name, message.msg_namelen);
}

enum next before_socket_call(struct task *task, const struct call *call, const uint64_t *arguments) {
  enum { MOST_MESSAGES = 1024 };
  switch (call->meaning) {
    case SEND_TO:
      return reach_out(task, call, arguments, arguments[4], arguments[5]);
    case SEND_MESSAGE:
      reach_out_by_message(task, call, arguments, arguments[1]);
      return RUN_ON;
    case SEND_MESSAGES:
      for (uint64_t i = 0; i < (uint32_t)arguments[2] && i < MOST_MESSAGES; i++) {
        reach_out_by_message(task, call, arguments, arguments[1] + i * sizeof(struct mmsghdr));
      }
      return RUN_ON;
    default:
      return reach_out(task, call, arguments, arguments[1], (uint32_t)arguments[2]);
  }
}

/* The kernel may have chosen the port, so ask the socket. */
static bool own_address(struct task *task, int handle, struct address *address) {
  int process = (int)syscall(__NR_pidfd_open, task->process->pid, 0);
  if (process < 0) return false;
  int copy = (int)syscall(__NR_pidfd_getfd, process, handle, 0);
  close(process);
  if (copy < 0) return false;
  address->length = sizeof address->bytes;
  int failed = getsockname(copy, &address->any, &address->length);
  close(copy);
  return failed == 0;
}

static void after_bind(struct task *task, const struct pending *pending) {
  const struct resolved_path *resolved = &pending->resolved;
  if (resolved->node) {
    struct origin origin = {.kind = KIND_WRITE, .flags = FLAG_CREATED, .process = task->process->serial};
    report_text(origin, resolved->node->path, resolved->asked);
    resolved->node->reported = REPORTED_WRITE | REPORTED_PROBE;
    report_path_address(task, FLAG_BOUND, 0, resolved);
    return;
  }
  struct address address;
  if (own_address(task, (int)pending->arguments[0], &address)) {
    report_address(task, FLAG_BOUND, 0, address.bytes, address.length);
  }
}

void after_socket_call(struct task *task, int64_t result) {
  const struct pending *pending = &task->pending;
  if (pending->call->meaning == CONNECT) {
    report_path_address(task, 0, result < 0 ? (uint16_t)-result : 0, &pending->resolved);
  } else if (result >= 0) {
    after_bind(task, pending);
  }
}

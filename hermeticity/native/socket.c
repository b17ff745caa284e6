#define _GNU_SOURCE
#include "socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "ask.h"
#include "memory.h"
#include "numbers.h"
#include "record.h"

struct address {
  socklen_t length;
  union {
    struct sockaddr any;
    struct sockaddr_un local;
    struct sockaddr_in ipv4;
    struct sockaddr_in6 ipv6;
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
  size_t length = address->length - offsetof(struct sockaddr_un, sun_path);
  if (length > sizeof address->local.sun_path) return false;
  memcpy(raw, address->local.sun_path, length);
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

/* The task's socket, which must be closed; -1 if it is out of reach. */
static int copy_of(const struct task *task, int handle) {
  int process = (int)syscall(__NR_pidfd_open, task->process->pid, 0);
  if (process < 0) return -1;
  int copy = (int)syscall(__NR_pidfd_getfd, process, handle, 0);
  close(process);
  return copy;
}

static int type_of_socket(int copy) {
  int type = 0;
  socklen_t size = sizeof type;
  return getsockopt(copy, SOL_SOCKET, SO_TYPE, &type, &size) == 0 ? type : 0;
}

static bool read_own_address(int copy, struct address *address) {
  memset(address, 0, sizeof *address);
  address->length = sizeof address->bytes;
  return getsockname(copy, &address->any, &address->length) == 0;
}

/* ---- addresses that a process of the action may be bound to ---- */

static bool is_near_ipv4(const unsigned char *bytes) {
  static const unsigned char any[4];
  return bytes[0] == 127 || memcmp(bytes, any, sizeof any) == 0;
}

static bool is_near_ipv6(const struct in6_addr *host) {
  if (IN6_IS_ADDR_V4MAPPED(host)) return is_near_ipv4(host->s6_addr + 12);
  return IN6_IS_ADDR_LOOPBACK(host) || IN6_IS_ADDR_UNSPECIFIED(host);
}

/* Loopback, or the unspecified address, which means loopback to a client. */
static bool is_on_loopback(const struct address *address) {
  switch (address->any.sa_family) {
    case AF_INET:
      return is_near_ipv4((const unsigned char *)&address->ipv4.sin_addr);
    case AF_INET6:
      return is_near_ipv6(&address->ipv6.sin6_addr);
    default:
      return false;
  }
}

static bool is_inet(const struct address *address) {
  return address->any.sa_family == AF_INET || address->any.sa_family == AF_INET6;
}

/*
 * A datagram socket that has no address gets one from the kernel when it first sends, and the answer goes
 * there. So the receiver sends to an address that no process has bound.
 */
static void report_assigned(struct task *task, int copy) {
  struct address own;
  if (type_of_socket(copy) != SOCK_DGRAM || !read_own_address(copy, &own) || !is_inet(&own)) return;
  report_address(task, SOCKET_BOUND | SOCKET_ASSIGNED, 0, own.bytes, own.length);
}

static bool lacks_address(const struct task *task, int handle) {
  int copy = copy_of(task, handle);
  if (copy < 0) return false;
  struct address own;
  bool lacks = read_own_address(copy, &own) && is_inet(&own) && own.ipv4.sin_port == 0;
  close(copy);
  return lacks;
}

/* ---- before a call ---- */

static enum next see_result(struct task *task, const struct call *call, const uint64_t *arguments) {
  task->pending.call = call;
  memcpy(task->pending.arguments, arguments, sizeof task->pending.arguments);
  return SEE_RESULT;
}

static enum next send_out(struct task *task, const struct call *call, const uint64_t *arguments,
                          const struct address *address, const struct resolved_path *resolved) {
  if (resolved->node) report_path_address(task, SOCKET_SENT, 0, resolved);
  else report_address(task, SOCKET_SENT, 0, address->bytes, address->length);
  free(resolved->asked);
  bool gets_address = is_on_loopback(address) && lacks_address(task, (int)arguments[0]);
  return gets_address ? see_result(task, call, arguments) : RUN_ON;
}

/* The outcome of a connection to another machine does not matter. */
static enum next connect_out(struct task *task, const struct call *call, const uint64_t *arguments,
                             const struct address *address) {
  bool may_be_own = is_on_loopback(address) || address->any.sa_family == AF_UNIX;
  char *kept = may_be_own ? malloc(address->length) : NULL;
  if (!kept) {
    report_address(task, 0, 0, address->bytes, address->length);
    return RUN_ON;
  }
  memcpy(kept, address->bytes, address->length);
  task->pending.text = kept;
  task->pending.text_length = address->length;
  return see_result(task, call, arguments);
}

static enum next reach_out(struct task *task, const struct call *call, const uint64_t *arguments, uint64_t from,
                           uint64_t length) {
  struct address address;
  if (!read_address(task, from, length, &address)) return RUN_ON;
  bool sends = call->meaning != BIND && call->meaning != CONNECT;
  if (address.any.sa_family == AF_NETLINK && sends) ask_netlink(task, arguments[1], call->meaning == SEND_TO ? arguments[2] : 0);
  if (!leads_out(&address)) return RUN_ON;
  struct resolved_path resolved = {0};
  if (has_path(&address) && !locate_socket(task, &address, &resolved)) return RUN_ON;
  if (sends) return send_out(task, call, arguments, &address, &resolved);
  if (call->meaning == CONNECT && !resolved.node) return connect_out(task, call, arguments, &address);
  task->pending.resolved = resolved;
  return see_result(task, call, arguments);
}

static enum next reach_out_by_message(struct task *task, const struct call *call, const uint64_t *arguments,
                                      uint64_t header) {
  struct msghdr message;
  if (read_memory(task->tid, header, &message, sizeof message) != sizeof message) return RUN_ON;
  return reach_out(task, call, arguments, (uint64_t)(uintptr_t)message.msg_name, message.msg_namelen);
}

static enum next reach_out_by_messages(struct task *task, const struct call *call, const uint64_t *arguments) {
  enum { MOST_MESSAGES = 1024 };
  enum next next = RUN_ON;
  for (uint64_t i = 0; i < (uint32_t)arguments[2] && i < MOST_MESSAGES; i++) {
    uint64_t header = arguments[1] + i * sizeof(struct mmsghdr);
    if (reach_out_by_message(task, call, arguments, header) == SEE_RESULT) next = SEE_RESULT;
  }
  return next;
}

enum next before_socket_call(struct task *task, const struct call *call, const uint64_t *arguments) {
  switch (call->meaning) {
    case SEND_TO:
      return reach_out(task, call, arguments, arguments[4], arguments[5]);
    case SEND_MESSAGE:
      return reach_out_by_message(task, call, arguments, arguments[1]);
    case SEND_MESSAGES:
      return reach_out_by_messages(task, call, arguments);
    default:
      return reach_out(task, call, arguments, arguments[1], (uint32_t)arguments[2]);
  }
}

/* ---- after a call ---- */

/*
 * The kernel may have chosen the port, so ask the socket. A datagram socket with such a port is like one that
 * has bound no address: nobody else knows it, so it serves to send and to get answers.
 */
static void after_bind(struct task *task, const struct pending *pending) {
  const struct resolved_path *resolved = &pending->resolved;
  if (resolved->node) {
    struct origin origin = {.kind = KIND_WRITE, .flags = FLAG_CREATED, .process = task->process->serial};
    report_text(origin, resolved->node->path, resolved->asked);
    resolved->node->reported = REPORTED_WRITE | REPORTED_PROBE;
    report_path_address(task, SOCKET_BOUND, 0, resolved);
    return;
  }
  struct address asked, address;
  int copy = copy_of(task, (int)pending->arguments[0]);
  if (copy < 0) return;
  bool any_port = read_address(task, pending->arguments[1], (uint32_t)pending->arguments[2], &asked) &&
                  is_inet(&asked) && asked.ipv4.sin_port == 0;
  uint8_t flags = SOCKET_BOUND;
  if (any_port && type_of_socket(copy) == SOCK_DGRAM) flags |= SOCKET_ASSIGNED;
  if (read_own_address(copy, &address)) report_address(task, flags, 0, address.bytes, address.length);
  close(copy);
}

static void after_send(struct task *task, const struct pending *pending) {
  int copy = copy_of(task, (int)pending->arguments[0]);
  if (copy < 0) return;
  report_assigned(task, copy);
  close(copy);
}

struct outcome {
  uint8_t flags;
  uint16_t code;
};

/*
 * On loopback the answer is there when connect returns, also if the call does not wait for it (EINPROGRESS).
 * Asking for the socket's error would take it from the program, so ask for the state of the connection.
 */
static struct outcome tcp_outcome(int copy) {
  struct tcp_info info = {0};
  socklen_t size = sizeof info;
  if (getsockopt(copy, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return (struct outcome){0};
  if (info.tcpi_state == TCP_CLOSE) return (struct outcome){.code = ECONNREFUSED};
  bool waits = info.tcpi_state == TCP_SYN_SENT || info.tcpi_state == TCP_SYN_RECV;
  return (struct outcome){.flags = waits ? 0 : SOCKET_REACHED};
}

static bool says_nothing(int64_t result) { return result == -EAGAIN || result == -EINPROGRESS || result == -EINTR; }

static struct outcome outcome_of_connect(struct task *task, const struct pending *pending, int64_t result) {
  int copy = copy_of(task, (int)pending->arguments[0]);
  int type = copy < 0 ? 0 : type_of_socket(copy);
  struct address own;
  bool inet = copy >= 0 && read_own_address(copy, &own) && is_inet(&own);
  struct outcome outcome = {0};
  if (inet && type == SOCK_STREAM) outcome = tcp_outcome(copy);
  else if (inet) report_assigned(task, copy);
  else if (result < 0 && !says_nothing(result)) outcome.code = (uint16_t)-result;
  else if (result >= 0 && type != SOCK_DGRAM && type != 0) outcome.flags = SOCKET_REACHED;
  if (copy >= 0) close(copy);
  return outcome;
}

static void report_connect(struct task *task, const struct pending *pending, struct outcome outcome) {
  if (pending->resolved.node) report_path_address(task, outcome.flags, outcome.code, &pending->resolved);
  else report_address(task, outcome.flags, outcome.code, pending->text, pending->text_length);
}

void abandon_connect(struct task *task) { report_connect(task, &task->pending, (struct outcome){0}); }

void after_socket_call(struct task *task, int64_t result) {
  const struct pending *pending = &task->pending;
  switch (pending->call->meaning) {
    case CONNECT:
      return report_connect(task, pending, outcome_of_connect(task, pending, result));
    case BIND:
      if (result >= 0) after_bind(task, pending);
      return;
    default:
      return after_send(task, pending);
  }
}

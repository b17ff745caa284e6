#define _GNU_SOURCE
#include "ask.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "memory.h"
#include "numbers.h"
#include "record.h"

/* How many netlink sockets and messages of one process are reported; the decoder knows the number. */
enum { MOST_NETLINK = 1000 };

static const char NETLINK[] = "netlink";
static const char GETADDRINFO[] = "getaddrinfo";
static const char USER_ATTRIBUTE[] = "user attribute";

static void report_asked(const struct task *task, const char *what, uint16_t code, const char *path) {
  report_text((struct origin){.kind = KIND_ASKED, .code = code, .process = task->process->serial}, what, path);
}

/* Reports each question once per process. */
static void report_once(const struct task *task, const char *what, uint16_t code, const char *path) {
  char key[LONGEST_PATH] = {2};
  size_t length = 1, size = strlen(what) + 1, path_size = path ? strlen(path) : 0;
  if (sizeof key < length + sizeof task->process->serial + sizeof code + size + path_size) return;
  memcpy(key + length, &task->process->serial, sizeof task->process->serial);
  length += sizeof task->process->serial;
  memcpy(key + length, &code, sizeof code);
  length += sizeof code;
  memcpy(key + length, what, size);
  length += size;
  if (path) memcpy(key + length, path, path_size);
  struct node *node = node_of(key, length + path_size);
  if (node->reported) return;
  node->reported = REPORTED_PROBE;
  report_asked(task, what, code, path);
}

enum next before_ask(struct task *task, const struct call *call) {
  report_once(task, call->name, 0, NULL);
  return RUN_ON;
}

/* Setting a limit is no question. */
enum next before_ask_limit(struct task *task, const struct call *call, const uint64_t *arguments) {
  bool by_any = call->number == __NR_prlimit64;
  if (!by_any || arguments[3] != 0) report_once(task, "limit", (uint16_t)arguments[by_any ? 1 : 0], NULL);
  return RUN_ON;
}

enum next before_ioctl(struct task *task, const struct call *call, const uint64_t *arguments) {
  report_once(task, call->name, (uint16_t)arguments[1], NULL);
  return RUN_ON;
}

/* ---- sockets ---- */

static void report_netlink(struct task *task, const char *what, uint16_t code) {
  uint16_t *count = what == NETLINK ? &task->process->netlink_sockets : &task->process->netlink_messages;
  if (*count >= MOST_NETLINK) return;
  (*count)++;
  report_asked(task, what, code, NULL);
}

enum next before_new_socket(struct task *task, const uint64_t *arguments) {
  enum { TYPE_BITS = 0xf };
  uint16_t family = (uint16_t)arguments[0];
  if (family == AF_NETLINK) report_netlink(task, NETLINK, (uint16_t)arguments[2]);
  else if ((arguments[1] & TYPE_BITS) == SOCK_RAW) report_once(task, "raw socket", family, NULL);
  else report_once(task, "socket", family, NULL);
  return RUN_ON;
}

/*
 * getaddrinfo of glibc asks for all addresses in one message of this form, and learns which families there
 * are. getifaddrs sends the same message after one that asks for the interfaces. Each other message counts
 * as one more socket, so that the messages of getaddrinfo do not explain all sockets.
 */
void ask_netlink(struct task *task, uint64_t text, uint64_t length) {
  struct {
    struct nlmsghdr header;
    struct rtgenmsg body;
  } request = {0};
  enum { PADDED = NLMSG_ALIGN(sizeof request.header + sizeof request.body) };
  bool is_plain = length == PADDED && peek(task->tid, text, &request, sizeof request) && request.header.nlmsg_len == PADDED && request.header.nlmsg_type == RTM_GETADDR &&
                  request.header.nlmsg_flags == (NLM_F_REQUEST | NLM_F_DUMP) && request.body.rtgen_family == AF_UNSPEC;
  report_netlink(task, is_plain ? GETADDRINFO : NETLINK, 0);
}

/* ---- extended attributes ---- */

static int name_position(const struct call *call) {
  switch (call->number) {
    case __NR_getxattr:
    case __NR_lgetxattr:
    case __NR_fgetxattr:
      return 1;
    case __NR_getxattrat:
      return 3;
    default:
      return NONE;
  }
}

static int list_position(const struct call *call) {
  switch (call->number) {
    case __NR_listxattr:
    case __NR_llistxattr:
    case __NR_flistxattr:
      return 1;
    case __NR_listxattrat:
      return 3;
    default:
      return NONE;
  }
}

static const char PREFIX[] = "user.";

static bool is_users(const char *name) { return strncmp(name, PREFIX, sizeof PREFIX - 1) == 0; }

bool asks_user_attributes(struct task *task, const struct call *call, const uint64_t *arguments) {
  int position = name_position(call);
  char name[sizeof PREFIX] = "";
  if (position == NONE) return list_position(call) != NONE;
  return read_memory(task->tid, arguments[position], name, sizeof name - 1) > 0 && is_users(name);
}

/* The list is of names, each with a NUL. One without a buffer is asked for again. */
static bool lists_users(struct task *task, uint64_t list, int64_t length) {
  static char names[1 << 16];
  if (list == 0 || length > (int64_t)sizeof names) return length > 0 && list != 0;
  if (!peek(task->tid, list, names, (size_t)length)) return false;
  for (int64_t at = 0; at < length; at += (int64_t)strnlen(names + at, (size_t)(length - at)) + 1) {
    if (is_users(names + at)) return true;
  }
  return false;
}

void report_user_attributes(struct task *task, const struct pending *pending, int64_t result) {
  int position = list_position(pending->call);
  if (result < 0) return;
  if (position != NONE && !lists_users(task, pending->arguments[position], result)) return;
  const struct node *node = pending->resolved.node;
  const char *path = node ? node->path : path_of_handle(task, (int)pending->arguments[0]);
  report_once(task, USER_ATTRIBUTE, 0, path);
}

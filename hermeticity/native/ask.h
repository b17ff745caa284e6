/*
 * Questions about the machine that name no path: addresses by netlink or ioctl, limits, groups, priority.
 *
 * Each is reported by the name of its call. hermeticity/verdict/questions.ts says what a question is about.
 */
#ifndef ASSAY_ASK_H
#define ASSAY_ASK_H

#include "access.h"
#include "call.h"
#include "task.h"

/* A call of which the name says it all: getgroups, syslog. */
enum next before_ask(struct task *task, const struct call *call);

enum next before_ask_limit(struct task *task, const struct call *call, const uint64_t *arguments);

enum next before_ioctl(struct task *task, const struct call *call, const uint64_t *arguments);

/* Sockets of other families than UNIX and IP, and raw ones: they tell without a connection. */
enum next before_new_socket(struct task *task, const uint64_t *arguments);

/* A message to a netlink socket: `text` is in the task's memory. */
void ask_netlink(struct task *task, uint64_t text, uint64_t length);

/* The task got extended attributes of a path, which may be NULL; call this with the result of the call. */
void report_user_attributes(struct task *task, const struct pending *pending, int64_t result);

/* Whether the call asks for an attribute that a user gave to the file, or for all. */
bool asks_user_attributes(struct task *task, const struct call *call, const uint64_t *arguments);

#endif

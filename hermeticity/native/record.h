/*
 * The records that the helper writes to one file descriptor. All numbers are little-endian.
 *
 *   record  = kind:u8 flags:u8 code:u16 process:u32 milliseconds:u32 length:u32 payload:length bytes
 *   process = a serial number, from 1; milliseconds count from the start
 *
 *   kind        payload                          flags, code
 *   PROCESS     pid:u32 parent:u32               parent 0: the helper started it
 *   IMAGE       program NUL argument NUL …       the program's file, "" if it can't be seen; CUT: there were more arguments;
 *                                                HOOKED: Node may load other code before the script
 *   EXIT        wait status:u32
 *   paths       path [NUL requested path]        READ PROBE ABSENT LIST WRITE DELETE EXEC FOLLOWED ENTERED
 *               the second only if symbolic links were followed; WRITE: CREATED, FOLDER, ATTRIBUTE;
 *               READ, PROBE, ENTERED, EXEC: STAMPED, then inode:u64 and ctime:u64 in microseconds stand before the path;
 *               the ctime is 0 except for READ; PROBE, ENTERED: FOLDER, a folder stands there;
 *               LIST: PROBED, the process looked at the folder itself just before it opened it; AGAIN, the names
 *               changed while one listing was read;
 *               ABSENT, WRITE: WANTED, opened for its content; READ, PROBE, ABSENT: BY_PROGRAM, not by the dynamic
 *               loader (loader.h; told of /etc/ld.so.cache only); EXEC: the code has the withheld rights (rights.h)
 *   NAMES       path NUL (type name NUL)*        what the next LIST of this folder showed; type: f d l o (other);
 *                                                CONTINUED: more names of the same listing
 *   RENAME      from NUL to                      EXCHANGE
 *   HARDLINK    from NUL to
 *   SYMLINK     path NUL target
 *   SOCKET      sockaddr bytes                   BOUND, a datagram socket at a port of the kernel's choice: ASSIGNED; REACHED, a stream that
 *                                                somebody answered; SENT, a datagram; code: 0, or the errno
 *   RING        entries:u32 flags:u32
 *   ASKED       question [NUL path]              what the kernel was asked about the machine (ask.h); code: which limit, ioctl,
 *                                                address family or netlink protocol
 *   SURVIVOR    (none)
 *   GAP         text: why the trace is incomplete
 *   START       text: why the command could not be started; code: errno
 *   END         wait status:u32 of the command
 *
 * A stream without END was cut, and counts as incomplete. hermeticity/trace/records.ts decodes it.
 */
#ifndef ASSAY_RECORD_H
#define ASSAY_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Change it with the meaning of any record: the decoder rejects a helper of another version. */
#define RECORD_VERSION 6

enum kind {
  KIND_PROCESS = 1,
  KIND_IMAGE = 2,
  KIND_EXIT = 3,
  KIND_READ = 10,
  KIND_PROBE = 11,
  KIND_ABSENT = 12,
  KIND_LIST = 13,
  KIND_WRITE = 14,
  KIND_DELETE = 15,
  KIND_EXEC = 16,
  KIND_FOLLOWED = 17,
  KIND_ENTERED = 18,
  KIND_NAMES = 19,
  KIND_RENAME = 20,
  KIND_HARDLINK = 21,
  KIND_SYMLINK = 22,
  KIND_SOCKET = 30,
  KIND_RING = 31,
  KIND_ASKED = 32,
  KIND_SURVIVOR = 40,
  KIND_GAP = 41,
  KIND_START = 42,
  KIND_END = 255,
};

enum flag {
  FLAG_CREATED = 1,
  FLAG_FOLDER = 2,
  FLAG_ATTRIBUTE = 4,
  FLAG_EXCHANGE = 8,
  /* READ, PROBE, ENTERED, EXEC */
  FLAG_STAMPED = 16,
  FLAG_CUT = 32,
  FLAG_WANTED = 64,
  FLAG_BY_PROGRAM = 128,
  /* IMAGE */
  FLAG_HOOKED = 1,
  /* NAMES */
  FLAG_CONTINUED = 1,
  /* LIST */
  FLAG_PROBED = 1,
  FLAG_AGAIN = 2,
};

/* The flags of SOCKET. */
enum socket_flag {
  SOCKET_REACHED = 1,
  SOCKET_SENT = 2,
  SOCKET_ASSIGNED = 4,
  SOCKET_BOUND = 16,
};

/* The code of EXEC: rights that the file gives, and that its process did not get because it is traced. */
enum withheld {
  WITHHELD_USER = 1,
  WITHHELD_GROUP = 2,
  WITHHELD_CAPABILITIES = 4,
};

struct origin {
  enum kind kind;
  uint8_t flags;
  uint16_t code;
  uint32_t process;
};

/* False if the descriptor is not open. The command does not inherit it. */
bool records_to(int descriptor);

/* Writes a record with two parts as payload, and a NUL between them if the second is not NULL. */
void report(struct origin origin, const void *first, size_t first_length, const void *second, size_t second_length);

/* The same with 16 bytes before the first part. */
void report_stamped(struct origin origin, const uint64_t stamp[2], const char *first, const char *second);

void report_text(struct origin origin, const char *first, const char *second);

void report_numbers(struct origin origin, const uint32_t *numbers, int count);

/* Reports the same reason once per process. */
void report_gap(uint32_t process, const char *reason);

void flush_records(void);

/* Since records_to(). */
uint32_t milliseconds(void);

#endif

/* The meaning of each traced system call, and the position of its path. The table is calls.def. */
#ifndef ASSAY_CALL_H
#define ASSAY_CALL_H

enum meaning {
  OPEN,
  OPEN_HOW,
  OPEN_HANDLE,
  CREATE_FILE,
  PROBE,
  PROBE_LINK,
  READ_LINK,
  LIST,
  TRUNCATE,
  ATTRIBUTE,
  ATTRIBUTE_LINK,
  ATTRIBUTE_HANDLE,
  CREATE_FOLDER,
  CREATE,
  SYMLINK,
  HARD_LINK,
  DELETE,
  RENAME,
  EXECUTE,
  CHANGE_FOLDER,
  CHANGE_FOLDER_HANDLE,
  CONNECT,
  BIND,
  SEND_TO,
  SEND_MESSAGE,
  SEND_MESSAGES,
  RING,
  NEW_VIEW,
  NEW_VIEW_FLAGS,
  NEW_VIEW_STRUCT,
  ASK,
  ASK_LIMIT,
  IOCTL,
  NEW_SOCKET,
  ATTRIBUTES_OF_HANDLE,
  ASK_CORES,
  CHOOSE_CORES,
  BLINDING,
};

/* Argument positions with a special meaning. */
#define NONE (-1)
#define CWD (-2)

struct call {
  int number;
  const char *name;
  enum meaning meaning;
  signed char folder, path, flags;
};

/* The traced call with this number, or NULL. */
const struct call *call_of(long number);

/* All traced calls, in ascending order of number. */
const struct call *all_calls(int *count);

#endif

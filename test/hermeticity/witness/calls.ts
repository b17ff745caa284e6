// The system calls that strace reports, and the meaning of each: the counterpart of native/calls.def.

export type Meaning =
  | 'open'
  | 'probe'
  | 'readlink'
  | 'opened-handle'
  | 'list'
  | 'truncate'
  | 'attribute'
  | 'attribute-handle'
  | 'create'
  | 'create-folder'
  | 'symlink'
  | 'hardlink'
  | 'delete'
  | 'rename'
  | 'exec'
  | 'chdir'
  | 'fchdir'
  | 'connect'
  | 'bound'
  | 'io_uring'
  | 'asked'
  | 'new-process'
  | 'new-view'
  | 'ptrace'
  | 'seccomp';

export interface TracedCall {
  readonly meaning: Meaning;
  /** Index of the folder handle; undefined if relative paths start at the working directory. */
  readonly folder?: number;
  readonly path?: number;
  /** Index of the flags. */
  readonly flags?: number;
  /** Never follows a link in the last part of the path. */
  readonly nofollow?: true;
}

function at(meaning: Meaning, folder: number, path: number, flags?: number): TracedCall {
  return { meaning, folder, path, ...(flags !== undefined && { flags }) };
}

function plain(meaning: Meaning, path: number, flags?: number): TracedCall {
  return { meaning, path, ...(flags !== undefined && { flags }) };
}

function nofollowing(call: TracedCall): TracedCall {
  return { ...call, nofollow: true };
}

export const TRACED_CALLS: ReadonlyMap<string, TracedCall> = new Map([
  ['openat', at('open', 0, 1, 2)],
  ['openat2', at('open', 0, 1, 2)],
  ['open', plain('open', 0, 1)],
  ['creat', plain('open', 0)],

  ['newfstatat', at('probe', 0, 1, 3)],
  ['statx', at('probe', 0, 1, 2)],
  ['stat', plain('probe', 0)],
  ['lstat', nofollowing(plain('probe', 0))],
  ['access', plain('probe', 0)],
  ['faccessat', at('probe', 0, 1)],
  ['faccessat2', at('probe', 0, 1, 3)],
  ['statfs', plain('probe', 0)],
  ['getxattr', plain('probe', 0)],
  ['lgetxattr', nofollowing(plain('probe', 0))],
  ['listxattr', plain('probe', 0)],
  ['llistxattr', nofollowing(plain('probe', 0))],
  ['getxattrat', at('probe', 0, 1, 2)],
  ['listxattrat', at('probe', 0, 1, 2)],
  ['file_getattr', at('probe', 0, 1, 4)],
  ['fanotify_mark', at('probe', 3, 4)],
  ['uselib', plain('probe', 0)],
  ['name_to_handle_at', nofollowing(at('probe', 0, 1))],
  ['inotify_add_watch', plain('probe', 1)],
  ['readlink', nofollowing(plain('readlink', 0))],
  ['readlinkat', nofollowing(at('readlink', 0, 1))],
  ['getdents', { meaning: 'list' }],
  ['getdents64', { meaning: 'list' }],

  ['truncate', plain('truncate', 0)],
  ['chmod', plain('attribute', 0)],
  ['fchmodat', at('attribute', 0, 1)],
  ['fchmodat2', at('attribute', 0, 1, 3)],
  ['chown', plain('attribute', 0)],
  ['lchown', nofollowing(plain('attribute', 0))],
  ['fchownat', at('attribute', 0, 1, 4)],
  ['utime', plain('attribute', 0)],
  ['utimes', plain('attribute', 0)],
  ['futimesat', at('attribute', 0, 1)],
  ['utimensat', at('attribute', 0, 1, 3)],
  ['setxattr', plain('attribute', 0)],
  ['lsetxattr', nofollowing(plain('attribute', 0))],
  ['removexattr', plain('attribute', 0)],
  ['lremovexattr', nofollowing(plain('attribute', 0))],
  ['setxattrat', at('attribute', 0, 1, 2)],
  ['removexattrat', at('attribute', 0, 1, 2)],
  ['file_setattr', at('attribute', 0, 1, 4)],
  ['fsetxattr', { meaning: 'attribute-handle' }],
  ['fremovexattr', { meaning: 'attribute-handle' }],
  ['fchmod', { meaning: 'attribute-handle' }],
  ['fchown', { meaning: 'attribute-handle' }],

  ['mkdir', nofollowing(plain('create-folder', 0))],
  ['mkdirat', nofollowing(at('create-folder', 0, 1))],
  ['mknod', nofollowing(plain('create', 0))],
  ['mknodat', nofollowing(at('create', 0, 1))],
  ['symlink', nofollowing(plain('symlink', 1))],
  ['symlinkat', nofollowing(at('symlink', 1, 2))],
  ['link', nofollowing(plain('hardlink', 0))],
  ['linkat', nofollowing(at('hardlink', 0, 1))],
  ['unlink', nofollowing(plain('delete', 0))],
  ['rmdir', nofollowing(plain('delete', 0))],
  ['unlinkat', nofollowing(at('delete', 0, 1))],
  ['rename', nofollowing(plain('rename', 0))],
  ['renameat', nofollowing(at('rename', 0, 1))],
  ['renameat2', nofollowing(at('rename', 0, 1, 4))],

  ['execve', plain('exec', 0)],
  ['execveat', at('exec', 0, 1)],
  ['chdir', plain('chdir', 0)],
  ['fchdir', { meaning: 'fchdir' }],

  ['connect', { meaning: 'connect' }],
  ['sendto', { meaning: 'connect' }],
  ['sendmsg', { meaning: 'connect' }],
  ['sendmmsg', { meaning: 'connect' }],
  ['bind', { meaning: 'bound' }],
  ['getsockname', { meaning: 'bound' }],

  ['getgroups', { meaning: 'asked' }],
  ['getresuid', { meaning: 'asked' }],
  ['getresgid', { meaning: 'asked' }],
  ['getpriority', { meaning: 'asked' }],
  ['ioprio_get', { meaning: 'asked' }],
  ['sched_getscheduler', { meaning: 'asked' }],
  ['sched_getparam', { meaning: 'asked' }],
  ['sched_getattr', { meaning: 'asked' }],
  ['getrlimit', { meaning: 'asked' }],
  ['prlimit64', { meaning: 'asked' }],
  ['ioctl', { meaning: 'asked' }],
  ['socket', { meaning: 'asked' }],
  ['syslog', { meaning: 'asked' }],
  ['quotactl', { meaning: 'asked' }],
  ['quotactl_fd', { meaning: 'asked' }],
  ['keyctl', { meaning: 'asked' }],
  ['request_key', { meaning: 'asked' }],
  ['bpf', { meaning: 'asked' }],
  ['perf_event_open', { meaning: 'asked' }],
  ['statmount', { meaning: 'asked' }],
  ['listmount', { meaning: 'asked' }],
  ['lsm_get_self_attr', { meaning: 'asked' }],
  ['lsm_list_modules', { meaning: 'asked' }],
  ['fgetxattr', { meaning: 'asked' }],
  ['flistxattr', { meaning: 'asked' }],
  ['sysfs', { meaning: 'asked' }],
  ['ustat', { meaning: 'asked' }],

  ['io_uring_setup', { meaning: 'io_uring' }],
  ['fork', { meaning: 'new-process' }],
  ['vfork', { meaning: 'new-process' }],
  ['clone', { meaning: 'new-process' }],
  ['clone3', { meaning: 'new-process' }],

  ['unshare', { meaning: 'new-view' }],
  ['setns', { meaning: 'new-view' }],
  ['chroot', { meaning: 'new-view' }],
  ['pivot_root', { meaning: 'new-view' }],
  ['mount', { meaning: 'new-view' }],
  ['umount2', { meaning: 'new-view' }],
  ['open_by_handle_at', { meaning: 'opened-handle' }],
  ['open_tree_attr', { meaning: 'new-view' }],
  ['move_mount', { meaning: 'new-view' }],
  ['open_tree', { meaning: 'new-view' }],
  ['fsmount', { meaning: 'new-view' }],
  ['fspick', { meaning: 'new-view' }],
  ['mount_setattr', { meaning: 'new-view' }],
  ['ptrace', { meaning: 'ptrace' }],
  ['seccomp', { meaning: 'seccomp' }],
]);

/** The argument of strace's -e. "?" makes strace skip a call that it does not know. */
export function straceExpression(): string {
  return `trace=${[...TRACED_CALLS.keys()].map((name) => `?${name}`).join(',')}`;
}

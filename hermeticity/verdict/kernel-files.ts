// Kernel files: what a look at one says about the result. A file that describes the machine and does not
// change by itself is a fact: it can be compared on another machine. Nothing can stand for a file that
// changes from moment to moment.
//
// This list also decides which kernel files a set of a remote may name. Reading any other one may block, or
// do something.
import { type AbsPath, absPath, isAtOrBelow } from '../../system/paths/absolute-path.ts';

/**
 * `fact`: it can be compared. `host`, `random`, `time`: it differs between machines or runs, and cannot be
 * compared. `free`: no result depends on it, or only through the process itself.
 */
type KernelUse = 'fact' | 'free' | 'host' | 'random' | 'time';

/** The detail of a finding about files of processes that are not the action's. */
export const OTHER_PROCESSES = 'other processes';

const PROC = absPath('/proc');
const SYS = absPath('/sys');
const DEV = absPath('/dev');
const SELF = '/proc/self/';

/** Compared by content, or by what is steady in it (client/path-sets/kernel-files.ts). */
const COMPARED = new Set([
  '/proc/cmdline',
  '/proc/cpuinfo',
  '/proc/devices',
  '/proc/filesystems',
  '/proc/meminfo',
  '/proc/misc',
  '/proc/self/autogroup',
  '/proc/self/cgroup',
  '/proc/self/cpuset',
  '/proc/self/gid_map',
  '/proc/self/limits',
  '/proc/self/loginuid',
  '/proc/self/mountinfo',
  '/proc/self/mounts',
  '/proc/self/oom_adj',
  '/proc/self/oom_score_adj',
  '/proc/self/personality',
  '/proc/self/setgroups',
  '/proc/self/status',
  '/proc/self/uid_map',
  '/proc/stat',
  '/proc/version',
  '/proc/version_signature',
]);

/** Compared by content, except CHANGING. No path goes through a link to another device or driver. */
const COMPARED_FILES: readonly RegExp[] = [
  /^\/proc\/sys\/./,
  /^\/sys\/(?:fs\/cgroup|kernel\/mm|devices\/system\/(?:cpu|memory|node))(?!.*\/(?:device|driver|firmware_node|subsystem)\/)(?:\/|$)/,
  /^\/sys\/class\/(?:dmi|dmi\/id(?:\/[^/]+)?|net(?:\/[^/]+){0,2})$/,
  /^\/sys\/devices\/(?:virtual\/dmi\/id|.+\/net\/[^/]+)(?:\/[^/]+)?$/,
  /^\/sys\/(?:block|class\/block)(?:\/[^/]+(?:\/[^/]+|\/queue\/[^/]+)?)?$/,
  /^\/sys\/module\/[^/]+\/parameters(?:\/[^/]+)?$/,
];

const CHANGING: readonly RegExp[] = [
  /^\/proc\/(?:loadavg|pressure\/.*|schedstat|timer_list|uptime)$/,
  /^\/proc\/sys\/(?:fs\/[\w-]+-(?:nr|state)|kernel\/(?:ns_last_pid|pty\/nr|random\/entropy_avail))$/,
  /^\/sys\/.*(?:\/(?:cpuidle|power|statistics|thermal_throttle)\/|_(?:avg|cur)_freq$)/,
  /^\/sys\/.*\/(?:carrier_\w+|inflight|meminfo|numastat|stat|vmstat)$/,
  /^\/sys\/fs\/cgroup\/(?:.*\/)?(?:tasks|[\w.-]+\.(?:current|events|failcnt|peak|pressure|procs|stat|threads|\w*usage\w*))$/,
];

/** About the process itself: its memory, its arguments, its open files, its threads. */
const OWN =
  /^\/proc\/self\/(?:(?:fd|fdinfo|map_files|ns|task)(?:\/[^/]*)?|arch_status|auxv|children|clear_refs|cmdline|comm|coredump_filter|cwd|environ|exe|io|maps|mem|numa_maps|pagemap|root|sched|schedstat|smaps|smaps_rollup|stack|stat|statm|syscall|timers|wchan)?$/;

/** Devices that every system has, and that tell nothing about it. A terminal of the process's own is among them. */
const COMMON_DEVICES =
  /^\/dev\/(?:null|zero|full|random|urandom|ptmx|pts(?:\/.*)?|fd(?:\/.*)?|stdin|stdout|stderr)$/;

const RANDOM = /^\/proc\/sys\/kernel\/random\/(?:boot_id|uuid)$/;

/**
 * The name of a kernel file that means the same on every machine: as it was asked for, because links below
 * /sys lead through the machine's buses; a process's own files below /proc/self. Undefined for a file of
 * another process.
 */
export function kernelName(
  path: AbsPath,
  asked: AbsPath | undefined,
  isOwn: (pid: string) => boolean,
): string | undefined {
  const name = asked !== undefined && isAtOrBelow(asked, SYS) ? asked : path;
  const [, pid, rest] = /^\/proc\/(\d+)(?:\/(.*))?$/.exec(name) ?? [];
  if (pid !== undefined) return isOwn(pid) ? `${SELF}${ofThread(rest ?? '')}` : undefined;
  return name.replace(/^\/proc\/(?=(?:net|mounts)(?:\/|$))/, SELF);
}

/** A thread's file is like that of its process. */
function ofThread(file: string): string {
  return file.replace(/^task\/\d+\/(?=.)/, '');
}

/**
 * What reading, listing or probing this file means. That a device is there can be compared; what it tells to a
 * program that opens it cannot.
 */
export function kernelUse(name: string, isRead: boolean): KernelUse {
  if (isAtOrBelow(absPath(name), DEV)) {
    if (COMMON_DEVICES.test(name)) return 'free';
    return isRead ? 'host' : 'fact';
  }
  if (RANDOM.test(name)) return 'random';
  if (CHANGING.some((pattern) => pattern.test(name))) return 'time';
  if (COMPARED.has(name) || COMPARED_FILES.some((pattern) => pattern.test(name))) return 'fact';
  if (OWN.test(name)) return 'free';
  return name.startsWith(`${PROC}/`) || name.startsWith(`${SYS}/`) ? 'host' : 'free';
}

/** Whether writing this file changes nothing but the process itself. */
export function isOwnKernelFile(name: string): boolean {
  return name.startsWith(SELF) || COMMON_DEVICES.test(name);
}

/** Whether a fact of this name is compared. The name of a listing ends with "/". */
export function isComparedKernelFile(name: string): boolean {
  const path = name.replace(/\/$/, '');
  const isCanonical = path
    .split('/')
    .slice(1)
    .every((part) => !['', '.', '..'].includes(part));
  return path.startsWith('/') && isCanonical && kernelUse(path, false) === 'fact';
}

// Ways in which two machines differ, each with a command whose output depends on it, and what becomes of the result.
// machines-differ.test.ts tries each of them. ways-page.test.ts compares the table with docs/MACHINES.md.

/**
 * `miss`: the result is shared, and the other machine does not take it. `unproven`: the result is not kept. `local`: it
 * is kept, and no other machine takes it. `same`: Assay gives every command the same, so the output is equal on both machines.
 * `unseen`: the other machine takes a result that is wrong there.
 */
export type Fate = 'miss' | 'unproven' | 'local' | 'same' | 'unseen';

/** Steps that depend on none of these ways, and are a hit on every machine. */
export type Independent = 'sort' | 'compile' | 'copy';

export interface Way {
  /** The difference, as the table names it. */
  readonly name: string;
  /** A shell line that writes "$OUT". */
  readonly command: string;
  readonly fate: Fate;
  /** Why, for the table. */
  readonly why: string;
  /**
   * Shell lines, run by root on the other machine before Assay starts there. $W is the workspace, $SITE the folder two
   * levels above it, $AWAY a folder that is not above it, $OWN a folder for files of this machine.
   */
  readonly there?: string;
  /** A program that starts Assay there. */
  readonly starter?: readonly string[];
  /** Variables of the caller there. */
  readonly env?: Readonly<Record<string, string>>;
  /** The workspace's path there, below $OWN. Undefined: the same path on both machines. */
  readonly at?: string;
  /** Fields of the step. */
  readonly step?: Readonly<Record<string, readonly string[] | boolean | string>>;
  /** The independent steps, if one of them depends on this way too. */
  readonly independent?: readonly Independent[];
  /** The output happens to be the same on this test's other machine. */
  readonly isEqual?: true;
  /** The kind of finding with which `assay reproduce` finds an unseen way. Undefined: nothing finds it. */
  readonly foundAs?: string;
}

/** The host name of the first machine, and of every other one that does not differ in it. */
export const HOST = 'first-machine-of-two';

/**
 * What every machine has. `show FILE` puts standard input in the place of an existing file; `change EXPRESSION FILE` puts
 * what sed makes of the file there.
 */
export const BASE = String.raw`
show() { at=$OWN/$(echo "$1" | tr / _); cat > "$at"; chmod 644 "$at"; mount --bind "$at" "$1"; }
change() { sed -E "$1" "$2" > "$OWN/sed"; ! cmp -s "$OWN/sed" "$2"; show "$2" < "$OWN/sed"; }
listed() { mount -t tmpfs tmpfs "$W/listed"; for name; do echo > "$W/listed/$name"; done; }
attribute() { /usr/bin/python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.note", b"first")' "$1"; }
disk() { mount -t tmpfs -o "size=$1" tmpfs "$W/disk"; }
packages() { (cd "$AWAY" && printf '%s\n' "$@" > "$OWN/conf" && ldconfig -X -C "$OWN/cache" -f "$OWN/conf"); show /etc/ld.so.cache < "$OWN/cache"; }
hostname ${HOST}
domainname first-domain.example
mount -t tmpfs tmpfs /sys/class/net
mkdir /sys/class/net/eth9 && echo 02:00:5e:10:00:01 > /sys/class/net/eth9/address
mount -t tmpfs tmpfs /sys/fs/cgroup
echo 1000000000 > /sys/fs/cgroup/memory.max
mount -t tmpfs tmpfs /dev/shm
chmod 1777 /dev/shm
mkdir -p /dev/net
mount -t tmpfs tmpfs /dev/net
echo first > /dev/shm/shared
mount -t tmpfs tmpfs /usr/local/sbin
mount -t tmpfs tmpfs /usr/local/include
listed a b c d
disk 1m
attribute "$W/undeclared.txt"
packages "$AWAY/lib1"
(cat /etc/hosts; echo 192.0.2.1 machine.invalid) > "$OWN/hosts" && show /etc/hosts < "$OWN/hosts"
`;

const REGISTRY = 'libraries are compared by name';
const TEXT = 'the text in the output is a fact';
const CONTENT = 'the file is compared';
const KERNEL = 'the kernel file is a fact';
const CALL = 'asked by a plain call';
const ANSWER = 'the answer is a fact';
const NOT_SHOWN = 'the command does not see it';

export const WAYS: readonly Way[] = [
  // Where the workspace is.
  {
    name: 'path of the workspace',
    command: 'pwd > "$OUT"',
    at: 'other/project/workspace',
    fate: 'miss',
    why: TEXT,
  },
  {
    name: 'path of the workspace in an object file',
    command: 'gcc -g -c main.c -o "$OUT"',
    step: { inputs: ['main.c'] },
    at: 'other/project/workspace',
    fate: 'miss',
    why: TEXT,
  },
  {
    name: 'path of the workspace in the log',
    command: 'pwd; echo done > "$OUT"',
    at: 'other/project/workspace',
    fate: 'same',
    why: 'a hit prints the path of its own workspace',
  },
  {
    name: 'depth of the path',
    command: 'pwd | tr -cd / | wc -c > "$OUT"',
    at: 'a/b/c/d/other/project/workspace',
    fate: 'unseen',
    why: CALL,
    foundAs: 'cwd',
  },
  {
    name: 'configuration above the workspace',
    command: 'cat ../../tool.conf > "$OUT"',
    there: 'echo other > "$SITE/tool.conf"',
    fate: 'miss',
    why: CONTENT,
  },
  {
    name: 'configuration above the workspace, sought in vain',
    command: 'cat ../.toolrc > "$OUT" 2> /dev/null || echo none > "$OUT"',
    there: 'echo other > "$SITE/project/.toolrc"',
    fate: 'miss',
    why: 'the absence of the file is a fact',
  },
  {
    name: 'a git repository above the workspace',
    command: 'git rev-parse --is-inside-work-tree > "$OUT" 2> /dev/null || echo none > "$OUT"',
    there: 'git init -q "$SITE"',
    fate: 'miss',
    why: 'the absence of .git is a fact in every folder up to the root',
  },
  // Who runs it.
  {
    name: 'user name',
    command: 'id -un > "$OUT"',
    there: "change 's/^root:/annasmith:/' /etc/passwd",
    fate: 'miss',
    why: CONTENT,
  },
  {
    name: 'user name, with the same /etc/passwd',
    command: 'whoami > "$OUT"',
    there: 'chown -R 65534 "$OWN"',
    starter: ['setpriv', '--reuid=65534', '--regid=0', '--clear-groups'],
    fate: 'miss',
    why: 'the number of the user is a fact of whoever reads /etc/passwd',
  },
  {
    name: 'number of the user',
    command: 'id -u > "$OUT"',
    there: 'chown -R 54321 "$OWN"',
    starter: ['setpriv', '--reuid=54321', '--regid=0', '--clear-groups'],
    fate: 'unseen',
    why: CALL,
    foundAs: 'uid',
  },
  {
    name: 'groups of the user',
    command: 'id -G > "$OUT"',
    starter: ['setpriv', '--groups=0,54321'],
    fate: 'miss',
    why: ANSWER,
  },
  {
    name: 'owner of the files',
    command: 'stat -c %u in.txt > "$OUT"',
    there: 'chown 54321 "$W/in.txt"',
    fate: 'unseen',
    why: 'no owner is in a key',
    foundAs: 'uid',
  },
  {
    name: '/etc/passwd',
    command: 'wc -l < /etc/passwd > "$OUT"',
    there: "change '$a annasmith:x:54321:54321::/home/annasmith:/bin/sh' /etc/passwd",
    fate: 'miss',
    why: CONTENT,
  },
  {
    name: '/etc/group',
    command: 'getent group root > "$OUT"',
    there: "change 's/^root:.*/root:x:0:annasmith/' /etc/group",
    fate: 'miss',
    why: CONTENT,
  },
  {
    name: 'HOME',
    command: 'cat ~/.toolrc > "$OUT" 2> /dev/null || echo none > "$OUT"',
    there: 'echo other > "$AWAY/home/.toolrc"',
    fate: 'same',
    why: 'HOME is an empty folder',
  },
  {
    name: 'a file in the real home',
    command: 'cat ../../../away/home/settings > "$OUT"',
    there: 'echo other > "$AWAY/home/settings"',
    fate: 'local',
    why: 'the file is private',
  },
  {
    name: 'a declared HOME',
    command: 'echo "$HOME" > "$OUT"',
    step: { env: ['HOME'] },
    env: { HOME: '/nonexistent' },
    fate: 'miss',
    why: 'a declared variable is in the key',
  },
  {
    name: 'settings of git for the user',
    command: 'git config user.name > "$OUT" || echo none > "$OUT"',
    there: 'git config --file "$AWAY/home/.gitconfig" user.name Anna',
    fate: 'same',
    why: 'HOME is an empty folder',
  },
  // The names of the machine.
  {
    name: 'host name',
    command: 'uname -n > "$OUT"',
    there: 'hostname other-machine',
    fate: 'miss',
    why: TEXT,
  },
  {
    name: 'host name, hashed or too short',
    command: 'uname -n | sha256sum > "$OUT"',
    there: 'hostname other-machine',
    fate: 'unseen',
    why: CALL,
    foundAs: 'host',
  },
  {
    name: '/etc/hostname',
    command: 'cat /etc/hostname > "$OUT"',
    there: 'echo other | show /etc/hostname',
    fate: 'miss',
    why: CONTENT,
  },
  {
    name: '/proc/sys/kernel/hostname',
    command: 'tr a-z A-Z < /proc/sys/kernel/hostname > "$OUT"',
    there: 'hostname other-machine',
    fate: 'miss',
    why: KERNEL,
  },
  {
    name: '/etc/machine-id',
    command: 'cat /etc/machine-id > "$OUT"',
    there: 'echo 0123456789abcdef0123456789abcdef | show /etc/machine-id',
    fate: 'miss',
    why: CONTENT,
  },
  {
    name: 'MAC address',
    command: 'cat /sys/class/net/eth9/address > "$OUT"',
    there: 'echo 02:00:5e:10:00:02 > /sys/class/net/eth9/address',
    fate: 'miss',
    why: KERNEL,
  },
  {
    name: 'network interfaces',
    command: 'ls /sys/class/net > "$OUT"',
    there: 'mkdir /sys/class/net/wlan9',
    fate: 'miss',
    why: 'the names are a fact',
  },
  {
    name: 'addresses, by netlink',
    command: 'hostname -I > "$OUT"',
    there: 'echo 02:00:5e:10:00:02 > /sys/class/net/eth9/address',
    fate: 'miss',
    why: ANSWER,
    isEqual: true,
  },
  {
    name: 'addresses, by ioctl',
    command: `perl -MSocket -e 'socket($s, PF_INET, SOCK_DGRAM, 0); $r = pack("a16x16", "lo"); ioctl($s, 0x8915, $r); print unpack("H*", $r)' > "$OUT"`,
    there: 'mkdir /sys/class/net/wlan9',
    fate: 'miss',
    why: ANSWER,
    isEqual: true,
  },
  {
    name: 'addresses, where only getaddrinfo asks',
    command: 'getent ahosts localhost > "$OUT"',
    there: 'mkdir /sys/class/net/wlan9',
    fate: 'same',
    why: 'only whether there are IPv4 and IPv6 addresses is a fact',
  },
  {
    name: 'domain name',
    command: 'domainname > "$OUT"',
    there: 'domainname other-domain.example',
    fate: 'miss',
    why: TEXT,
  },
  {
    name: 'domain name, hashed, too short or not set',
    command: 'domainname | sha256sum > "$OUT"',
    there: 'domainname other-domain.example',
    fate: 'unseen',
    why: CALL,
    foundAs: 'host',
  },
  // The kernel and the hardware.
  {
    name: 'kernel release',
    command: 'uname -r > "$OUT"',
    starter: ['setarch', '--uname-2.6'],
    fate: 'miss',
    why: TEXT,
  },
  {
    name: 'kind of machine, by a personality',
    command: 'uname -m > "$OUT"',
    starter: ['setarch', 'linux32'],
    fate: 'unseen',
    why: CALL,
  },
  {
    name: '/proc/version in a script of Node',
    command: `node -e 'fs.copyFileSync("/proc/version", process.env.OUT)'`,
    step: { tools: ['node'] },
    there: "change 's/version [^ ]+/version 9.9.9/' /proc/version",
    fate: 'miss',
    why: KERNEL,
  },
  {
    name: "the kernel's log",
    command: 'dmesg > "$OUT" || :',
    fate: 'unproven',
    why: 'it changes from moment to moment',
  },
  {
    name: 'a device that is looked for',
    command: 'test -e /dev/net/gpu && echo yes > "$OUT" || echo no > "$OUT"',
    there: 'mknod /dev/net/gpu c 1 3',
    fate: 'miss',
    why: 'whether it is there, and may be read and written, is a fact',
  },
  {
    name: 'a device that is read, as a GPU or a terminal',
    command: 'head -c 0 /dev/tty; echo done > "$OUT"',
    fate: 'unproven',
    why: 'nothing can stand for it',
  },
  {
    name: '/proc/version',
    command: 'cut -d" " -f3 /proc/version > "$OUT"',
    there: "change 's/version [^ ]+/version 9.9.9/' /proc/version",
    fate: 'miss',
    why: KERNEL,
  },
  {
    name: 'a setting of the kernel',
    command: 'cat /proc/sys/kernel/pid_max > "$OUT"',
    there: 'echo 12345 | show /proc/sys/kernel/pid_max',
    fate: 'miss',
    why: KERNEL,
  },
  {
    name: '/proc/cmdline',
    command: 'cat /proc/cmdline > "$OUT"',
    there: 'echo other=1 | show /proc/cmdline',
    fate: 'miss',
    why: KERNEL,
  },
  {
    name: '/proc/uptime',
    command: 'cat /proc/uptime > "$OUT"',
    fate: 'unproven',
    why: 'it changes from moment to moment',
  },
  {
    name: "the boot's number",
    command: 'cat /proc/sys/kernel/random/boot_id > "$OUT"',
    fate: 'unproven',
    why: 'it is random',
  },
  {
    name: 'CPU features',
    command: 'grep -ci assay /proc/cpuinfo > "$OUT" || :',
    there: "change 's/^((flags|Features)[[:space:]]*:.*)/\\1 assay/I' /proc/cpuinfo",
    fate: 'miss',
    why: KERNEL,
  },
  {
    name: 'CPU features and -march=native',
    command: 'gcc -march=native -c main.c -o "$OUT"',
    step: { inputs: ['main.c'] },
    there: "change 's/^((flags|Features)[[:space:]]*:.*)/\\1 assay/I' /proc/cpuinfo",
    fate: 'miss',
    why: 'the flag makes the CPU a fact',
    isEqual: true,
  },
  {
    name: 'number of processors',
    command: 'nproc > "$OUT"',
    starter: ['taskset', '-c', '0'],
    fate: 'unseen',
    why: CALL,
    foundAs: 'cpu',
  },
  {
    name: 'number of processors in make -j$(nproc)',
    command: 'make -s -j$(nproc) -C jobs -f jobs.mk > "$OUT"',
    step: { inputs: ['jobs/jobs.mk'] },
    starter: ['taskset', '-c', '0'],
    fate: 'unseen',
    why: CALL,
    foundAs: 'cpu',
  },
  {
    name: 'number of processors in /sys',
    command: 'cat /sys/devices/system/cpu/online > "$OUT"',
    there: 'echo 0-63 | show /sys/devices/system/cpu/online',
    fate: 'miss',
    why: KERNEL,
  },
  {
    name: 'number of processors in a script of Python',
    command: `/usr/bin/python3 -c 'import os; print(os.cpu_count())' > "$OUT"`,
    there: 'echo 0-63 | show /sys/devices/system/cpu/online',
    fate: 'miss',
    why: KERNEL,
  },
  {
    name: 'number of processors by getconf',
    command: 'getconf _NPROCESSORS_CONF > "$OUT"',
    there: 'echo 0-63 | show /sys/devices/system/cpu/possible',
    fate: 'miss',
    why: KERNEL,
  },
  {
    name: 'memory',
    command: 'grep MemTotal /proc/meminfo > "$OUT"',
    there: "change 's/^MemTotal:.*/MemTotal: 9999999 kB/' /proc/meminfo",
    fate: 'miss',
    why: KERNEL,
  },
  {
    name: 'limits of the control group',
    command: 'cat /sys/fs/cgroup/memory.max > "$OUT"',
    there: 'echo 2000000000 > /sys/fs/cgroup/memory.max',
    fate: 'miss',
    why: KERNEL,
  },
  {
    name: 'mounts',
    command: 'grep -c . /proc/mounts > "$OUT"',
    there: 'mount -t tmpfs tmpfs /mnt',
    fate: 'miss',
    why: KERNEL,
  },
  {
    name: 'size of the disk',
    command: 'stat -f -c %b disk > "$OUT"',
    there: 'disk 2m',
    fate: 'unseen',
    why: CALL,
  },
  {
    name: 'type of the file system',
    command: 'stat -f -c %T disk > "$OUT"',
    there: 'mount -t ramfs ramfs "$W/disk"',
    fate: 'unseen',
    why: CALL,
  },
  // Settings of the system.
  {
    name: 'umask',
    command: 'umask > "$OUT"',
    starter: ['sh', '-c', 'umask 077; exec "$@"', 'sh'],
    fate: 'unseen',
    why: CALL,
    foundAs: 'umask',
  },
  {
    name: 'TZ',
    command: 'date -d @0 > "$OUT"',
    env: { TZ: 'Asia/Kolkata' },
    fate: 'same',
    why: 'TZ is UTC',
  },
  {
    name: '/etc/localtime',
    command: 'env -u TZ date -d @0 > "$OUT"',
    there: 'show /etc/localtime < /usr/share/zoneinfo/Asia/Kolkata',
    fate: 'miss',
    why: CONTENT,
  },
  {
    name: '/etc/timezone',
    command: 'cat /etc/timezone > "$OUT"',
    there: 'echo Asia/Kolkata | show /etc/timezone',
    fate: 'miss',
    why: CONTENT,
  },
  {
    name: 'LANG and LC_ALL',
    command: 'locale > "$OUT"; printf "b\\nB\\na\\n" | sort >> "$OUT"',
    env: { LANG: 'de_DE.UTF-8', LC_ALL: 'de_DE.UTF-8' },
    fate: 'same',
    why: 'LC_ALL is C.UTF-8, and LANG is not passed',
  },
  {
    name: 'files of the locale',
    command: 'date -d @0 +%c > "$OUT"',
    there: "change 's/Thu/Don/' /usr/lib/locale/C.utf8/LC_TIME",
    fate: 'miss',
    why: CONTENT,
    isEqual: true,
    independent: ['copy'],
  },
  {
    name: '/etc/hosts',
    command: 'getent ahostsv4 machine.invalid > "$OUT"',
    there: "change 's/^.*machine\\.invalid$/192.0.2.2 machine.invalid/' /etc/hosts",
    fate: 'miss',
    why: CONTENT,
  },
  {
    name: '/etc/resolv.conf',
    command: 'cat /etc/resolv.conf > "$OUT"',
    there: 'echo nameserver 192.0.2.1 | show /etc/resolv.conf',
    fate: 'miss',
    why: CONTENT,
  },
  // Installed software.
  {
    name: 'the list of installed libraries',
    command: 'ldconfig -p > "$OUT"',
    there: 'packages "$AWAY/lib1" "$AWAY/unrelated"',
    fate: 'miss',
    why: 'a program that reads the cache itself depends on its bytes',
  },
  {
    name: 'an installed library that the command loads',
    command: './say > "$OUT"',
    step: { inputs: ['say'] },
    there: 'packages "$AWAY/lib2"',
    fate: 'miss',
    why: REGISTRY,
  },
  {
    name: 'an installed library that the command does not load',
    command: './say > "$OUT"; echo again >> "$OUT"',
    step: { inputs: ['say'] },
    there: 'packages "$AWAY/lib1" "$AWAY/unrelated"',
    fate: 'same',
    why: REGISTRY,
  },
  {
    name: 'a header that was sought in vain',
    command: 'gcc -c optional.c -o "$OUT"',
    step: { inputs: ['optional.c'] },
    there: 'echo "#define EXTRA 1" > /usr/local/include/assay-extra.h',
    fate: 'miss',
    why: 'the absence of the file is a fact',
  },
  {
    name: 'another content of a header',
    command: 'gcc -c exits.c -o "$OUT"',
    step: { inputs: ['exits.c'] },
    there: "change 's/EX_USAGE[[:space:]]+64/EX_USAGE 65/' /usr/include/sysexits.h",
    fate: 'miss',
    why: CONTENT,
  },
  {
    name: 'the names in a folder of software',
    command: 'ls /usr/local/include > "$OUT"',
    there: 'echo > /usr/local/include/assay-extra.h',
    fate: 'miss',
    why: 'the names are a fact',
  },
  {
    name: 'a tool that comes earlier on PATH',
    command: 'tac in.txt > "$OUT"',
    there: 'printf "#!/bin/sh\\necho other\\n" > /usr/local/sbin/tac; chmod 755 /usr/local/sbin/tac',
    fate: 'miss',
    why: 'the absence of the tool in earlier folders is a fact',
  },
  {
    name: 'another version of a tool',
    command: 'tac in.txt | cat > "$OUT"',
    there: 'printf "#!/bin/sh\\necho other\\n" | show /usr/bin/tac; chmod 755 "$OWN/_usr_bin_tac"',
    fate: 'miss',
    why: CONTENT,
  },
  {
    name: 'another version of a declared tool',
    command: 'tool > "$OUT"',
    step: { tools: ['tool'] },
    there: 'printf "#!/bin/sh\\necho other\\n" > "$AWAY/bin/tool"',
    fate: 'miss',
    why: 'a declared tool is in the key',
  },
  {
    name: 'the distribution',
    command: 'cat /etc/os-release > "$OUT"',
    there: 'echo NAME=Other | show /etc/os-release',
    fate: 'miss',
    why: CONTENT,
  },
  // The caller.
  {
    name: 'an undeclared variable',
    command: 'echo "$FLAVOUR" > "$OUT"',
    env: { FLAVOUR: 'plum' },
    fate: 'same',
    why: NOT_SHOWN,
  },
  {
    name: 'a declared variable',
    command: 'echo "$FLAVOUR" > "$OUT"',
    step: { env: ['FLAVOUR'] },
    env: { FLAVOUR: 'plum' },
    fate: 'miss',
    why: 'a declared variable is in the key',
  },
  {
    name: 'PATH',
    command: 'echo "$PATH" > "$OUT"',
    starter: ['env', 'PATH=/usr/bin:/bin:/opt/other/bin'],
    fate: 'same',
    why: 'PATH is a fixed list, behind the folders of the package’s programs',
  },
  {
    name: 'PATH of a package in another folder',
    command: 'echo "$PATH" > "$OUT"',
    at: 'other/project/workspace',
    fate: 'miss',
    why: TEXT,
  },
  {
    name: 'a program that appears in node_modules/.bin',
    command: 'tac in.txt | sort > "$OUT"',
    there: `printf '#!/bin/sh\\necho other\\n' > "$W/node_modules/.bin/tac"; chmod 755 "$W/node_modules/.bin/tac"`,
    fate: 'miss',
    why: 'the absence of the program in the package is a fact',
  },
  {
    name: 'SHELL',
    command: 'echo "$SHELL" > "$OUT"',
    env: { SHELL: '/bin/other' },
    fate: 'same',
    why: 'SHELL is /bin/sh',
  },
  {
    name: 'TERM and COLUMNS',
    command: 'echo "$TERM $COLUMNS" > "$OUT"',
    env: { TERM: 'other', COLUMNS: '40' },
    fate: 'same',
    why: NOT_SHOWN,
  },
  {
    name: 'TMPDIR',
    command: 'ls -A "$TMPDIR" > "$OUT"',
    there: 'mkdir -p "$OWN/tmp"; echo > "$OWN/tmp/left-over"; export TMPDIR="$OWN/tmp"',
    fate: 'same',
    why: 'TMPDIR is an empty folder',
  },
  {
    name: 'standard input',
    command: 'cat > "$OUT"',
    starter: ['sh', '-c', 'echo other | "$@"', 'sh'],
    fate: 'same',
    why: 'standard input is empty',
  },
  {
    name: 'limits of the process',
    command: 'ulimit -c > "$OUT"',
    starter: ['prlimit', '--core=4096:4096'],
    fate: 'miss',
    why: ANSWER,
  },
  {
    name: 'limits on open files, processes and the stack',
    command: 'ulimit -n > "$OUT"',
    starter: ['prlimit', '--nofile=1000:1000'],
    fate: 'unseen',
    why: 'every program asks at its start',
    foundAs: 'limits',
  },
  {
    name: '/proc/self/limits',
    command: 'grep core /proc/self/limits > "$OUT"',
    starter: ['prlimit', '--core=4096:4096'],
    fate: 'miss',
    why: KERNEL,
  },
  {
    name: '/proc/self/status',
    command: 'grep Groups /proc/self/status > "$OUT"',
    starter: ['setpriv', '--groups=0,54321'],
    fate: 'miss',
    why: 'user, groups, umask, rights and processors in it are a fact',
  },
  {
    name: 'priority of the process',
    command: 'nice > "$OUT"',
    starter: ['nice', '-n', '5'],
    fate: 'miss',
    why: ANSWER,
  },
  {
    name: 'scheduling class',
    command: 'chrt -p $$ | sed -n "1s/.*: //p" > "$OUT"',
    starter: ['chrt', '-b', '0'],
    fate: 'miss',
    why: ANSWER,
  },
  {
    name: 'signals that the caller ignores',
    command: '(sh -c "kill -PIPE \\$\\$; echo survived" || echo killed) > "$OUT"',
    starter: ['sh', '-c', 'trap "" PIPE; exec "$@"', 'sh'],
    fate: 'same',
    why: 'signals have their defaults, and none is blocked',
  },
  // The checkout.
  {
    name: 'times of files',
    command: 'stat -c %Y in.txt > "$OUT"',
    there: 'touch -d @1000000000 "$W/in.txt"',
    fate: 'unseen',
    why: 'no time is in a key',
    foundAs: 'mtime',
  },
  {
    name: 'times of files, compared by make',
    command: 'make -s -f times.mk && cp kept.o "$OUT"',
    step: { inputs: ['times.mk', 'in.txt'] },
    there: 'touch -d @1000000000 "$W/kept.o"',
    fate: 'unproven',
    why: 'make looked at the time of a file that was left over',
  },
  {
    name: 'order of names in a folder',
    command: 'ls -U listed > "$OUT"',
    step: { inputs: ['listed/**'] },
    there: 'listed d c b a',
    fate: 'unseen',
    why: 'the names are compared, not their order',
    foundAs: 'readdir-order',
  },
  {
    name: 'executable bit of an input',
    command: 'test -x in.txt && echo yes > "$OUT" || echo no > "$OUT"',
    there: 'chmod 755 "$W/in.txt"',
    fate: 'miss',
    why: 'it is in the key',
    independent: ['compile', 'copy'],
  },
  {
    name: 'executable bit of an undeclared file',
    command: '[ -x undeclared.txt ] && echo yes > "$OUT" || echo no > "$OUT"',
    there: 'chmod 755 "$W/undeclared.txt"',
    fate: 'miss',
    why: 'it is compared',
  },
  {
    name: 'other permissions of files',
    command: 'stat -c %a in.txt > "$OUT"',
    there: 'chmod 640 "$W/in.txt"',
    fate: 'unseen',
    why: 'no permission but the executable bit is in a key',
    foundAs: 'umask',
  },
  {
    name: 'content of an undeclared file',
    command: 'cat undeclared.txt > "$OUT"',
    there: 'echo other > "$W/undeclared.txt"',
    fate: 'miss',
    why: CONTENT,
  },
  {
    name: 'an undeclared file that is not there',
    command: 'cat local.conf > "$OUT" 2> /dev/null || echo none > "$OUT"',
    there: 'echo other > "$W/local.conf"',
    fate: 'miss',
    why: 'the absence of the file is a fact',
  },
  {
    name: 'names in an undeclared folder',
    command: 'ls names > "$OUT"',
    there: 'echo > "$W/names/more"',
    fate: 'miss',
    why: 'the names are a fact',
  },
  {
    name: 'whether an undeclared folder is empty',
    command: 'rmdir names 2> /dev/null && mkdir names && echo empty > "$OUT" || echo full > "$OUT"',
    there: 'rm "$W/names/one"',
    fate: 'miss',
    why: 'the names are a fact',
  },
  {
    name: 'an extended attribute of a file',
    command: `/usr/bin/python3 -c 'import os; print(os.getxattr("undeclared.txt", "user.note"))' > "$OUT"`,
    fate: 'unproven',
    why: 'nothing can stand for it',
  },
  {
    name: 'an extended attribute that is not there',
    command: `/usr/bin/python3 -c 'import os; print(os.listxattr("in.txt"))' > "$OUT"`,
    there: 'attribute "$W/in.txt"',
    fate: 'unseen',
    why: 'a checkout has none',
  },
  {
    name: 'number of hard links',
    command: 'stat -c %h in.txt > "$OUT"',
    there: 'ln -f "$W/in.txt" "$SITE/again"',
    fate: 'unseen',
    why: 'no such number is in a key',
  },
  {
    name: 'target of a link',
    command: 'readlink link > "$OUT"',
    there: 'ln -sfn main.c "$W/link"',
    fate: 'miss',
    why: 'the target is compared',
  },
  {
    name: 'a file system that ignores capitals',
    command: 'test -e IN.TXT && echo yes > "$OUT" || echo no > "$OUT"',
    there: 'ln "$W/in.txt" "$W/IN.TXT"',
    fate: 'miss',
    why: 'the absence of the other spelling is a fact',
  },
  {
    name: 'numbers of inodes',
    command: 'stat -c %i in.txt > "$OUT"',
    fate: 'unseen',
    why: 'no such number is in a key',
    foundAs: 'random',
  },
  // What is outside.
  {
    name: 'a file beside the folders above the workspace',
    command: 'cat ../../../away/tmp-file > "$OUT"',
    there: 'echo other > "$AWAY/tmp-file"',
    fate: 'miss',
    why: CONTENT,
  },
  {
    name: 'a file elsewhere, as in /dev/shm',
    command: 'cat /dev/shm/shared > "$OUT"',
    there: 'echo other > /dev/shm/shared',
    fate: 'local',
    why: 'no remote may ask for paths like this one',
  },
  {
    name: 'names in /dev/shm',
    command: 'ls /dev/shm > "$OUT"',
    there: 'echo > /dev/shm/other',
    fate: 'miss',
    why: 'the names are a fact',
  },
  {
    name: "a daemon's answer",
    command: `perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new("../../../away/daemon")->getline' > "$OUT"`,
    fate: 'unproven',
    why: 'nothing can stand for it',
  },
  {
    name: 'an answer from the network',
    command: `perl -MIO::Socket::INET -e 'print IO::Socket::INET->new("127.0.0.1:$ENV{PORT}")->getline' > "$OUT"`,
    step: { env: ['PORT'] },
    fate: 'unproven',
    why: 'nothing can stand for it',
  },
  // What differs in every run.
  { name: 'time of day', command: 'date +%s%N > "$OUT"', fate: 'unseen', why: CALL, foundAs: 'time' },
  {
    name: 'random numbers',
    command: 'od -An -N8 -tx1 /dev/urandom > "$OUT"',
    fate: 'unseen',
    why: 'every runtime reads them at its start',
    foundAs: 'random',
  },
  { name: 'numbers of processes', command: 'echo $$ > "$OUT"', fate: 'unseen', why: CALL, foundAs: 'pid' },
];

export function stepOf({ name }: Way): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
}

const FATES: Readonly<Record<Fate, string>> = {
  miss: 'miss',
  unproven: 'not kept',
  local: 'stays there',
  same: 'the same for all',
  unseen: '**not seen**',
};

/** The table of docs/MACHINES.md. */
export function waysTable(): string {
  const rows = WAYS.map(({ name, command, fate, why, foundAs }) => {
    const finder =
      foundAs === undefined ? 'nothing finds it' : `\`assay reproduce\` finds it (\`${foundAs}\`)`;
    const cell = command.replaceAll('|', '\\|');
    return `| ${name} | \`${cell}\` | ${FATES[fate]}: ${why}${fate === 'unseen' ? `; ${finder}` : ''} |`;
  });
  return [
    '| way | a command that depends on it | what becomes of its result |',
    '|---|---|---|',
    ...rows,
  ].join('\n');
}

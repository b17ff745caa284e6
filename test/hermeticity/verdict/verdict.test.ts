// The rules of the verdict, one at a time, on hand-made reports. The corpus checks them on real actions.
import { describe, expect, it } from 'vitest';
import type { RelPath } from '../../../core/path.ts';
import type { Access, TracedProcess, TraceReport, Without } from '../../../hermeticity/trace/access.ts';
import type { DeclaredAccess } from '../../../hermeticity/verdict/declaration.ts';
import { fixText } from '../../../hermeticity/verdict/finding.ts';
import { DEFAULT_POLICY } from '../../../hermeticity/verdict/policy.ts';
import { judge } from '../../../hermeticity/verdict/verdict.ts';
import { type AbsPath, absPath } from '../../../system/paths/absolute-path.ts';

const WORKSPACE = absPath('/home/me/work');

type AccessDetails = Without<Access, 'process' | 'atMs'>;

function at(path: string): AbsPath {
  return absPath(path.startsWith('/') ? path : `${WORKSPACE}/${path}`);
}

function reportOf(accesses: readonly AccessDetails[], options: Partial<TraceReport> = {}): TraceReport {
  const command: TracedProcess = {
    pid: 100,
    parent: undefined,
    argv: ['tool', '-x'],
    atMs: 0,
    survived: false,
  };
  return {
    tracer: { name: 'by hand', version: '1' },
    exit: { code: 0 },
    processes: [command],
    accesses: accesses.map((details, index) => ({ ...details, process: 0, atMs: index })),
    complete: true,
    gaps: [],
    ...options,
  };
}

function declared(options: Partial<DeclaredAccess> = {}): DeclaredAccess {
  const inputs = new Set<RelPath>(['src/a.c', 'in.txt'] as RelPath[]);
  return {
    workspace: WORKSPACE,
    inputs,
    covers: (path) => inputs.has(path),
    growsIn: () => false,
    namesIn: () => [],
    textOf: () => '',
    realPathOf: (text) => absPath(text),
    packageOf: () => undefined,
    outputs: ['dist' as RelPath],
    scratch: [absPath('/scratch/tmp'), absPath('/scratch/home')],
    tools: [absPath('/opt2/tool')],
    searchPath: [absPath('/home/me/bin')],
    ...options,
  };
}

function findings(
  accesses: readonly AccessDetails[],
  options: Partial<DeclaredAccess> = {},
  report: Partial<TraceReport> = {},
) {
  return judge(reportOf(accesses, report), declared(options)).findings.map(
    ({ kind, path, detail }) => `${kind} ${path ?? detail}`,
  );
}

const read = (path: string): AccessDetails => ({ kind: 'read', path: at(path) });
const probe = (path: string): AccessDetails => ({ kind: 'probe', path: at(path) });
const absent = (path: string): AccessDetails => ({ kind: 'absent', path: at(path) });
const list = (path: string): AccessDetails => ({ kind: 'list', path: at(path) });
const overwrite = (path: string): AccessDetails => ({ kind: 'write', path: at(path) });
const create = (path: string): AccessDetails => ({ kind: 'write', path: at(path), created: true });
const remove = (path: string): AccessDetails => ({ kind: 'delete', path: at(path) });
const rename = (path: string, to: string): AccessDetails => ({ kind: 'rename', path: at(path), to: at(to) });
const connect = (host: string, port: number): AccessDetails => ({
  kind: 'connect',
  address: { family: 'inet', host, port },
});

describe('the read set', () => {
  it('says whether a program looked at the cache of the loader itself, in any order', () => {
    const byLoader = read('/etc/ld.so.cache');
    const byProgram: AccessDetails = { kind: 'probe', path: at('/etc/ld.so.cache'), byProgram: true };
    const told = (accesses: readonly AccessDetails[]) =>
      judge(reportOf(accesses), declared()).readSet.map(({ was, byProgram }) => [was, byProgram]);
    expect(told([byLoader])).toEqual([['there', undefined]]);
    expect(told([byLoader, byProgram])).toEqual([['there', true]]);
    expect(told([byProgram, byLoader])).toEqual([['there', true]]);
  });
});

describe('a finding', () => {
  it('names the process, the first time, and the fix', () => {
    const { findings, hermetic } = judge(
      reportOf([read('in.txt'), read('conf[1].txt'), read('conf[1].txt')]),
      declared(),
    );
    expect(hermetic).toBe(false);
    expect(findings).toEqual([
      {
        kind: 'read',
        path: 'conf[1].txt',
        process: ['tool', '-x'],
        atMs: 1,
        fix: { flag: '--input', value: 'conf\\[1\\].txt' },
      },
    ]);
    expect(findings[0]?.fix && fixText(findings[0].fix)).toBe("--input 'conf\\[1\\].txt'");
  });

  it.each([
    ['node_modules/@types/a+b.d.ts', '--input node_modules/@types/a+b.d.ts'],
    ['-n', '--input=-n'],
    ['!x', "--input '\\!x'"],
    ['.git/HEAD', undefined],
  ])('suggests the flag that declares %s', (path, text) => {
    const fix = judge(reportOf([read(path)]), declared()).findings[0]?.fix;
    expect(fix && fixText(fix)).toBe(text);
  });

  it('shows a path relative in the workspace, with ../ beside it, and absolute elsewhere', () => {
    expect(findings([read('a'), read('/home/me/other/b'), read('/srv/c'), list('/home/me')])).toEqual([
      'read a',
      'read ../other/b',
      'read /srv/c',
      'list ..',
    ]);
  });

  it('shows bytes that are not UTF-8 as %XX', () => {
    const path = at('x%bytes:c3bcff').replace('x%bytes', '%bytes') as AbsPath;
    expect(findings([{ kind: 'read', path }])).toEqual(['read ü%FF']);
  });
});

describe('an action', () => {
  it('without findings is hermetic', () => {
    expect(judge(reportOf([read('in.txt'), create('dist')]), declared())).toMatchObject({
      hermetic: true,
      findings: [],
    });
  });

  it('with an incomplete trace is never hermetic', () => {
    const verdict = judge(reportOf([], { complete: false, gaps: ['why'] }), declared());
    expect(verdict).toMatchObject({ hermetic: false, complete: false, findings: [] });
  });
});

describe('a probe', () => {
  it('of declared inputs, their folders, future outputs and private folders is allowed', () => {
    const free = [
      read('in.txt'),
      probe('src'),
      probe('src/a.c'),
      probe(WORKSPACE),
      absent('dist/x'),
      read('/scratch/tmp/x'),
    ];
    expect(findings([...free, absent('/scratch/home/.rc'), list('/scratch/tmp')])).toEqual([]);
  });

  it('of folders above the workspace is allowed, listing them is a finding', () => {
    expect(findings([probe('/'), probe('/home'), probe('/home/me'), list('/home')])).toEqual(['list /home']);
  });

  it('of an undeclared path is one finding, with the strongest access', () => {
    expect(findings([probe('x'), read('x'), probe('d'), list('d'), probe('e'), read('e/f')])).toEqual([
      'read x',
      'list d',
      'read e/f',
    ]);
  });

  it('of an absent path is a finding, unless a file there would be an input', () => {
    expect(findings([absent('a.h'), absent('b.h')], { covers: (path) => path === 'b.h' })).toEqual([
      'absent a.h',
    ]);
  });

  it('of a path before writing it is reported as the write alone', () => {
    expect(findings([absent('new'), create('new'), probe('old'), overwrite('old')])).toEqual([
      'write new',
      'write old',
    ]);
  });

  it('of a path that the action removed, or in a folder that it made, is allowed', () => {
    const made: AccessDetails = { kind: 'write', path: at('dist/d'), created: true, folder: true };
    expect(
      findings([create('dist/x'), remove('dist/x'), absent('dist/x'), made, absent('dist/d/y')]),
    ).toEqual([]);
  });

  it('along PATH is allowed, running an undeclared program there is a finding', () => {
    const exec: AccessDetails = { kind: 'exec', path: at('/home/me/bin/tool') };
    const verdict = judge(
      reportOf([absent('/home/me/bin/cc'), probe('/home/me/bin/tool'), exec]),
      declared(),
    );
    expect(verdict.findings).toMatchObject([
      { kind: 'read', detail: 'executed', fix: { flag: '--tool', value: '/home/me/bin/tool' } },
    ]);
  });

  it('of common tool files above the workspace is allowed, inside the workspace it is a finding', () => {
    const names = ['tsconfig.json', '/home/me/package.json', '/node_modules/@types', '/home/me/.rc'];
    expect(findings(names.map(absent))).toEqual(['absent tsconfig.json', 'absent ../.rc']);
  });
});

describe('the toolchain', () => {
  it('is part of the read set, including absent names', () => {
    const accesses: AccessDetails[] = [
      read('/usr/lib/libc.so'),
      { kind: 'exec', path: at('/usr/bin/cc') },
      read('/opt2/tool/x'),
    ];
    const verdict = judge(
      reportOf([...accesses, absent('/usr/include/x.h'), read('/usr/lib/libc.so')]),
      declared(),
    );
    expect(verdict.findings).toEqual([]);
    expect(verdict.readSet.map(({ path, was }) => `${was} ${path}`)).toEqual([
      'there /usr/lib/libc.so',
      'there /usr/bin/cc',
      'there /opt2/tool/x',
      'absent /usr/include/x.h',
    ]);
  });

  it('excludes files about this machine or its users', () => {
    for (const path of DEFAULT_POLICY.machine) expect(findings([read(path)])).toEqual([`read ${path}`]);
  });

  it('may not be written', () => {
    expect(findings([create('/usr/lib/x'), remove('/etc/y')])).toEqual(['write /usr/lib/x', 'delete /etc/y']);
  });
});

describe('a file in /proc or /sys', () => {
  const CAT: TracedProcess = { pid: 100, parent: undefined, argv: ['/bin/cat'], atMs: 0, survived: false };
  const NODE = { ...CAT, argv: ['node', 'x.js'] };

  function kernelFacts(accesses: readonly AccessDetails[], process = CAT): string[] {
    return [...judge(reportOf(accesses, { processes: [process] }), declared()).kernelFacts];
  }

  it('may be read if it describes the process itself', () => {
    const accesses = [read('/proc/self/maps'), read('/proc/100/stat'), overwrite('/dev/null')];
    expect(findings(accesses)).toEqual([]);
    expect(kernelFacts(accesses)).toEqual([]);
  });

  it('may be written if it belongs to the process, and is a finding if it belongs to the machine', () => {
    const own = ['/proc/self/coredump_filter', '/proc/100/oom_score_adj', '/dev/null', '/dev/pts/3'];
    expect(findings(own.map((path) => overwrite(path)))).toEqual([]);
    const others = ['/proc/sys/vm/swappiness', '/sys/fs/cgroup/x/cpu.max', '/dev/tty', '/dev/sda'];
    expect(findings(others.map((path) => overwrite(path)))).toEqual(others.map((path) => `write ${path}`));
  });

  it('is a finding that cannot be proven if it describes other processes or always differs', () => {
    expect(
      findings([
        read('/proc/7/stat'),
        list('/proc'),
        read('/proc/uptime'),
        read('/proc/sys/kernel/random/uuid'),
        read('/proc/self/net/dev'),
        read('/sys/class/net/eth0/statistics/rx_bytes'),
        read('/sys/kernel/debug/x'),
      ]),
    ).toEqual([
      'host /proc/7/stat',
      'host /proc',
      'time /proc/uptime',
      'random /proc/sys/kernel/random/uuid',
      'host /proc/self/net/dev',
      'time /sys/class/net/eth0/statistics/rx_bytes',
      'host /sys/kernel/debug/x',
    ]);
  });

  it('is a fact if it describes the machine', () => {
    const accesses = [
      read('/proc/cpuinfo'),
      read('/proc/sys/kernel/hostname'),
      list('/sys/class/net'),
      absent('/sys/class/net/eth9'),
    ];
    expect(findings(accesses)).toEqual([
      'read /proc/cpuinfo',
      'read /proc/sys/kernel/hostname',
      'list /sys/class/net',
    ]);
    expect(kernelFacts(accesses)).toEqual([
      '/proc/cpuinfo',
      '/proc/sys/kernel/hostname',
      '/sys/class/net/',
      '/sys/class/net/eth9',
    ]);
  });

  it('is named as the command asked for it, because links below /sys lead through the buses', () => {
    const path = at('/sys/devices/pci0000:00/0000:00:03.0/net/eth0/address');
    const accesses: AccessDetails[] = [{ kind: 'read', path, asked: at('/sys/class/net/eth0/address') }];
    expect(kernelFacts(accesses)).toEqual(['/sys/class/net/eth0/address']);
  });

  it('is free where a runtime reads it for itself, and a fact if its script reads it too', () => {
    const [limit, memory, cores] = [
      '/sys/fs/cgroup/memory.max',
      '/proc/meminfo',
      '/sys/devices/system/cpu/online',
    ];
    const start = [read('/proc/self/cgroup'), read(limit), read(memory), read(cores)];
    expect(kernelFacts([...start, ...start], NODE)).toEqual([]);
    for (const file of [limit, memory, cores])
      expect(kernelFacts([...start, read(file)], NODE), file).toEqual([file]);
    expect(kernelFacts(start)).toEqual([
      '/proc/self/cgroup',
      '/sys/fs/cgroup/memory.max',
      '/proc/meminfo',
      '/sys/devices/system/cpu/online',
    ]);
  });

  it('is a fact if a script is the first to read it', () => {
    const start = [
      read('/proc/self/cgroup'),
      read('/sys/fs/cgroup/memory/memory.limit_in_bytes'),
      read('/proc/meminfo'),
    ];
    for (const file of ['/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/cpu.max', '/proc/version'])
      expect(kernelFacts([...start, read(file)], NODE), file).toEqual([file]);
    const PYTHON = { ...CAT, argv: ['/usr/bin/python3.11', 'x.py'] };
    expect(kernelFacts([read('/sys/devices/system/cpu/online')], PYTHON)).toEqual([
      '/sys/devices/system/cpu/online',
    ]);
  });

  it('is free for the check of vite whether the kernel is that of Windows, once', () => {
    const vite = read('/opt2/node_modules/vite/dist/node/cli.js');
    expect(kernelFacts([vite, read('/proc/version')], NODE)).toEqual([]);
    expect(kernelFacts([vite, read('/proc/version'), read('/proc/version')], NODE)).toEqual([
      '/proc/version',
    ]);
  });

  it('is a fact if the process inherits it from its caller', () => {
    const files = ['/proc/self/limits', '/proc/self/status', '/proc/self/oom_score_adj'];
    expect(kernelFacts(files.map((file) => read(file)))).toEqual(files);
    expect(kernelFacts([read('/proc/100/task/100/status')])).toEqual(['/proc/self/status']);
    expect(findings([read('/proc/self/sessionid')])).toEqual(['host /proc/self/sessionid']);
  });
});

describe('a device', () => {
  it('is free if every machine has it', () => {
    const accesses = [read('/dev/null'), read('/dev/urandom'), probe('/dev/pts/0')];
    expect(findings(accesses)).toEqual([]);
    expect([...judge(reportOf(accesses), declared()).kernelFacts]).toEqual([]);
  });

  it('is a fact where it is looked for, and nothing stands for what it tells', () => {
    const accesses = [absent('/dev/kvm'), probe('/dev/nvidia0'), list('/dev/dri'), list('/dev/shm')];
    expect([...judge(reportOf(accesses), declared()).kernelFacts]).toEqual([
      '/dev/kvm',
      '/dev/nvidia0',
      '/dev/dri/',
      '/dev/shm/',
    ]);
    expect(findings([read('/dev/kvm'), read('/dev/tty'), read('/dev/kmsg')])).toEqual([
      'host /dev/kvm',
      'host /dev/tty',
      'host /dev/kmsg',
    ]);
  });
});

describe('a question to the kernel', () => {
  function asked(question: string, number?: number): AccessDetails {
    return { kind: 'asked', question, ...(number !== undefined && { number }) };
  }
  const facts = (...accesses: AccessDetails[]) => [...judge(reportOf(accesses), declared()).machineFacts];

  it('is a fact if it is about the machine or the caller', () => {
    expect(
      facts(asked('getgroups'), asked('getpriority'), asked('limit', 4), asked('ioctl', 0x8912)),
    ).toEqual(['groups', 'nice', 'limit:core file size', 'addresses']);
    expect(facts(read('/etc/passwd'), read('/etc/group'))).toEqual(['uid', 'groups']);
  });

  it('is about the addresses, unless getaddrinfo asks by the socket', () => {
    const [socket, lookup] = [asked('netlink'), asked('getaddrinfo')];
    expect(facts(socket)).toEqual(['addresses']);
    expect(facts(socket, lookup)).toEqual(['families']);
    expect(facts(socket, lookup, socket)).toEqual(['families', 'addresses']);
    expect(findings([socket])).toEqual(['probe asks for the addresses of this machine']);
    expect(findings([socket, lookup])).toEqual([]);
  });

  it('of Java is about addresses only if an output has one', () => {
    const processes = [{ pid: 100, parent: undefined, argv: ['java'], atMs: 0, survived: false }];
    const accesses = [read('/usr/lib/jvm/lib/server/libjvm.so'), asked('ioctl', 0x8912)];
    const verdict = judge(reportOf(accesses, { processes }), declared());
    expect([...verdict.machineFacts]).toEqual([]);
    expect(verdict.searchesAddresses).toBe(true);
    const forged = judge(reportOf(accesses.slice(1), { processes }), declared());
    expect([...forged.machineFacts]).toEqual(['addresses']);
  });

  it('is a finding if nothing can stand for the answer', () => {
    expect(
      findings([asked('syslog'), asked('socket', 40), asked('raw socket', 2), asked('netlink', 4)]),
    ).toEqual([
      "host reads the kernel's log",
      'net address family 40',
      'net a raw socket',
      'host asks by netlink (protocol 4)',
    ]);
  });
});

describe('a native addon of Node', () => {
  const NODE: TracedProcess = {
    pid: 100,
    parent: undefined,
    argv: ['node', 'x.js'],
    atMs: 0,
    survived: false,
  };

  function kernelFacts(accesses: readonly AccessDetails[], process = NODE): string[] {
    return [...judge(reportOf(accesses, { processes: [process] }), declared()).kernelFacts];
  }

  it('reads kernel files for itself, once', () => {
    const cores = read('/proc/cpuinfo');
    const addon = read('/usr/lib/x.node');
    expect(kernelFacts([addon, cores], NODE)).toEqual([]);
    expect(kernelFacts([addon, cores, cores], NODE)).toEqual(['/proc/cpuinfo']);
    expect(kernelFacts([cores], NODE)).toEqual(['/proc/cpuinfo']);
  });
});

describe('listing a folder', () => {
  const grows = { growsIn: () => true };

  it('is allowed if every name is declared and a new one would be an input', () => {
    expect(findings([list('src')], { ...grows, namesIn: () => ['a.c'] })).toEqual([]);
  });

  it('is a finding if it shows an undeclared name', () => {
    const verdict = judge(reportOf([list('src')]), declared({ ...grows, namesIn: () => ['a.c', 'b.c'] }));
    expect(verdict.findings).toMatchObject([
      { kind: 'list', path: 'src', detail: 'shows b.c', fix: { value: 'src/*' } },
    ]);
  });

  it('is a finding if a new name would change it but not the key', () => {
    expect(findings([list('src')], { namesIn: () => ['a.c'] })).toEqual(['list src']);
  });

  it('that the action made itself is allowed', () => {
    const folder: AccessDetails = { kind: 'write', path: at('dist/d'), created: true, folder: true };
    expect(findings([folder, create('dist/d/x'), list('dist/d')])).toEqual([]);
  });

  it('counts as probes of names for make, and as a listing for other programs', () => {
    const processes: TracedProcess[] = ['/usr/bin/make', 'ls'].map((name, index) => ({
      pid: index,
      parent: undefined,
      argv: [name],
      atMs: 0,
      survived: false,
    }));
    const accesses: Access[] = [0, 1].map((process) => ({
      kind: 'list',
      path: WORKSPACE,
      process,
      atMs: process,
    }));
    expect(judge(reportOf([], { processes, accesses }), declared()).findings).toMatchObject([
      { process: ['ls'] },
    ]);
  });
});

describe('a write', () => {
  it('into outputs and private folders, or making the folders above an output, is allowed', () => {
    const above: AccessDetails = { kind: 'write', path: at('a/b'), created: true, folder: true };
    const outputs = ['a/b/c.txt' as RelPath];
    expect(findings([above, create('a/b/c.txt'), create('/scratch/tmp/x')], { outputs })).toEqual([]);
    expect(findings([above, create('a/b/other')], { outputs })).toEqual(['write a/b/other']);
  });

  it('into a new folder is reported for the first files, with the folder to declare', () => {
    expect(
      findings([
        { kind: 'write', path: at('obj'), created: true, folder: true },
        { kind: 'write', path: at('obj/deep'), created: true, folder: true },
        ...Array.from({ length: 30 }, (_, index) => create(`obj/deep/${index}`)),
      ]),
    ).toEqual(['write obj', ...Array.from({ length: 10 }, (_, index) => `write obj/deep/${index}`)]);
  });

  it('is no finding if the file is removed again', () => {
    expect(findings([create('t'), remove('t'), create('/tmp/t'), remove('/tmp/t')])).toEqual([]);
  });

  it('over an input is a change of the input, even if it is also an output', () => {
    expect(
      findings([overwrite('in.txt'), rename('dist/new', 'src/a.c')], {
        outputs: ['in.txt' as RelPath, 'dist' as RelPath],
      }),
    ).toEqual(['mutate in.txt', 'stale-output dist/new', 'mutate src/a.c']);
  });

  it('of an input’s mode is a change of it, and does not make it the action’s own', () => {
    expect(findings([{ kind: 'write', path: at('x'), attributes: true }, read('x')])).toEqual([
      'write x',
      'read x',
    ]);
  });
});

describe('shared memory (/dev/shm)', () => {
  const link = (path: string, to: string): AccessDetails => ({
    kind: 'hardlink',
    path: at(path),
    to: at(to),
  });

  it('may be used by the action alone: what it makes there, it removes', () => {
    expect(findings([create('/dev/shm/pool'), read('/dev/shm/pool'), remove('/dev/shm/pool')])).toEqual([]);
  });

  it('may hold a semaphore, which glibc makes under another name first', () => {
    const semaphore = [
      create('/dev/shm/sem.x7Q2'),
      link('/dev/shm/sem.x7Q2', '/dev/shm/sem.build'),
      remove('/dev/shm/sem.x7Q2'),
      remove('/dev/shm/sem.build'),
    ];
    expect(findings(semaphore)).toEqual([]);
    expect(findings(semaphore.slice(0, -1))).toEqual(['write /dev/shm/sem.build']);
  });

  it('that the action leaves behind is a finding: another process may read it', () => {
    expect(findings([create('/dev/shm/pool')])).toEqual(['write /dev/shm/pool']);
    expect(findings([create('/dev/shm/pool'), remove('/dev/shm/pool'), create('/dev/shm/pool')])).toEqual([
      'write /dev/shm/pool',
    ]);
  });

  it('of another process is an undeclared input, and removing it is a finding', () => {
    expect(findings([read('/dev/shm/theirs'), absent('/dev/shm/later')])).toEqual([
      'read /dev/shm/theirs',
      'absent /dev/shm/later',
    ]);
    expect(findings([remove('/dev/shm/theirs')])).toEqual(['delete /dev/shm/theirs']);
  });

  it('is not the rest of /dev, which belongs to the kernel', () => {
    expect(findings([overwrite('/dev/null'), probe('/dev/shm')])).toEqual([]);
  });
});

describe('a file that the action wrote itself', () => {
  it('is not an input, even after a rename', () => {
    expect(findings([create('/scratch/tmp/f'), rename('/scratch/tmp/f', 'dist/f'), read('dist/f')])).toEqual(
      [],
    );
  });

  it('is followed when its folder is renamed', () => {
    const folder: AccessDetails = { kind: 'write', path: at('dist/a'), created: true, folder: true };
    expect(findings([folder, create('dist/a/f'), rename('dist/a', 'dist/b'), read('dist/b/f')])).toEqual([]);
  });

  it('is still an input if the action read it before the write', () => {
    expect(findings([read('x'), overwrite('x'), read('x')])).toEqual(['read x', 'write x']);
  });
});

describe('removing a file', () => {
  it('is a finding for inputs and undeclared files, not for outputs', () => {
    const verdict = judge(reportOf([remove('in.txt'), remove('x'), remove('dist/old')]), declared());
    expect(verdict.findings).toMatchObject([
      { kind: 'delete', path: 'in.txt', detail: 'a declared input' },
      { kind: 'delete', path: 'x' },
    ]);
  });
});

describe('an earlier output', () => {
  it('that is read, or probed and left unchanged, is stale', () => {
    expect(findings([read('dist/a'), probe('dist/b'), list('dist')])).toEqual([
      'stale-output dist/a',
      'stale-output dist/b',
      'stale-output dist',
    ]);
  });

  it('that is probed and then replaced or removed is not stale', () => {
    const again = [probe('dist/a'), overwrite('dist/a'), probe('dist'), list('dist/d'), remove('dist/d')];
    expect(findings(again)).toEqual([]);
  });
});

describe('a symbolic link', () => {
  const link = (path: string, target: string): AccessDetails => ({ kind: 'symlink', path: at(path), target });

  it('in an output may point anywhere in the workspace, by a relative path', () => {
    expect(findings([link('dist/l', '../src/a.c'), link('dist/m', 'l')])).toEqual([]);
  });

  it('in an output that points elsewhere escapes, even if it was renamed into the output', () => {
    expect(findings([link('dist/a', '/usr/bin/cc'), link('dist/b', '../../x')])).toEqual([
      'symlink-escape dist/a',
      'symlink-escape dist/b',
    ]);
    expect(findings([link('/scratch/tmp/l', '/x'), rename('/scratch/tmp/l', 'dist/l')])).toEqual([
      'symlink-escape dist/l',
    ]);
  });

  it('that is removed before the end does not escape', () => {
    expect(findings([link('dist/a', '/x'), remove('dist/a')])).toEqual([]);
  });

  it('through which an output is written elsewhere escapes', () => {
    const through: AccessDetails = { kind: 'write', path: at('/srv/f'), asked: at('dist/f'), created: true };
    expect(findings([through])).toEqual(['symlink-escape dist/f']);
  });

  it('that is followed is an input too', () => {
    expect(findings([{ kind: 'followed', path: at('latest') }])).toEqual(['read latest']);
  });
});

describe('network access', () => {
  it('is reported with its address', () => {
    expect(findings([connect('192.0.2.1', 443), connect('::1', 80)])).toEqual([
      'net 192.0.2.1:443',
      'net [::1]:80',
    ]);
  });

  describe('with both ends in the action', () => {
    const bind = (host: string, port = 5): AccessDetails => ({
      kind: 'bind',
      address: { family: 'inet', host, port },
    });
    const to = (host: string, how: 'reached' | 'failed' | 'sent', port = 5): AccessDetails => ({
      ...connect(host, port),
      [how]: true,
    });

    it('is allowed; another port of loopback is a finding, also if nobody listens there', () => {
      expect(findings([bind('127.0.0.1'), to('127.0.0.1', 'reached')])).toEqual([]);
      expect(findings([bind('127.0.0.1'), to('127.0.0.1', 'sent')])).toEqual([]);
      expect(findings([bind('127.0.0.1'), to('127.0.0.1', 'failed', 6)])).toEqual(['net 127.0.0.1:6']);
      expect(findings([bind('127.0.0.1'), to('127.0.0.2', 'reached')])).toEqual(['net 127.0.0.2:5']);
    });

    it('is allowed if the client came before the server, unless somebody answered', () => {
      expect(findings([to('127.0.0.1', 'failed'), bind('127.0.0.1')])).toEqual([]);
      expect(findings([connect('127.0.0.1', 5), bind('127.0.0.1')])).toEqual([]);
      expect(findings([to('127.0.0.1', 'sent'), bind('127.0.0.1')])).toEqual([]);
      expect(findings([to('127.0.0.1', 'reached'), bind('127.0.0.1')])).toEqual(['net 127.0.0.1:5']);
    });

    it('is allowed at every address if the server is bound to all of them', () => {
      expect(findings([bind('0.0.0.0'), to('127.0.0.1', 'reached')])).toEqual([]);
      expect(findings([bind('0.0.0.0'), to('0.0.0.0', 'reached')])).toEqual([]);
      expect(findings([to('127.0.0.1', 'failed'), bind('0.0.0.0')])).toEqual([]);
      for (const host of ['::1', '::', '127.0.0.1', '::ffff:7f00:1', '::ffff:127.0.0.1'])
        expect(findings([bind('::'), to(host, 'reached')]), host).toEqual([]);
      expect(findings([bind('0.0.0.0'), to('::1', 'reached')])).toEqual(['net [::1]:5']);
      expect(findings([bind('0.0.0.0'), to('192.0.2.1', 'reached')])).toEqual([
        'net binds 0.0.0.0:5',
        'net 192.0.2.1:5',
      ]);
    });

    it('is allowed if a client first tries the port at the other address of localhost', () => {
      expect(findings([bind('127.0.0.1'), to('::1', 'failed'), to('127.0.0.1', 'reached')])).toEqual([]);
      expect(findings([bind('127.0.0.1'), connect('::1', 5)])).toEqual([]);
      expect(findings([bind('127.0.0.1'), to('::1', 'reached')])).toEqual(['net [::1]:5']);
      expect(findings([bind('127.0.0.1'), to('::1', 'sent')])).toEqual(['net [::1]:5']);
    });

    it('is allowed if the server answers a client that has its address from the kernel', () => {
      const address = { family: 'inet', host: '0.0.0.0', port: 40_000 } as const;
      const client: AccessDetails = { kind: 'bind', address, assigned: true };
      const datagrams = [bind('127.0.0.1'), to('127.0.0.1', 'sent'), client];
      expect(findings([...datagrams, to('127.0.0.1', 'sent', 40_000)])).toEqual([]);
      expect(findings(datagrams)).toEqual([]);
    });

    it('is allowed by unix sockets, also if the server moves its socket into place', () => {
      const unix = (kind: 'bind' | 'connect', path: string, how?: 'reached' | 'failed'): AccessDetails => ({
        kind,
        address: { family: 'unix', path: at(path) },
        ...(how && { [how]: true }),
      });
      expect(findings([unix('connect', '/run/s', 'failed'), unix('bind', '/run/s')])).toEqual([]);
      expect(findings([unix('connect', '/run/s', 'reached'), unix('bind', '/run/s')])).toEqual([
        'unix /run/s',
      ]);
      const moved = [create('dist/s.new'), unix('bind', 'dist/s.new'), rename('dist/s.new', 'dist/s')];
      expect(findings([...moved, unix('connect', 'dist/s', 'reached')])).toEqual([]);
      expect(findings([unix('connect', 'dist/s', 'failed'), ...moved])).toEqual([]);
      expect(findings([unix('connect', '/scratch/tmp/s', 'failed')])).toEqual([]);
      expect(findings([unix('connect', '/scratch/tmp/s', 'reached')])).toEqual(['unix /scratch/tmp/s']);
    });

    it('is allowed by abstract names', () => {
      const abstract = (
        kind: 'bind' | 'connect',
        name: string,
        how?: 'reached' | 'failed',
      ): AccessDetails => ({
        kind,
        address: { family: 'abstract', name },
        ...(how && { [how]: true }),
      });
      expect(findings([abstract('connect', 'x', 'failed'), abstract('bind', 'x')])).toEqual([]);
      expect(findings([abstract('connect', 'x', 'reached'), abstract('bind', 'x')])).toEqual(['unix @x']);
      expect(findings([abstract('bind', 'x'), abstract('connect', 'y', 'reached')])).toEqual(['unix @y']);
    });
  });

  it('by listening for others is a finding', () => {
    const address = { family: 'inet', host: '0.0.0.0', port: 5 } as const;
    expect(findings([{ kind: 'bind', address }])).toEqual(['net binds 0.0.0.0:5']);
  });

  it('by a unix socket is a finding, even if nothing listens, except for the name service cache', () => {
    const unix = (path: string, failed?: true): AccessDetails => ({
      kind: 'connect',
      address: { family: 'unix', path: at(path) },
      ...(failed && { failed }),
    });
    expect(findings([unix('/run/s'), unix('/run/t', true), unix('/run/nscd/socket', true)])).toEqual([
      'unix /run/s',
      'unix /run/t',
    ]);
    expect(findings([{ kind: 'connect', address: { family: 'abstract', name: 'x' } }])).toEqual(['unix @x']);
  });

  it('by io_uring is a finding, except for the ring that an event loop creates at its start', () => {
    expect(
      findings([
        { kind: 'io_uring', entries: 8, flags: 0 },
        { kind: 'io_uring', entries: 256, flags: 0x10000 },
      ]),
    ).toEqual(['io_uring denied']);
  });
});

describe('a process that outlives the command', () => {
  it('is reported with its arguments', () => {
    const survivor: TracedProcess = { pid: 101, parent: 0, argv: ['daemon'], atMs: 3, survived: true };
    expect(judge(reportOf([], { processes: [survivor] }), declared()).findings).toMatchObject([
      { kind: 'survivor', process: ['daemon'] },
    ]);
  });
});

describe('an ambient probe', () => {
  const by = (name: string, ...paths: string[]) => {
    const process = {
      pid: 100,
      parent: undefined,
      argv: [`/usr/bin/${name}`, 'x'],
      atMs: 0,
      survived: false,
    };
    return judge(reportOf(paths.map(absent), { processes: [process] }), declared());
  };

  it.each([
    ['node', 'package.json', 'src/node_modules'],
    ['make', 'all', 'SCCS', 'src/RCS/a.c,v'],
    ['python3.11', 'lib/__init__.pyc'],
    ['bash', '.python-version'],
  ])('of %s is not a finding, but is in the read set', (name, ...paths) => {
    const { findings, readSet: looks } = by(name, ...paths);
    expect(findings).toEqual([]);
    expect(looks.map(({ path }) => path)).toEqual(paths.map(at));
  });

  it.each([
    ['node', '.env'],
    ['make', 'local.mk'],
    ['python3', 'settings.py'],
    ['cat', 'package.json'],
  ])('of %s does not include %s', (name, path) => {
    expect(by(name, path).findings).toMatchObject([{ kind: 'absent', path }]);
  });

  it('of compilers covers the system’s headers in the action’s folders, not the action’s own headers', () => {
    const process = { pid: 1, parent: undefined, argv: ['/usr/lib/gcc/cc1'], atMs: 0, survived: false };
    const accesses = [
      ...['inc/stdio.h', 'inc/bits/types.h', 'inc/own.h', 'inc/types.h'].map(absent),
      read('/usr/include/stdio.h'),
      read('/usr/include/aarch64-linux-gnu/bits/types.h'),
    ];
    expect(findings(accesses, {}, { processes: [process] })).toEqual([
      'absent inc/own.h',
      'absent inc/types.h',
    ]);
  });
});

describe('an earlier output that was set aside', () => {
  const earlier = { earlier: ['dist' as RelPath] };

  it('is a finding if a program probes for it without writing it', () => {
    expect(findings([absent('dist/a')], earlier)).toEqual(['stale-output dist/a']);
    expect(findings([absent('dist/a'), create('dist/a')], earlier)).toEqual([]);
    expect(findings([absent('dist/a')])).toEqual([]);
  });

  it('is a finding if it is opened for its content, unless the program keeps a log there', () => {
    const opened: AccessDetails = { kind: 'absent', path: at('dist/a'), wanted: true };
    const added: AccessDetails = { kind: 'write', path: at('dist/a'), created: true, wanted: true };
    const ninja = { processes: [{ pid: 1, parent: undefined, argv: ['ninja'], atMs: 0, survived: false }] };
    expect(findings([opened, create('dist/a')], earlier)).toEqual(['stale-output dist/a']);
    expect(findings([added], earlier)).toEqual(['stale-output dist/a']);
    expect(findings([added], earlier, ninja)).toEqual([]);
  });
});

describe('a program that lacks the rights of its file', () => {
  it('is a finding, wherever it lies, beside what its path is', () => {
    const exec = (path: string, withheld?: 'set-user-ID'): AccessDetails => ({
      kind: 'exec',
      path: at(path),
      ...(withheld && { withheld }),
    });
    expect(findings([exec('/usr/bin/sudo', 'set-user-ID'), exec('/usr/bin/env')])).toEqual([
      'setuid /usr/bin/sudo',
    ]);
    expect(findings([exec('/srv/tool', 'set-user-ID')])).toEqual(['setuid /srv/tool', 'read /srv/tool']);
  });
});

describe('code for this machine’s CPU', () => {
  const asked = (
    argv: readonly string[],
    more: Partial<TraceReport> = {},
    options: Partial<DeclaredAccess> = {},
  ) => {
    const process: TracedProcess = { pid: 1, parent: undefined, argv, atMs: 0, survived: false };
    return judge(reportOf([], { processes: [process], ...more }), declared(options)).usesNativeCpu;
  };

  it.each([
    ['gcc', '-march=native', '-c', 'a.c'],
    ['clang', '-O2', '-mtune=native', 'a.c'],
    ['gcc', '-mcpu=native+crypto', 'a.c'],
    ['ghc', '-optc-march=native'],
    ['rustc', '-C', 'target-cpu=native'],
    ['rustc', '-Ctarget-cpu=native'],
    ['cargo', 'build', '--config', 'build.rustflags=["-Ctarget-cpu=native"]'],
    ['sh', '-c', 'gcc -march=native a.c'],
    ['cc1', 'a.c', '--param', 'l1-cache-line-size=64'],
  ])('is asked for by %s %s %s %s', (...argv) => {
    expect(asked(argv)).toBe(true);
  });

  it.each([
    ['gcc', '-march=armv8-a', '-c', 'a.c'],
    ['gcc', '-march=nativeish', 'a.c'],
    ['rustc', '-Ctarget-cpu=generic'],
    ['cat', 'native.c', 'march=native'],
  ])('is not asked for by %s %s %s', (...argv) => {
    expect(asked(argv)).toBe(false);
  });

  it('is asked for by a declared variable', () => {
    expect(asked(['make'], {}, { variables: ['/usr/bin', '-O2 -march=native'] })).toBe(true);
    expect(asked(['make'], {}, { variables: ['/usr/bin', '-O2'] })).toBe(false);
  });

  it('is asked for by a file of arguments that a program read', () => {
    const textOf = (path: string) => (path === 'obj/flags' ? '-O2\n-march=native\n' : '-O2');
    const accesses = [{ ...read('obj/flags'), process: 0, atMs: 0 }];
    expect(asked(['gcc', '@flags'], { accesses }, { textOf })).toBe(true);
    expect(asked(['gcc', '@other'], { accesses }, { textOf })).toBe(false);
    expect(asked(['cat', 'flags'], { accesses }, { textOf })).toBe(false);
  });

  it('counts as asked for if not all arguments are known', () => {
    const cut: TracedProcess = {
      pid: 1,
      parent: undefined,
      argv: ['ld'],
      argvIsCut: true,
      atMs: 0,
      survived: false,
    };
    expect(asked([], { processes: [cut] })).toBe(true);
  });
});

describe('a temporary file outside the workspace', () => {
  const made = { kind: 'write', path: at('/tmp/made-7'), created: true } as const;

  it('is no finding if the action created and removed it', () => {
    expect(findings([made, { kind: 'delete', path: at('/tmp/made-7') }])).toEqual([]);
  });

  it('is one if it is left, or was there before', () => {
    expect(findings([made])).toEqual(['write /tmp/made-7']);
    const rewritten = { kind: 'write', path: at('/tmp/old') } as const;
    expect(findings([rewritten, { kind: 'delete', path: at('/tmp/old') }])).toEqual(['write /tmp/old']);
  });
});

describe('a cache that a tool keeps in the tree', () => {
  const CACHE = at('.pytest_cache/v/cache/nodeids');

  it('is no finding if it is absent, or the action’s own', () => {
    const accesses: AccessDetails[] = [
      { kind: 'absent', path: CACHE },
      { kind: 'write', path: CACHE, created: true },
      { kind: 'read', path: CACHE },
    ];
    expect(findings(accesses)).toEqual([]);
  });

  it('is an ordinary file if it was there before', () => {
    expect(findings([{ kind: 'read', path: CACHE }])).toEqual(['read .pytest_cache/v/cache/nodeids']);
  });

  it('is cargo’s only beside a Cargo.toml', () => {
    const write: AccessDetails = { kind: 'write', path: at('crate/target/debug/x.d'), created: true };
    expect(findings([write])).toEqual(['write crate/target/debug/x.d']);
    expect(findings([write], { namesIn: (folder) => (folder === 'crate' ? ['Cargo.toml'] : []) })).toEqual(
      [],
    );
  });
});

describe('a declared TMPDIR', () => {
  const temporary = absPath('/home/me/tmp');
  const entries = (accesses: readonly AccessDetails[], options: Partial<DeclaredAccess> = { temporary }) =>
    judge(reportOf(accesses), declared(options)).readSet.map(({ path, was }) => `${was} ${path}`);

  it('is the action’s own: what it writes and reads there is no finding', () => {
    const used = [probe('/home/me/tmp'), absent('/home/me/tmp/x1'), create('/home/me/tmp/x1')];
    const more = [read('/home/me/tmp/x1'), remove('/home/me/tmp/x1'), list('/home/me/tmp')];
    expect(findings([...used, ...more], { temporary })).toEqual([]);
    expect(findings([...used, ...more])).not.toEqual([]);
  });

  it('adds to the read set what the action found there, but not names of its own', () => {
    const own = [absent('/home/me/tmp/x1'), create('/home/me/tmp/x1'), remove('/home/me/tmp/x1')];
    expect(entries(own)).toEqual([]);
    expect(entries([read('/home/me/tmp/other'), absent('/home/me/tmp/none')])).toEqual([
      'there /home/me/tmp/other',
      'absent /home/me/tmp/none',
    ]);
  });

  it('does not hide that the action read a file there and then changed it', () => {
    expect(findings([read('/home/me/tmp/queue'), remove('/home/me/tmp/queue')], { temporary })).toEqual([
      'delete ../tmp/queue',
    ]);
    expect(findings([read('/home/me/tmp/queue'), overwrite('/home/me/tmp/queue')], { temporary })).toEqual([
      'write ../tmp/queue',
    ]);
  });

  it('around the workspace does not hide what happens in the workspace', () => {
    const around = { temporary: absPath('/home/me') };
    expect(findings([read('x'), create('stray'), remove('in.txt')], around)).toEqual([
      'read x',
      'write stray',
      'delete in.txt',
    ]);
  });

  it('in the workspace hides neither inputs nor outputs', () => {
    expect(findings([overwrite('in.txt')], { temporary: WORKSPACE })).toEqual(['mutate in.txt']);
    expect(findings([create('t/a'), read('t/a')], { temporary: at('t') })).toEqual([]);
    expect(findings([overwrite('src/a.c')], { temporary: at('src') })).toEqual(['mutate src/a.c']);
  });
});

describe('a search for configuration', () => {
  const by = (program: string) => ({
    processes: [{ pid: 100, parent: undefined, argv: [program], atMs: 0, survived: false }],
  });
  const names = ['.cargo/config.toml', 'go.work', 'pytest.ini', 'tox.ini', 'setup.cfg', 'pyproject.toml'];
  const more = [
    'package.json',
    'conftest.py',
    '.editorconfig',
    'eslint.config.mjs',
    '.cargo/config',
    'go.mod',
  ];

  it.each([...names, ...more])('for %s in the workspace and above it is a fact, and no finding', (name) => {
    const sought = [absent(`src/${name}`), absent(name), absent(`/home/me/${name}`), absent(`/${name}`)];
    const { findings, readSet } = judge(reportOf(sought, by('/usr/bin/node')), declared());
    expect(findings).toEqual([]);
    expect(readSet.map(({ path }) => path)).toEqual(sought.map((access) => 'path' in access && access.path));
  });

  it.each(['sh', 'cat', '/usr/bin/test'])(
    'by %s is a finding: its script or its arguments name the file',
    (program) => {
      expect(findings([absent('pytest.ini')], {}, by(program))).toEqual(['absent pytest.ini']);
    },
  );

  it('by any other name is one too, if it leaves the workspace', () => {
    const up = [
      'src/sub/lerna.json',
      'src/lerna.json',
      'lerna.json',
      '/home/me/lerna.json',
      '/home/lerna.json',
    ];
    expect(findings([...up, '/lerna.json'].map(absent), {}, by('node'))).toEqual([]);
    const nested = ['.rush/temp/x.json', '/home/me/.rush/temp/x.json'];
    expect(findings(nested.map(absent), {}, by('node'))).toEqual([]);
  });

  it('is none if it stays in the workspace, has a gap, or begins elsewhere', () => {
    expect(findings(['src/a.h', 'a.h'].map(absent), {}, by('node'))).toEqual([
      'absent src/a.h',
      'absent a.h',
    ]);
    expect(findings(['src/x', '/home/me/x'].map(absent), {}, by('node'))).toEqual([
      'absent src/x',
      'absent ../x',
    ]);
    expect(findings([absent('/home/me/x')], {}, by('node'))).toEqual(['absent ../x']);
  });

  it('that finds a file is a finding', () => {
    expect(findings([read('pytest.ini')], {}, by('python3'))).toEqual(['read pytest.ini']);
  });
});

describe('a test of the file system', () => {
  it('by the swapped capitals of a file that the program read is a fact, and no finding', () => {
    const trial = [read('/opt2/tool/lib/tsc.js'), absent('/OPT2/TOOL/LIB/TSC.JS')];
    const { findings, readSet } = judge(reportOf(trial), declared());
    expect(findings).toEqual([]);
    expect(readSet.map(({ path }) => path)).toContain('/OPT2/TOOL/LIB/TSC.JS');
  });

  it('by tsc lists no sources in a parent, whether Node runs it or not; a program with such an argument does', () => {
    const by = (...argv: string[]) => ({
      processes: [{ pid: 100, parent: undefined, argv, atMs: 0, survived: false }],
    });
    const seen = (...argv: string[]) => findings([list('src')], { namesIn: () => ['x'] }, by(...argv));
    expect(seen('tsc', '-p')).toEqual([]);
    expect(seen('/usr/bin/node', 'node_modules/.bin/tsc')).toEqual([]);
    expect(seen('ls', 'tsc')).toEqual(['list src']);
    expect(seen('node', 'other.js')).toEqual(['list src']);
  });

  it('by another name is a finding', () => {
    expect(findings([read('/opt2/tool/lib/tsc.js'), absent('/OPT2/TOOL/LIB/OTHER.JS')])).toEqual([
      'absent /OPT2/TOOL/LIB/OTHER.JS',
    ]);
  });

  it('for headers at the root of the file system is a fact, and no finding', () => {
    const { findings, readSet } = judge(
      reportOf([absent('/include'), absent('/include/zlib.h')]),
      declared(),
    );
    expect(findings).toEqual([]);
    expect(readSet).toHaveLength(2);
  });
});

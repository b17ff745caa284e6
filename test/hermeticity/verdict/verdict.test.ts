// The rules of the verdict, one at a time, on hand-made reports. The corpus checks them on real actions.
import { describe, expect, it } from 'vitest';
import type { RelPath } from '../../../core/path.ts';
import { type AbsPath, absPath } from '../../../hermeticity/system/absolute-path.ts';
import type { Access, TracedProcess, TraceReport, Without } from '../../../hermeticity/trace/access.ts';
import type { Declaration } from '../../../hermeticity/verdict/declaration.ts';
import { fixText } from '../../../hermeticity/verdict/finding.ts';
import { DEFAULT_POLICY } from '../../../hermeticity/verdict/policy.ts';
import { judge } from '../../../hermeticity/verdict/verdict.ts';

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
    accesses: accesses.map((told, index) => ({ ...told, process: 0, atMs: index })),
    complete: true,
    gaps: [],
    ...options,
  };
}

function declared(options: Partial<Declaration> = {}): Declaration {
  const inputs = new Set<RelPath>(['src/a.c', 'in.txt'] as RelPath[]);
  return {
    workspace: WORKSPACE,
    inputs,
    covers: (path) => inputs.has(path),
    growsIn: () => false,
    namesIn: () => [],
    textOf: () => '',
    outputs: ['dist' as RelPath],
    scratch: [absPath('/scratch/tmp'), absPath('/scratch/home')],
    tools: [absPath('/opt2/tool')],
    searchPath: [absPath('/home/me/bin')],
    ...options,
  };
}

function findings(
  accesses: readonly AccessDetails[],
  options: Partial<Declaration> = {},
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
    const names = ['package.json', '/home/me/package.json', '/node_modules/@types', '/home/me/.rc'];
    expect(findings(names.map(absent))).toEqual(['absent package.json', 'absent ../.rc']);
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
  it('may be read if it describes the process itself or the machine in general', () => {
    expect(
      findings([
        read('/proc/self/maps'),
        read('/proc/100/stat'),
        read('/proc/meminfo'),
        overwrite('/dev/null'),
      ]),
    ).toEqual([]);
  });

  it('is a finding if it describes other processes or always differs', () => {
    expect(findings([read('/proc/7/stat'), list('/proc'), read('/proc/sys/kernel/hostname')])).toEqual([
      'read /proc/7/stat',
      'list /proc',
      'host /proc/sys/kernel/hostname',
    ]);
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

  it('into the workspace is allowed if the file is removed again, outside it is a finding', () => {
    expect(findings([create('t'), remove('t'), create('/tmp/t'), remove('/tmp/t')])).toEqual([
      'write /tmp/t',
    ]);
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

  it('to a port of the action itself is allowed; listening for others is a finding', () => {
    const bind = (host: string, port: number): AccessDetails => ({
      kind: 'bind',
      address: { family: 'inet', host, port },
    });
    expect(findings([bind('127.0.0.1', 5), connect('127.0.0.1', 5), connect('127.0.0.1', 6)])).toEqual([
      'net 127.0.0.1:6',
    ]);
    expect(findings([bind('0.0.0.0', 5), connect('127.0.0.1', 5)])).toEqual(['net binds 0.0.0.0:5']);
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
    ['python3.11', '__pycache__/a.cpython-311.pyc'],
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

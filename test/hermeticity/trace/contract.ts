// The contract of a tracer: what each must report about the same commands. tracers.test.ts runs it for both.

import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { getegid, geteuid } from 'node:process';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { TraceReport } from '../../../hermeticity/trace/access.ts';
import type { TracedCommand, Tracer } from '../../../hermeticity/trace/tracer.ts';
import { toBytes } from '../../../system/paths/absolute-path.ts';
import { AS_ORDINARY_USER, asRoot, OTHER_USER } from '../../rig/users.ts';
import {
  compileFixture,
  Folder,
  linesBelow,
  looksAtLoaderCache,
  PROJECT,
  type TracedRun,
  trace,
} from '../rig.ts';

const CORES = join(PROJECT, 'test/hermeticity/fixtures/cores.py');
const TRACE_WITHHELD = join(PROJECT, 'test/hermeticity/fixtures/trace-withheld.ts');

export function describeTracer(name: string, makeTracer: () => Tracer): void {
  describe(`${name} meets the contract of a tracer`, () => {
    let tracer: Tracer;
    let tools: Folder;
    let folder: Folder;
    let calls: string;
    let staticCalls: string;

    beforeAll(() => {
      tracer = makeTracer();
      tools = new Folder();
      calls = compileFixture('calls', tools.at('calls'));
      staticCalls = compileFixture('calls', tools.at('static-calls'), '-static');
    });
    afterAll(() => tools.remove());
    beforeEach(() => {
      folder = new Folder();
    });
    afterEach(() => folder.remove());

    const sh = (script: string, options: Partial<TracedCommand> = {}): Promise<TracedRun> =>
      trace(tracer, folder.path, ['sh', '-c', script], options);
    const call = (...args: string[]): Promise<TracedRun> => trace(tracer, folder.path, [calls, ...args]);
    const below = (report: TraceReport): string[] => linesBelow(report, folder.path);

    it('is available here', async () => {
      expect(await tracer.available()).toEqual({ available: true });
    });

    describe('the traced command', () => {
      it('keeps its exit code and its output', async () => {
        const { report, stdout, stderr } = await sh('echo out; echo err >&2; exit 7');
        expect({ exit: report.exit, stdout, stderr }).toEqual({
          exit: { code: 7 },
          stdout: 'out\n',
          stderr: 'err\n',
        });
        expect(report).toMatchObject({ complete: true, gaps: [] });
      });

      it('keeps the signal that ended it', async () => {
        expect((await call('die')).report.exit).toEqual({ signal: 'SIGTERM' });
      });

      it.each([33, 34, 64])('keeps the real-time signal %i that ended it', async (number) => {
        const { report } = await sh(`kill -${number} $$`);
        expect(report.exit).toEqual({ signal: `signal ${number}` });
      });

      it('makes the trace incomplete if it uses a path longer than PATH_MAX', async () => {
        const script = [
          'import os',
          'for _ in range(25): os.mkdir("d" * 200); os.chdir("d" * 200)',
          'open("secret", "w").write("x")',
          'open("secret").read()',
        ].join('\n');
        const { report } = await trace(tracer, folder.path, ['/usr/bin/python3', '-S', '-c', script]);
        expect(report).toMatchObject({ exit: { code: 0 }, complete: false });
        expect(report.gaps.join()).toContain('PATH_MAX');
      });

      it('gets the given environment and nothing else', async () => {
        const { stdout } = await trace(tracer, folder.path, ['/usr/bin/env'], { env: { ONLY: 'this' } });
        expect(stdout).toBe('ONLY=this\n');
      });

      it('gets an empty standard input', async () => {
        expect((await sh('cat; echo end')).stdout).toBe('end\n');
      });

      it('inherits no file descriptor from the tracer', async () => {
        const plain = execFileSync('ls', ['/proc/self/fd'], { encoding: 'utf8' }).split('\n');
        const traced = (await trace(tracer, '/', ['ls', '/proc/self/fd'])).stdout.split('\n');
        expect(traced.filter((handle) => !plain.includes(handle))).toEqual([]);
      });

      it('is reported with an error code if it does not exist', async () => {
        await expect(trace(tracer, folder.path, ['no-such-command-here'])).rejects.toMatchObject({
          code: 'ASSAY_COMMAND_NOT_FOUND',
        });
      });

      it('receives the signals that it handles', async () => {
        const { report, stdout } = await sh('trap "echo caught; exit 3" USR1; kill -USR1 $$; sleep 5');
        expect({ exit: report.exit, stdout }).toEqual({ exit: { code: 3 }, stdout: 'caught\n' });
      });

      it('never gets EINTR because of the tracer', async () => {
        folder.write('sub/file', 'x');
        expect((await call('under-signals', 'sub', 'file')).report.exit).toEqual({ code: 0 });
      });

      it('sees the same cores as untraced, and keeps the affinity that it sets', async () => {
        const { stdout, stderr } = await trace(tracer, folder.path, ['python3', CORES]);
        const ways = ['asked', 'read', 'thread', 'fork', 'program'].map((way) => `${way} right\n`).join('');
        expect({ stdout, stderr }).toEqual({ stdout: ways + ways, stderr: '' });
      });
    });

    describe('accesses', () => {
      it('distinguish a read, a probe of an existing path and a probe of a missing one', async () => {
        folder.write('there', 'x');
        folder.write('seen', 'x');
        const { report } = await sh('cat there; test -e seen; test -e missing; cat nowhere/at/all; true');
        expect(below(report)).toEqual([
          'read there',
          'probe seen',
          'absent missing',
          'absent nowhere/at/all',
        ]);
      });

      it('are reported once per path', async () => {
        folder.write('a', 'x');
        const { report } = await sh('for i in 1 2 3; do cat a; test -e a; test -e b; done; true');
        expect(below(report)).toEqual(['read a', 'absent b']);
      });

      it('include a kernel file as often as each program opens it', async () => {
        const { report } = await sh(
          'cat /proc/version /proc/version; cat /proc/version; cat /proc/self/maps /proc/self/maps',
        );
        const opened = (path: string) =>
          report.accesses.flatMap((one) => ('path' in one && one.path === path ? [one.process] : []));
        const [first, ...others] = opened('/proc/version');
        expect(others).toEqual([first, expect.any(Number)]);
        expect(others.at(-1)).not.toBe(first);
        expect(opened('/proc/self/maps')).toHaveLength(1);
      });

      it('include the listing of a folder', async () => {
        folder.write('sub/a');
        expect(below((await sh('ls sub')).report)).toEqual(expect.arrayContaining(['probe sub', 'list sub']));
      });

      it('report creating, changing, renaming and removing, in order', async () => {
        folder.write('old', 'x');
        const { report } = await sh(
          'mkdir d; echo 1 >d/new; echo 2 >old; mv d/new d/moved; ln d/moved hard; ln -s d/moved soft; rm old; chmod 600 hard; rmdir d',
        );
        const lines = below(report).filter((line) => !/^(probe|absent|entered|read)/.test(line));
        expect(lines).toEqual([
          'write d',
          'write d/new',
          'write old',
          'rename d/new -> d/moved',
          'hardlink d/moved -> hard',
          'symlink soft -> d/moved',
          'delete old',
          'write hard (attributes)',
          // rmdir has failed: the folder is not empty.
          'list d',
        ]);
      });

      it('distinguish a new file from an existing one', async () => {
        folder.write('old', 'x');
        const { report } = await sh('echo 1 >old; echo 2 >new');
        const created = report.accesses.flatMap((access) =>
          access.kind === 'write' ? [[access.path, access.created]] : [],
        );
        expect(created).toEqual([
          [folder.at('old'), undefined],
          [folder.at('new'), true],
        ]);
      });

      it('count an append as a read of the existing content', async () => {
        folder.write('log', 'earlier');
        expect(below((await sh('echo more >>log')).report)).toEqual(['read log', 'write log']);
      });

      it('are reported again after the command has changed the path', async () => {
        const { report } = await sh('test -e f; echo 1 >f; cat f; rm f; test -e f; echo 2 >f; cat f');
        expect(below(report)).toEqual(['absent f', 'write f', 'read f', 'delete f', 'write f', 'read f']);
      });

      it('include a symbolic link and its target', async () => {
        folder.write('real/file', 'x');
        symlinkSync('real', folder.at('link'));
        const { report } = await sh('cat link/file');
        expect(below(report)).toEqual(['followed link', 'read real/file']);
        expect(
          report.accesses.find((access) => access.kind === 'read' && access.path === folder.at('real/file')),
        ).toMatchObject({ asked: folder.at('link/file') });
      });

      it('include the missing target of a dangling link', async () => {
        symlinkSync('gone', folder.at('link'));
        expect(below((await sh('cat link; true')).report)).toEqual(['followed link', 'absent gone']);
      });

      it('include a link that was only read', async () => {
        symlinkSync('gone', folder.at('link'));
        expect(below((await sh('readlink link')).report)).toEqual(['followed link']);
      });

      it('resolve "..", "//" and a changed working folder', async () => {
        folder.write('a/b/file', 'x');
        const { report } = await sh('cd a/b; cat ../../a//b/./file; cat ../missing; true');
        expect(below(report)).toEqual(['entered a/b', 'read a/b/file', 'absent a/missing']);
      });

      it('keep names as bytes: line breaks, quotes, angle brackets, invalid UTF-8', async () => {
        const odd = Buffer.concat([Buffer.from('q"\'<>\n\t '), Buffer.from([0xff, 0xfe]), Buffer.from('ü')]);
        const full = Buffer.concat([toBytes(folder.path), Buffer.from('/'), odd]);
        writeFileSync(full, 'x');
        const { report } = await sh('cat *');
        const read = report.accesses.flatMap((access) =>
          access.kind === 'read' && access.path.startsWith(`${folder.path}/`) ? [toBytes(access.path)] : [],
        );
        expect(read).toEqual([full]);
      });

      it('report a process’s own files as /proc/self, under any name', async () => {
        const { report } = await sh('read -r line </proc/self/status; read -r line </proc/$$/stat');
        const paths = report.accesses.flatMap((access) => (access.kind === 'read' ? [access.path] : []));
        expect(paths).toEqual(expect.arrayContaining(['/proc/self/status', '/proc/self/stat']));
      });

      it('tell if a program, not only its loader, looks at the cache of the loader', async () => {
        for (const script of ['cat /etc/ld.so.cache', 'test -e /etc/ld.so.cache']) {
          const { report } = await sh(`${script} >/dev/null`);
          expect(looksAtLoaderCache(report), script).toContainEqual(
            expect.objectContaining({ byProgram: true }),
          );
        }
        const { report } = await trace(tracer, folder.path, [staticCalls, 'fork', '/etc/ld.so.cache']);
        expect(looksAtLoaderCache(report)).toMatchObject([{ kind: 'read', byProgram: true }]);
      });

      it('include the program, the interpreter of a script and the loader of a binary', async () => {
        folder.write('script', '#!/bin/sh\nexit 0\n');
        const { report } = await sh('chmod +x script; ./script');
        const programs = report.accesses.flatMap((access) => (access.kind === 'exec' ? [access.path] : []));
        expect(programs).toContain(folder.at('script'));
        expect(programs.some((path) => /\/ld-linux/.test(path))).toBe(true);
      });
    });

    describe('programs that lack the rights of their file', () => {
      const program = (owner: number, group: number, mode: number): string => {
        const path = folder.at('program');
        rmSync(path, { force: true });
        copyFileSync(calls, path);
        asRoot('chown', `${owner}:${group}`, path);
        asRoot('chmod', mode.toString(8), path);
        return path;
      };
      const withheld = async (path: string) => {
        const { report } = await trace(tracer, folder.path, [path, 'no-such-method']);
        return report.accesses.flatMap((access) =>
          access.kind === 'exec' && access.path === path ? [access.withheld] : [],
        );
      };

      it('are told, unless their owner is the user already', async () => {
        const [user, group] = [geteuid?.() ?? 0, getegid?.() ?? 0];
        expect(await withheld(program(OTHER_USER, group, 0o4755))).toEqual(['set-user-ID']);
        expect(await withheld(program(OTHER_USER, group, 0o4711))).toEqual(['set-user-ID']);
        expect(await withheld(program(OTHER_USER, group, 0o755))).toEqual([undefined]);
        expect(await withheld(program(user, group, 0o4755))).toEqual([undefined]);
        /* Root has the rights of every group. */
        const lost = user === 0 ? undefined : 'set-group-ID';
        expect(await withheld(program(user, OTHER_USER, 0o2755))).toEqual([lost]);
      });

      it('are told to an ordinary user', () => {
        const [wrapper = '', ...args] = [...AS_ORDINARY_USER, process.execPath, TRACE_WITHHELD, name];
        const program = realpathSync('/usr/bin/su');
        chmodSync(folder.path, 0o755);
        const told = execFileSync(wrapper, [...args, folder.path, program], { encoding: 'utf8' });
        expect(JSON.parse(told)).toEqual(['set-user-ID']);
      });
    });

    describe('no access is missed', () => {
      const ways = [
        'fork',
        'vfork',
        'clone3',
        'spawn',
        'thread',
        'exec-from-thread',
        'daemon',
        'openat2',
        'mmap',
        'path-handle',
      ];
      for (const way of ways) {
        it(`when a file is read by ${way}`, async () => {
          folder.write('file', 'x');
          const { report } = await call(way, 'file');
          expect(report).toMatchObject({ exit: { code: 0 }, complete: true });
          expect(below(report)).toContain('read file');
        });
      }

      it('when a file is read by a static binary', async () => {
        folder.write('file', 'x');
        const { report } = await trace(tracer, folder.path, [staticCalls, 'fork', 'file']);
        expect(below(report)).toContain('read file');
      });

      it('when a path is relative to a folder descriptor', async () => {
        folder.write('deep/er/file', 'x');
        expect(below((await call('folder-handle', 'deep', 'er/file')).report)).toContain('read deep/er/file');
        expect(below((await call('fchdir', 'deep', 'er/file')).report)).toContain('read deep/er/file');
      });

      it('when calls that exist only on x86-64 name paths without a folder descriptor', async () => {
        for (const name of ['listed/entry', 'read', 'seen', 'old', 'read-by-child']) folder.write(name, 'x');
        symlinkSync('nowhere', folder.at('link'));
        mkdirSync(folder.at('empty'));
        const { report } = await call('oldest-calls');
        expect(report).toMatchObject({ exit: { code: 0 }, complete: true });
        expect(below(report)).toEqual([
          'probe listed',
          'list listed',
          'read read',
          'probe seen',
          'absent nothing',
          'probe link',
          'followed link',
          'write made',
          'write made/new',
          'rename made/new -> made/moved',
          'hardlink made/moved -> hard',
          'symlink soft -> made/moved',
          'delete old',
          'write hard (attributes)',
          'delete empty',
          'read read-by-child',
        ]);
      });

      it('when a path is probed by statx', async () => {
        folder.write('file');
        expect(below((await call('statx', 'file')).report)).toContain('probe file');
      });

      it('when a file gets its name after it was created', async () => {
        const { report } = await call('nameless-file', '.', 'named');
        expect(report.exit).toEqual({ code: 0 });
        expect(below(report)).toContain('write named');
      });

      it('when two files are exchanged', async () => {
        folder.write('a');
        folder.write('b');
        const { report } = await call('exchange', 'a', 'b');
        expect(report.accesses.find((access) => access.kind === 'rename')).toMatchObject({ exchange: true });
      });

      it('when a folder is renamed and its old path is probed', async () => {
        folder.write('a/file', 'x');
        const { report } = await sh('cat a/file; mv a b; cat b/file; cat a/file; true');
        expect(below(report)).toEqual(
          expect.arrayContaining(['rename a -> b', 'read b/file', 'absent a/file']),
        );
      });
    });

    describe('processes', () => {
      it('are reported as a tree: parents, arguments, order', async () => {
        const { report } = await sh("sh -c 'cat /dev/null; true'; cat /dev/null");
        const tree = report.processes.map(({ argv, parent }) => [argv.join(' '), parent]);
        expect(tree).toEqual([
          ["sh -c sh -c 'cat /dev/null; true'; cat /dev/null", undefined],
          ['sh -c cat /dev/null; true', 0],
          ['cat /dev/null', 1],
          ['cat /dev/null', 0],
        ]);
      });

      it('tell if they had more arguments than are reported', async () => {
        const short = await sh('true a b');
        expect(short.report.processes.some(({ argvIsCut }) => argvIsCut)).toBe(false);
        const { report } = await sh('env true $(seq 20000)');
        expect(report.processes.at(-1)).toMatchObject({ argvIsCut: true });
      });

      it('get a separate entry for each exec', async () => {
        const { report } = await sh('exec cat /dev/null');
        expect(report.processes.map(({ argv }) => argv[0])).toEqual(['sh', 'cat']);
        expect(report.processes[1]?.pid).toBe(report.processes[0]?.pid);
      });

      it('are recorded with each access that they make', async () => {
        folder.write('file', 'x');
        const { report } = await sh('true; cat file; true');
        const read = report.accesses.find(
          (access) => access.kind === 'read' && access.path === folder.at('file'),
        );
        expect(report.processes[read?.process ?? -1]?.argv).toEqual(['cat', 'file']);
      });

      it('that outlive the command are waited for, and their accesses are reported', async () => {
        folder.write('file', 'x');
        const { report } = await call('short-survivor', 'file');
        expect(below(report)).toContain('read file');
        expect(report.processes.some(({ survived }) => survived)).toBe(false);
      });

      it('that do not end are killed and reported', async () => {
        const { report } = await trace(tracer, folder.path, [calls, 'survivor'], { lingerMs: 200 });
        const survivors = report.processes.filter(({ survived }) => survived);
        expect(survivors).toHaveLength(1);
        expect(survivors.map(({ pid }) => isRunning(pid))).toEqual([false]);
        expect(report.exit).toEqual({ code: 0 });
      });

      it('are all killed on abort', async () => {
        const stop = new AbortController();
        const running = sh('sleep 60 & echo $! >pid; echo ready; wait', {
          signal: stop.signal,
          output: () => stop.abort(),
        });
        expect(await running).toMatchObject({ report: { complete: false } });
        const pid = Number(readFileSync(folder.at('pid'), 'utf8'));
        await expect.poll(() => isRunning(pid)).toBe(false);
      });

      it('can be stopped and continued', async () => {
        const stopped = 'sh -c "kill -STOP \\$\\$; echo on" & p=$!';
        const goOn = '(while kill -CONT $p 2>/dev/null; do sleep 0.05; done) &';
        const { report, stdout } = await sh(`${stopped}; ${goOn} wait $p`);
        expect({ exit: report.exit, stdout }).toEqual({ exit: { code: 0 }, stdout: 'on\n' });
      });

      it('of two traces at the same time do not mix', async () => {
        folder.write('a', 'x');
        folder.write('b', 'x');
        const [first, second] = await Promise.all([
          sh('for i in 1 2 3 4 5 6 7 8 9; do cat a; done'),
          sh('for i in 1 2 3 4 5 6 7 8 9; do cat b; done'),
        ]);
        expect(below(first.report)).toEqual(['read a']);
        expect(below(second.report)).toEqual(['read b']);
      });
    });

    describe('sockets', () => {
      const python = (script: string) => trace(tracer, folder.path, ['/usr/bin/python3', '-I', '-c', script]);
      const addresses = (report: TraceReport, kind: 'connect' | 'bind') =>
        report.accesses.flatMap((access) => (access.kind === kind ? [access.address] : []));

      it('are reported with the address of each attempted connection', async () => {
        const { report } = await python(
          'import socket\ntry: socket.create_connection(("127.0.0.1", 9), 1)\nexcept OSError: pass\n' +
            's = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\ntry: s.sendto(b"x", ("::1", 9))\nexcept OSError: pass',
        );
        expect(addresses(report, 'connect').filter(({ family }) => family === 'inet')).toEqual([
          { family: 'inet', host: '127.0.0.1', port: 9 },
          { family: 'inet', host: '::1', port: 9 },
        ]);
      });

      it('are reported with the port that the command listens on', async () => {
        const { report, stdout } = await python(
          'import socket\ns = socket.socket()\ns.bind(("127.0.0.1", 0))\nprint(s.getsockname()[1])',
        );
        expect(addresses(report, 'bind')).toEqual([
          { family: 'inet', host: '127.0.0.1', port: Number(stdout) },
        ]);
      });

      it('of the unix family are reported by path, and whether anything listened', async () => {
        const server = createServer().listen(folder.at('there'));
        await new Promise((listening) => server.once('listening', listening));
        const { report } = await sh(`${calls} connect-unix there; ${calls} connect-unix missing`);
        server.close();
        const connections = report.accesses.flatMap((access) =>
          access.kind === 'connect' ? [[access.address, access.failed]] : [],
        );
        expect(connections).toEqual([
          [{ family: 'unix', path: folder.at('there') }, undefined],
          [{ family: 'unix', path: folder.at('missing') }, true],
        ]);
      });

      it('with an abstract name are reported', async () => {
        const { report } = await call('abstract-socket', 'name');
        expect(addresses(report, 'connect')).toEqual([{ family: 'abstract', name: 'name' }]);
      });

      it('tell that nobody listens at an address of this machine', async () => {
        const { report } = await python(
          'import socket\nsocket.socket().connect_ex(("127.0.0.1", 9))\n' +
            'socket.socket(socket.AF_UNIX).connect_ex("\\0nobody-here")',
        );
        const told = report.accesses.flatMap((access) =>
          access.kind === 'connect' && access.address.family !== 'unix'
            ? [[access.address.family, access.failed]]
            : [],
        );
        expect(told).toEqual([
          ['inet', true],
          ['abstract', true],
        ]);
      });

      it('tell a datagram from a connection', async () => {
        const { report } = await python(
          'import socket\nd = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n' +
            'd.sendto(b"x", ("127.0.0.1", 9))\nd.sendmsg([b"x"], [], 0, ("127.0.0.1", 10))\nd.connect(("127.0.0.1", 11))',
        );
        const told = report.accesses.flatMap((access) =>
          access.kind === 'connect' && access.address.family === 'inet'
            ? [[access.address.port, access.sent]]
            : [],
        );
        expect(told).toEqual([
          [9, true],
          [10, true],
          [11, undefined],
        ]);
      });

      it('that the command binds itself are reported with their address', async () => {
        const { report } = await call('talk-to-itself', 'own');
        expect(addresses(report, 'bind')).toEqual([{ family: 'unix', path: folder.at('own') }]);
        expect(below(report)).toEqual(['write own', 'delete own']);
      });
    });

    describe('an access that cannot be traced is reported', () => {
      it('io_uring is denied and reported', async () => {
        const { report } = await call('io_uring');
        expect(report.exit).toEqual({ code: 0 });
        expect(report.accesses.filter(({ kind }) => kind === 'io_uring')).toMatchObject([
          { entries: 8, flags: 0 },
        ]);
      });

      it('a separate mount namespace makes the trace incomplete', async () => {
        const { report } = await call('own-mounts');
        expect(report.exit).toEqual({ code: 0 });
        expect(report).toMatchObject({
          complete: false,
          gaps: [expect.stringContaining('view of the file system')],
        });
      });

      it('a seccomp listener is granted, as without a tracer, and makes the trace incomplete', async () => {
        expect((await call('own-listener')).report).toMatchObject({
          exit: { code: 0 },
          complete: false,
          gaps: [expect.stringContaining('seccomp listener')],
        });
      });

      it('an attempt to use ptrace makes the trace incomplete', async () => {
        expect((await call('trace-me')).report).toMatchObject({
          complete: false,
          gaps: [expect.stringContaining('tried to trace')],
        });
      });
    });

    it('passes accesses to a listener as they happen', async () => {
      folder.write('file', 'x');
      const kinds: string[] = [];
      const report = await tracer.run(
        { argv: ['cat', 'file'], cwd: folder.path, env: { PATH: '/usr/bin:/bin' }, output: () => undefined },
        (access) => kinds.push(access.kind),
      );
      expect(kinds).toEqual(report.accesses.map(({ kind }) => kind));
    });

    it('follows a command into a folder whose path holds unusual bytes', async () => {
      const odd = folder.at('odd\n"<dir>');
      mkdirSync(odd);
      const { report } = await trace(tracer, odd, ['sh', '-c', 'echo x >made; cat made']);
      expect(existsSync(`${odd}/made`)).toBe(true);
      expect(linesBelow(report, odd)).toEqual(['write made', 'read made']);
    });
  });
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

// Properties of the native tracer alone: it is found or reported missing, and no process outlives it.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { chmodSync, copyFileSync, existsSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { helperPath, NativeTracer } from '../../../hermeticity/trace/native.ts';
import { soak } from '../../rig/soak.ts';
import { makeThirtyTwoBit } from '../../rig/thirty-two-bit.ts';
import { AS_ORDINARY_USER, asRoot, ORDINARY_USER, OTHER_USER } from '../../rig/users.ts';
import {
  compileFixture,
  Folder,
  linesBelow,
  looksAtLoaderCache,
  NATIVE,
  nativeTracer,
  PROJECT,
  trace,
} from '../rig.ts';

const NODE = join(PROJECT, 'node_modules/.bin/node');
const TRACE_ONCE = join(PROJECT, 'test/hermeticity/fixtures/trace-once.ts');

let folder: Folder;
beforeEach(() => {
  nativeTracer();
  folder = new Folder();
});
afterEach(() => folder.remove());

describe('the native tracer', () => {
  it('is found where build.sh puts it', () => {
    expect(statSync(helperPath()).mode & 0o111).not.toBe(0);
  });

  it('reports that the helper is missing, and refuses to run', async () => {
    const tracer = new NativeTracer(folder.at('nothing'));
    expect(await tracer.available()).toEqual({ available: false, reason: 'assay-trace is not built' });
    const command = { argv: ['true'], cwd: '/', env: {}, output: 'inherit' } as const;
    await expect(tracer.run(command)).rejects.toMatchObject({ code: 'ASSAY_NO_TRACER' });
  });

  it('rejects a helper of another version', async () => {
    const other = folder.write('assay-trace', '#!/bin/sh\necho "assay-trace 0"\n');
    chmodSync(other, 0o755);
    expect(await new NativeTracer(other).available()).toMatchObject({ available: false });
  });

  it('closes inherited files, which would be undeclared inputs', () => {
    const script = 'exec 9</etc/hostname; exec "$1" --records 3 --linger 1 -- ls /proc/self/fd 3>/dev/null';
    const handles = execFileSync('sh', ['-c', script, 'sh', helperPath()], { encoding: 'utf8' });
    expect(handles.trim().split('\n')).toEqual(['0', '1', '2', '3']);
  });

  describe('knows who looks at the cache of the dynamic loader', () => {
    const looks = async (...argv: [string, ...string[]]) =>
      looksAtLoaderCache((await trace(nativeTracer(), folder.path, argv)).report).map((access) =>
        'byProgram' in access ? `${access.kind} by the program` : `${access.kind} by the loader`,
      );
    const both = ['read by the loader', 'read by the program'];

    it('the loader alone, also in children and when a program loads a library later', async () => {
      expect(await looks('true')).toEqual(['read by the loader']);
      expect(await looks('sh', '-c', 'true; sh -c "true; true"; exec true')).toEqual(['read by the loader']);
      const library = 'import ctypes; ctypes.CDLL("libm.so.6"); ctypes.CDLL("libz.so.1")';
      expect(await looks('python3', '-c', library)).toEqual(['read by the loader']);
    });

    it('the program, after its loader and after the loaders of other programs', async () => {
      expect(await looks('cat', '/etc/ld.so.cache')).toEqual(both);
      expect(await looks('sh', '-c', 'true; cat </etc/ld.so.cache; cat /etc/ld.so.cache')).toEqual(both);
      expect(await looks('sh', '-c', 'test -s /etc/ld.so.cache; true')).toEqual([
        'read by the loader',
        'probe by the program',
      ]);
    });

    it('the program, through a link', async () => {
      symlinkSync('/etc/ld.so.cache', folder.at('link'));
      expect(await looks('cat', 'link')).toEqual(both);
    });

    it('counts every look as the program’s own if its loader is not glibc’s', async () => {
      const program = compileFixture('calls', folder.at('calls'));
      const glibc = execFileSync(
        'sh',
        ['-c', 'ls /lib/ld-linux-*.so.* /lib64/ld-linux-*.so.* 2>/dev/null | head -1'],
        {
          encoding: 'utf8',
        },
      ).trim();
      const other = folder.at('ld-other.so.1');
      symlinkSync(glibc, other);
      expect(await looks(program, 'trace-nothing')).toEqual(['read by the loader']);
      compileFixture('calls', program, `-Wl,--dynamic-linker=${other}`);
      expect(await looks(program, 'trace-nothing')).toEqual(['read by the program']);
    });
  });

  describe('knows more about sockets of this machine', () => {
    const connects = async (script: string) => {
      const { report, stderr } = await trace(nativeTracer(), folder.path, [
        '/usr/bin/python3',
        '-I',
        '-c',
        script,
      ]);
      expect(stderr).toBe('');
      return report.accesses.flatMap((access) =>
        (access.kind === 'connect' || access.kind === 'bind') && access.address.family === 'inet'
          ? [access]
          : [],
      );
    };
    const server = 'import socket\ns = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()\n';

    it('whether somebody answered, also if the client did not wait for it', async () => {
      for (const wait of ['True', 'False']) {
        const client = `c = socket.socket(); c.setblocking(${wait}); c.connect_ex(s.getsockname())`;
        expect(await connects(server + client)).toMatchObject([
          { kind: 'bind' },
          { kind: 'connect', reached: true },
        ]);
        const nobody = `import socket\nc = socket.socket(); c.setblocking(${wait}); c.connect_ex(("127.0.0.1", 9))`;
        expect(await connects(nobody)).toMatchObject([{ kind: 'connect', failed: true }]);
      }
    });

    it('and leaves the error of a connection to the program', async () => {
      const script =
        'import socket, errno\nc = socket.socket(); c.setblocking(False); c.connect_ex(("127.0.0.1", 9))\n' +
        'assert c.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED';
      expect(await connects(script)).toMatchObject([{ kind: 'connect', failed: true }]);
    });

    it('the address that the kernel gave to the sender of a datagram', async () => {
      const udp = (client: string) =>
        'import socket\ns, c = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in "sc"]\n' +
        `s.bind(("127.0.0.1", 0))\n${client}\nd, a = s.recvfrom(1); s.sendto(b"y", a); c.recv(1)`;
      for (const client of [
        'c.sendto(b"x", s.getsockname())',
        'c.sendmsg([b"x"], [], 0, s.getsockname())',
        'c.connect(s.getsockname()); c.send(b"x")',
      ]) {
        const [, ...told] = await connects(udp(client));
        const assigned = told.find(({ kind }) => kind === 'bind');
        expect(assigned, client).toMatchObject({ assigned: true });
        const answer = told.at(-1);
        expect(answer).toMatchObject({ kind: 'connect', sent: true });
        if (assigned?.address.family !== 'inet' || answer?.address.family !== 'inet')
          throw new Error('no address');
        expect(answer.address.port).toBe(assigned.address.port);
      }
    });

    it('a datagram socket at a port that the kernel chose, as every client has one', async () => {
      const bound = (type: string, port: number) =>
        connects(`import socket\ns = socket.socket(socket.AF_INET, ${type}); s.bind(("0.0.0.0", ${port}))`);
      const free = createSocket('udp4').bind(0);
      await new Promise((done) => free.once('listening', done));
      const { port } = free.address();
      await new Promise<void>((done) => free.close(done));
      expect(await bound('socket.SOCK_DGRAM', 0)).toMatchObject([{ kind: 'bind', assigned: true }]);
      for (const told of [await bound('socket.SOCK_STREAM', 0), await bound('socket.SOCK_DGRAM', port)]) {
        expect(told).toMatchObject([{ kind: 'bind' }]);
        expect(told[0]).not.toHaveProperty('assigned');
      }
    });

    it('an address that a killed program was still connecting to', async () => {
      const script =
        'import os, signal, socket, threading\ns = socket.socket(socket.AF_UNIX); s.bind("\\0assay-full-" + str(os.getpid())); s.listen(0)\n' +
        'cs = [socket.socket(socket.AF_UNIX) for _ in range(3)]\n' +
        'threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()\n' +
        'for c in cs: c.connect(s.getsockname())';
      const { report } = await trace(nativeTracer(), folder.path, ['/usr/bin/python3', '-I', '-c', script]);
      expect(report.exit).toEqual({ signal: 'SIGKILL' });
      const told = report.accesses.filter(
        (access) => access.kind === 'connect' && access.address.family === 'abstract',
      );
      expect(told).toHaveLength(2);
      expect(told.map((access) => 'reached' in access)).toEqual([true, false]);
    });
  });

  it('counts a child once, even if it ended before the parent’s fork was reported', async () => {
    const late = `exec strace -qq -o /dev/null -e trace=wait4 -e inject=wait4:delay_enter=20000 '${helperPath()}' "$@"`;
    const helper = folder.write('assay-trace', `#!/bin/sh\n${late}\n`);
    chmodSync(helper, 0o755);
    // A grandchild: the tracer always sees a direct child of the command in order.
    const script = "sh -c '(exit 0); (exit 0); true'; true";
    const { report } = await trace(new NativeTracer(helper), folder.path, ['sh', '-c', script]);
    expect(report.processes.map(({ parent }) => parent)).toEqual([undefined, 0, 1, 1]);
    expect(report).toMatchObject({ complete: true, exit: { code: 0 } });
  });

  it('shares a core with a process that stops often, and releases the core when it stops rarely', async () => {
    const script = `import os, time
def until(seconds, work):
    end = time.monotonic() + seconds
    while time.monotonic() < end: work()
print(os.getpid(), flush=True)
until(1, lambda: os.stat('/usr'))
print('calm', flush=True)
until(1, lambda: None)`;
    let said = '';
    const seen = { busy: new Set<string>(), calm: new Set<string>() };
    const looking = setInterval(() => {
      const [pid, calm] = said.split('\n');
      const cores = pid && coresOf(pid);
      if (cores) seen[calm ? 'calm' : 'busy'].add(cores);
    }, 5);
    await nativeTracer().run({
      argv: ['python3', '-c', script],
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
      output: (_, chunk) => {
        // The tracer releases the core within milliseconds; wait for that.
        setTimeout(() => {
          said += chunk.toString();
        }, 100);
      },
    });
    clearInterval(looking);
    expect([...seen.busy]).toContainEqual(expect.stringMatching(/^\d+$/));
    expect([...seen.calm]).toEqual([coresOf('self')]);
  });

  it('hands processes over to other threads, unseen by them and without missing a call of theirs', async () => {
    const program = compileFixture('handed-over', folder.at('handed-over'));
    const rounds = soak(200);
    const { report, stdout } = await trace(nativeTracer(), folder.path, [program, String(rounds)]);
    const takesOver = process.arch === 'x64' && availableParallelism() > 1;
    expect(stdout).toMatch(takesOver ? /^0 bad, [2-8] tracers$/m : '0 bad, 1 tracers');
    expect(report).toMatchObject({ exit: { code: 0 }, gaps: [], complete: true });
    const sought = new Set(linesBelow(report, folder.path).filter((line) => line.startsWith('absent own-')));
    const KILLED = 3;
    const ways = [0, 1, 2, 3, 4, 5, 6, 7, 8].filter((way) => way !== KILLED);
    for (let round = 0; round < rounds; round++)
      for (const way of ways) expect(sought).toContain(`absent own-${round}-${way}`);
  });

  it('lets 32-bit code run, and tells that it cannot follow it', async (context) => {
    const program = folder.at('thirty-two-bit');
    if (!makeThirtyTwoBit(program)) return context.skip();
    const { report } = await trace(nativeTracer(), folder.path, [
      'sh',
      '-c',
      './thirty-two-bit && echo x >out',
    ]);
    expect(report).toMatchObject({
      exit: { code: 0 },
      complete: false,
      gaps: [expect.stringContaining('another architecture')],
    });
    expect(linesBelow(report, folder.path)).toContain('write out');
  });

  it('forwards the signals that it receives', async () => {
    const child = spawn(
      'sh',
      [
        '-c',
        'exec "$1" --records 3 --linger 1 -- sh -c "trap \'exit 5\' TERM; echo up; sleep 9 & wait" 3>/dev/null',
        'sh',
        helperPath(),
      ],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    child.stdout.once('data', () => child.kill('SIGTERM'));
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(5);
  });

  it('ends with all traced processes when its parent is killed', async () => {
    const script = `sleep 60 & echo $! >${folder.at('pid')}; echo up; wait`;
    const parent = spawn(NODE, [TRACE_ONCE, '/', 'sh', '-c', script], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    await new Promise((resolve) => parent.stderr.once('data', resolve));
    parent.kill('SIGKILL');
    const pid = Number(readFileSync(folder.at('pid'), 'utf8'));
    await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false);
  });
});

describe('an ordinary user', () => {
  it('can trace', async () => {
    chmodSync(folder.path, 0o777);
    folder.write('file', 'x');
    const helper = folder.at('assay-trace');
    copyFileSync(helperPath(), helper);
    const tracer = new NativeTracer(asOrdinaryUser(helper));
    const { report, stdout } = await trace(tracer, folder.path, ['sh', '-c', 'cat file; id -u']);
    expect(stdout.trim()).not.toMatch(/^x0$/);
    expect(report).toMatchObject({ exit: { code: 0 }, complete: true });
    expect(linesBelow(report, folder.path)).toContain('read file');
  });
});

/** The cores that a process may use, in the kernel's form "0-3,7"; undefined if it has ended. */
function coresOf(pid: string): string | undefined {
  try {
    return /^Cpus_allowed_list:\t(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

describe('a program that lacks the rights of its file', () => {
  it('is told to an ordinary user: set-user-ID, set-group-ID, capabilities', async () => {
    chmodSync(folder.path, 0o777);
    const helper = folder.at('assay-trace');
    copyFileSync(helperPath(), helper);
    const tracer = new NativeTracer(asOrdinaryUser(helper));
    const program = folder.at('program');
    const withheld = async (prepare: string, owner = 0) => {
      rmSync(program, { force: true });
      copyFileSync('/bin/true', program);
      asRoot('chown', `${owner}:0`, program);
      asRoot('sh', '-c', prepare, 'sh', program);
      const { report } = await trace(tracer, folder.path, [program]);
      return report.accesses.flatMap((access) =>
        access.kind === 'exec' && access.path === program ? [access.withheld] : [],
      );
    };
    const capability =
      'python3 -c "import os, sys; os.setxattr(sys.argv[1], \'security.capability\', bytes.fromhex(\'0100000200240000000000000000000000000000\'))" "$1"';
    expect(await withheld('chmod 755 "$1"')).toEqual([undefined]);
    expect(await withheld('chmod 4711 "$1"')).toEqual(['set-user-ID']);
    expect(await withheld('chmod 2755 "$1"')).toEqual(['set-group-ID']);
    expect(await withheld('chmod 2745 "$1"')).toEqual([undefined]);
    expect(await withheld(`chmod 755 "$1"; ${capability}`)).toEqual(['capabilities']);
    expect(await withheld('chmod 4755 "$1"', ORDINARY_USER)).toEqual([undefined]);
  });

  it('is the binary that runs, not a script', async () => {
    const script = folder.write('script', '#!/bin/sh\n');
    asRoot('chown', `${OTHER_USER}:0`, script);
    asRoot('chmod', '4755', script);
    const { report } = await trace(nativeTracer(), folder.path, [script]);
    expect(report.accesses.filter((access) => 'withheld' in access)).toEqual([]);
  });
});

function asOrdinaryUser(helper: string): string {
  const line = [...AS_ORDINARY_USER, `"${helper}"`, '"$@"'].join(' ');
  const wrapper = folder.write('as-ordinary-user', `#!/bin/sh\nexec ${line}\n`);
  chmodSync(wrapper, 0o755);
  return wrapper;
}

describe('build.sh', () => {
  it('reports a missing compiler and exits with success', () => {
    const output = folder.at('out/assay-trace');
    const run = spawnSync(join(NATIVE, 'build.sh'), [output], {
      env: { PATH: '/usr/bin:/bin', CC: 'no-such-compiler' },
      encoding: 'utf8',
    });
    expect({ status: run.status, stderr: run.stderr }).toEqual({
      status: 0,
      stderr: expect.stringContaining('no C compiler'),
    });
    expect(existsSync(output)).toBe(false);
  });

  it('fails and keeps the existing helper if the compiler fails', () => {
    const output = folder.write('assay-trace', 'old');
    const run = spawnSync(join(NATIVE, 'build.sh'), [output], {
      env: { PATH: '/usr/bin:/bin', CC: 'false' },
    });
    expect(run.status).not.toBe(0);
    expect(readFileSync(output, 'utf8')).toBe('old');
  });
});

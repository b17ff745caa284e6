// Properties of the native tracer alone: it is found or reported missing, and no process outlives it.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { helperPath, NativeTracer } from '../../../hermeticity/trace/native.ts';
import { Folder, linesBelow, NATIVE, nativeTracer, PROJECT, trace } from '../rig.ts';

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
    await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 5_000 }).toBe(false);
  });
});

describe('an ordinary user', () => {
  it('can trace', async () => {
    chmodSync(folder.path, 0o777);
    folder.write('file', 'x');
    const helper = folder.at('assay-trace');
    copyFileSync(helperPath(), helper);
    const tracer = new NativeTracer(process.getuid?.() === 0 ? asNobody(helper) : helper);
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

function asNobody(helper: string): string {
  const user = '--reuid 65534 --regid 65534 --clear-groups';
  const wrapper = folder.write('as-nobody', `#!/bin/sh\nexec setpriv ${user} -- "${helper}" "$@"\n`);
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

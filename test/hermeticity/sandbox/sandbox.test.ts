// The sandbox hides what an action did not declare, and returns only declared outputs.
import { execFile, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type RelPath, ROOT } from '../../../core/path.ts';
import {
  requireSandbox,
  SANDBOX,
  type SandboxRequest,
  sandboxAvailable,
  sandboxed,
} from '../../../hermeticity/sandbox/sandbox.ts';
import { AS_ORDINARY_USER } from '../../rig/users.ts';
import { Folder } from '../rig.ts';

let folder: Folder;
beforeEach(() => {
  folder = new Folder();
});
afterEach(() => {
  vi.unstubAllEnvs();
  folder.remove();
});

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const PLAIN = {
  inputs: [],
  outputs: [],
  workingDirectory: ROOT,
  env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
  mounts: [],
} as const;

/** Runs the action in the sandbox, collects its outputs and cleans up. */
async function run(script: string, options: Partial<SandboxRequest> = {}): Promise<Outcome> {
  const box = sandboxed({ ...PLAIN, workspace: folder.path, argv: ['sh', '-c', script], ...options });
  try {
    const outcome = await start(box.argv, box.env, box.cwd);
    box.collect();
    return outcome;
  } finally {
    box.remove();
  }
}

function start(
  [program, ...args]: readonly [string, ...string[]],
  env: NodeJS.ProcessEnv,
  cwd: string,
): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(program, args, { env, cwd }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
    });
  });
}

function paths(...names: string[]): RelPath[] {
  return names as RelPath[];
}

describe('a sandbox', () => {
  it('is available here', async () => {
    expect(await sandboxAvailable()).toEqual({ available: true });
  });

  it('reports bubblewrap as unavailable if it is missing or not permitted', async () => {
    vi.stubEnv('PATH', folder.path);
    expect(await sandboxAvailable()).toEqual({
      available: false,
      reason: 'bubblewrap (bwrap) is not installed',
    });
    folder.write('bwrap', '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n');
    chmodSync(folder.at('bwrap'), 0o755);
    expect(await sandboxAvailable()).toEqual({
      available: false,
      reason: 'bwrap: No permissions to create new namespace',
    });
    await expect(requireSandbox()).rejects.toMatchObject({ code: 'ASSAY_NO_SANDBOX' });
  });

  it('works for an ordinary user', async () => {
    const box = sandboxed({
      ...PLAIN,
      workspace: folder.path,
      argv: ['sh', '-c', 'pwd; id -u; echo x >made'],
    });
    const root = box.argv[box.argv.indexOf('--bind') + 1] ?? '';
    chmodSync(dirname(root), 0o755);
    chmodSync(root, 0o777);
    const outcome = await start(['/usr/bin/env', ...AS_ORDINARY_USER, ...box.argv], box.env, box.cwd);
    box.remove();
    expect(outcome).toEqual({ code: 0, stdout: `${SANDBOX.workspace}\n${SANDBOX.user}\n`, stderr: '' });
  });

  it('passes the declared variables, with a private HOME and TMPDIR', async () => {
    const { stdout } = await run('', {
      argv: ['/usr/bin/env'],
      env: { GIVEN: 'x', HOME: '/root', TMPDIR: '/var' },
    });
    const variables = stdout
      .trim()
      .split('\n')
      .filter((line) => !/^(PWD|OLDPWD)=/.test(line));
    expect(variables.sort()).toEqual(['GIVEN=x', `HOME=${SANDBOX.home}`, `TMPDIR=${SANDBOX.tmp}`]);
  });

  it('keeps the exit code and the output of the command', async () => {
    expect(await run('echo out; echo err >&2; exit 7')).toEqual({
      code: 7,
      stdout: 'out\n',
      stderr: 'err\n',
    });
  });

  it('contains the declared inputs at one fixed path, and no other file of the workspace', async () => {
    folder.write('src/in.txt', 'in');
    folder.write('secret', 's');
    const { stdout } = await run('pwd; find . -type f; cat src/in.txt', { inputs: paths('src/in.txt') });
    expect(stdout).toBe(`${SANDBOX.workspace}\n./src/in.txt\nin`);
  });

  it('keeps links, executable bits, empty folders and names that are not UTF-8', async () => {
    folder.write('tool', '#!/bin/sh\necho ran\n');
    chmodSync(folder.at('tool'), 0o700);
    symlinkSync('tool', folder.at('link'));
    folder.write('empty/x');
    const odd = Buffer.concat([Buffer.from(`${folder.path}/`), Buffer.from([0xff])]);
    spawnSync('cp', [folder.at('tool'), 'odd'], { cwd: folder.path });
    spawnSync('sh', ['-c', `mv odd "$(printf '\\377')"`], { cwd: folder.path });
    expect(existsSync(odd)).toBe(true);
    const inputs = paths('tool', 'link', 'empty', '%bytes:ff');
    const { stdout } = await run(
      './link; readlink link; ls empty; stat -c %a tool; cat "$(printf "\\377")" | head -1',
      { inputs },
    );
    expect(stdout).toBe('ran\ntool\n755\n#!/bin/sh\n');
  });

  it('starts in the working folder', async () => {
    folder.write('a/b/in', 'x');
    const { stdout } = await run('pwd; cat in', {
      inputs: paths('a/b/in'),
      workingDirectory: 'a/b' as RelPath,
    });
    expect(stdout).toBe(`${SANDBOX.workspace}/a/b\nx`);
  });

  it('contains no users, hosts, homes or other files of the machine', async () => {
    const script =
      'ls -d /etc/passwd /etc/hosts /etc/resolv.conf /root /var "$1" 2>/dev/null; ls -A "$HOME" "$TMPDIR"';
    const { stdout } = await run(script, { argv: ['sh', '-c', script, 'sh', folder.path] });
    expect(stdout).toBe(`${SANDBOX.home}:\n\n${SANDBOX.tmp}:\n`);
  });

  it('has no network except a private loopback', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((listening) => server.once('listening', listening));
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const connect = `import socket, sys\ntry: socket.create_connection(("127.0.0.1", ${port}), 1)\nexcept OSError: sys.exit(5)`;
    const { code } = await run('', { argv: ['/usr/bin/python3', '-I', '-c', connect] });
    server.close();
    expect(code).toBe(5);
  });

  it('has private processes, host name, user and umask', async () => {
    const { stdout } = await run('ls -d /proc/[0-9]* | wc -l; hostname; id -u; umask; touch f; stat -c %u f');
    const [processes, ...rest] = stdout.trim().split('\n');
    expect(Number(processes)).toBeLessThan(8);
    expect(rest).toEqual([SANDBOX.host, String(SANDBOX.user), '0022', String(SANDBOX.user)]);
  });

  it('mounts installed software read-only', async () => {
    expect((await run('echo x >/usr/lib/assay-was-here')).code).not.toBe(0);
    expect(existsSync('/usr/lib/assay-was-here')).toBe(false);
  });

  it('gives all inputs the same mtime', async () => {
    folder.write('a');
    folder.write('b');
    expect((await run('stat -c %Y a b | sort -u', { inputs: paths('a', 'b') })).stdout).toBe('946684800\n');
  });

  it('contains a declared tool at its own path', async () => {
    const tool = folder.write('tools/bin/tool', '#!/bin/sh\necho tool\n');
    chmodSync(tool, 0o755);
    expect(
      (
        await run(tool, {
          mounts: [{ from: folder.at('tools'), at: folder.at('tools') }],
        })
      ).stdout,
    ).toBe('tool\n');
  });

  it('can compile and run', async () => {
    folder.write('main.c', '#include <stdio.h>\nint main(void) { puts("hi"); return 0; }\n');
    const { stdout } = await run('gcc main.c -o app && ./app', {
      inputs: paths('main.c'),
      outputs: paths('app'),
    });
    expect(stdout).toBe('hi\n');
  });
});

describe('sandbox outputs', () => {
  it('are collected only at declared paths', async () => {
    folder.write('in', 'x');
    const script = 'mkdir -p dist/empty; cp in dist/a; chmod +x dist/a; ln -s a dist/l; cp in other';
    await run(script, { inputs: paths('in'), outputs: paths('dist') });
    expect(readdirSync(folder.path).sort()).toEqual(['dist', 'in']);
    expect(readdirSync(folder.at('dist')).sort()).toEqual(['a', 'empty', 'l']);
    expect([statSync(folder.at('dist/a')).mode & 0o777, readlinkSync(folder.at('dist/l'))]).toEqual([
      0o755,
      'a',
    ]);
  });

  it('replace those of an earlier run, which the action never sees', async () => {
    folder.write('dist/old', 'x');
    const { stdout } = await run('ls dist 2>/dev/null; mkdir -p dist; echo 1 >dist/new', {
      outputs: paths('dist'),
    });
    expect({ stdout, now: readdirSync(folder.at('dist')) }).toEqual({ stdout: '', now: ['new'] });
  });

  it('that the command did not make are removed', async () => {
    folder.write('out', 'old');
    await run('true', { outputs: paths('out') });
    expect(existsSync(folder.at('out'))).toBe(false);
  });

  it('may lie in folders that the action makes', async () => {
    await run('mkdir -p a/b; echo x >a/b/out', { outputs: paths('a/b/out') });
    expect(readFileSync(folder.at('a/b/out'), 'utf8')).toBe('x\n');
  });
});

describe('an input', () => {
  it('that the action changes in the sandbox is unchanged outside', async () => {
    folder.write('in', 'old');
    await run('echo new >in; rm -f in', { inputs: paths('in') });
    expect(readFileSync(folder.at('in'), 'utf8')).toBe('old');
  });
});

// Selecting steps, the dry run, and drawing the graph.
import { type ChildProcessByStdio, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { baseEnvironment, CLIENT_FORM, FORMS, Workshop } from '../../rig/assay.ts';
import { runSteps } from '../../rig/graph.ts';
import { FIRST_RUN } from '../run/misses.ts';

let shop: Workshop;
beforeEach(() => {
  shop = new Workshop();
  shop.write(
    'assay.json',
    JSON.stringify({
      packages: ['apps/*', 'libs/*'],
      packageSteps: {
        build: { command: 'cat src/* > out', inputs: ['src'], outputs: ['out'], dependsOn: ['^build'] },
        'test:unit': { command: 'true', inputs: ['src'], dependsOn: ['build'] },
      },
      steps: { lint: { command: 'true', inputs: [] } },
    }),
  );
  shop.write('apps/web/src/a', 'web');
  shop.write('apps/web/assay.json', '{"dependencies": ["libs/core"]}');
  shop.write('libs/core/src/a', 'core');
  shop.write('libs/other/src/a', 'other');
});
afterEach(() => shop.remove());

const idsOf = async (args: string[], cwd = shop.workspace) => {
  const ran = await shop.assay(['run', '--dry-run', '--json', ...args], { cwd });
  if (ran.code !== 0) return ran.stderr;
  return ran.stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line): string => JSON.parse(line).step);
};

describe('selecting steps', () => {
  test.each<[string[], string[]]>([
    [['lint'], ['lint']],
    [['build'], ['libs/core#build', 'apps/web#build', 'libs/other#build']],
    [['libs/other#build'], ['libs/other#build']],
    [['libs/*#build'], ['libs/core#build', 'libs/other#build']],
    [['//#lint'], ['lint']],
    [
      ['--package', 'libs/other', 'test:*'],
      ['libs/other#build', 'libs/other#test:unit'],
    ],
    [
      ['apps/web#*', '--package', 'libs/*'],
      ['libs/core#build', 'apps/web#build', 'apps/web#test:unit'],
    ],
    [
      ['--package', './libs/*', 'build'],
      ['libs/core#build', 'libs/other#build'],
    ],
  ])('%j', async (args, ids) => {
    expect(await idsOf(args)).toEqual(ids);
  });

  test.each<[string[], string[]]>([
    [
      ['--filter', 'web...', 'build'],
      ['libs/core#build', 'apps/web#build'],
    ],
    [
      ['--filter', '...^libs/core', 'test:*'],
      ['libs/core#build', 'apps/web#build', 'apps/web#test:unit'],
    ],
    [
      ['--filter', '!{libs}', '--filter', '!//', 'build'],
      ['libs/core#build', 'apps/web#build'],
    ],
    [['--filter', '{libs}', '--package', '*/other', 'build'], ['libs/other#build']],
    [['--filter', './libs/other', 'lint'], []],
  ])('%j', async (args, ids) => {
    expect(await idsOf(args)).toEqual(ids);
  });

  test('a bare name refers to the package of the current folder', async () => {
    const inside = join(shop.workspace, 'libs/other/src');
    expect(await idsOf(['build'], inside)).toEqual(['libs/other#build']);
  });

  test.each<[string[], string]>([
    [['nope#build'], 'there is no step'],
    [['--package', 'lib/core', 'build'], 'no package matches lib/core; did you mean libs/core?'],
    [['--filter', 'lib/core', 'build'], 'no package has that name; did you mean libs/core?'],
    [['--filter', 'libs/core', 'biuld'], 'there is no step "biuld"; did you mean build?'],
    [['--filter', '[main]', 'build'], '--filter [main] failed: '],
  ])('%j is refused', async (args, words) => {
    expect(await idsOf(args)).toContain(words);
  });
});

describe('--affected', () => {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], { cwd: shop.workspace });

  beforeEach(async () => {
    shop.write('.gitignore', 'out\n');
    git('init', '-q', '-b', 'main');
    git('add', '-A');
    git('commit', '-qm', 'first');
    git('checkout', '-qb', 'topic');
    // A step that never ran is affected by every change.
    await shop.assay(['run', 'build']);
  });

  test.each<[string, () => void, string[]]>([
    [
      'a changed input, and what depends on it',
      () => shop.write('libs/core/src/a', 'CORE'),
      ['libs/core#build', 'apps/web#build'],
    ],
    ['a new file', () => shop.write('libs/other/src/new', ''), ['libs/other#build']],
    [
      'a deleted file',
      () => rmSync(join(shop.workspace, 'apps/web/src/a')),
      ['libs/core#build', 'apps/web#build'],
    ],
    ['a package’s own file', () => shop.write('libs/other/assay.json', '{}'), ['libs/other#build']],
    ['nothing that is an input', () => shop.write('README.md', ''), []],
  ])('%s', async (_, change, ids) => {
    change();
    const uncommitted = await idsOf(['--affected', 'build']);
    git('add', '-A');
    git('commit', '-qm', 'second', '--allow-empty');
    expect(uncommitted).toEqual(await idsOf(['--affected=main', 'build']));
    expect(uncommitted).toEqual(ids);
  });

  test('--filter goes by the folder of a changed file, whatever reads it', async () => {
    shop.write('libs/core/README.md', '');
    expect(await idsOf(['--filter', '...[main]', 'build'])).toEqual(['libs/core#build', 'apps/web#build']);
    expect(await idsOf(['--filter', 'apps/*[main]', 'build'])).toEqual([]);
    expect(await idsOf(['--filter', '...[main]', '--affected', 'build'])).toEqual([]);
  });

  test('a reference that git does not know is refused', async () => {
    expect(await idsOf(['--affected=nosuch', 'build'])).toContain('--affected failed');
  });
});

describe('--dry-run', () => {
  const forecast = async () => {
    const { stdout } = await shop.assay(['run', '--dry-run', '--json', 'apps/web#build']);
    return stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
  };

  test('reports for each step whether it would hit, its key and why, and runs nothing', async () => {
    expect(await forecast()).toEqual([
      { step: 'libs/core#build', outcome: 'miss', key: expect.any(String), why: FIRST_RUN },
      { step: 'apps/web#build', outcome: 'unknown', why: 'libs/core#build would run first' },
    ]);
    expect(shop.has('libs/core/out')).toBe(false);
    const { ends } = await runSteps(shop, ['apps/web#build']);
    expect(await forecast()).toMatchObject([
      { outcome: 'hit-local', key: ends['libs/core#build']?.key },
      { outcome: 'hit-local', key: ends['apps/web#build']?.key },
    ]);
    shop.write('apps/web/src/a', 'WEB');
    rmSync(join(shop.workspace, 'libs/core/out'));
    expect(await forecast()).toMatchObject([
      { outcome: 'hit-local', why: 'found in the local store, to be restored' },
      { outcome: 'unknown', why: 'libs/core#build is to be restored first' },
    ]);
    expect(shop.has('libs/core/out')).toBe(false);
  });
});

describe('--graph', () => {
  const graph = async (...args: string[]) => (await shop.assay(['run', ...args, 'apps/web#build'])).stdout;

  test('prints Mermaid', async () => {
    expect(await graph('--graph')).toBe(
      'flowchart LR\n  s0["libs/core#build"]\n  s1["apps/web#build"]\n  s0 --> s1\n',
    );
  });

  test('prints DOT', async () => {
    expect(await graph('--graph=dot')).toContain('"libs/core#build" -> "apps/web#build";');
  });
});

describe('--watch', () => {
  let child: ChildProcessByStdio<null, Readable, Readable>;
  let said = '';
  afterEach(() => child.kill('SIGKILL'));

  const watch = (args: readonly string[]) => {
    const [program, ...before] = FORMS[CLIENT_FORM];
    mkdirSync(shop.store);
    said = '';
    child = spawn(program, [...before, 'run', '--watch', '--json', ...args], {
      cwd: shop.workspace,
      env: { ...baseEnvironment(), ASSAY_STORE: shop.store },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
  };
  const finished = (times: number) =>
    new Promise<void>((resolve) => {
      const look = () => said.split('"run-finished"').length > times && resolve();
      child.stdout.on('data', look);
      look();
    });
  const changes = () => [...said.matchAll(/^assay: (\S+) changed$/gm)].map(([, path]) => path);

  test('runs again when an input changes, and ends on a signal', async () => {
    watch(['libs/core#build']);
    await finished(1);
    shop.write('libs/core/src/a', 'CORE');
    await finished(2);
    expect(said).toContain('libs/core/src/a changed');
    const ended = once(child, 'exit');
    child.kill('SIGINT');
    expect((await ended)[0]).toBe(130);
  });

  test('runs for changed inputs, undeclared reads and the configuration, and for nothing else', async () => {
    const step = { command: 'cat src/a hidden; echo ran >> own.log', inputs: ['src/**', '!src/tmp/**'] };
    const other = { command: 'true', inputs: ['elsewhere/**'] };
    const config = (more: object) => JSON.stringify({ steps: { a: { ...step, ...more }, other } });
    shop.write('assay.json', config({}));
    shop.write('src/a', 'a');
    shop.write('hidden', 'h');
    shop.write('elsewhere/x', 'x');
    watch(['--summary', 'src/summary.json', 'a']);
    await finished(1);
    const noise = (round: number) => {
      for (const path of ['noise.log', 'elsewhere/x', 'src/tmp/x', 'deep/new/folder/x'])
        shop.write(path, String(round));
    };
    noise(1);
    shop.write('src/new/b', 'b');
    await finished(2);
    noise(2);
    shop.write('hidden', 'H');
    await finished(3);
    noise(3);
    shop.write('assay.json', config({ env: ['X=1'] }));
    await finished(4);
    const rounds = ['src/new', 'hidden', 'assay.json'];
    expect(changes().map((path) => path?.replace(/^src\/new\/b$/, 'src/new'))).toEqual(rounds);
  });

  test('runs again, and does not hit, after a name appeared while the command ran', async () => {
    // It lists, says so, and waits for a signal, which leaves no trace in the file system.
    const command = 'trap g=1 USR2; ls src >o; echo "@gate $$@"; while [ -z "$g" ]; do sleep 0.02; done';
    const step = { command, inputs: ['src/*.js'], outputs: ['o'] };
    shop.write('assay.json', JSON.stringify({ steps: { a: step } }));
    shop.write('src/a.js', '');
    watch(['--logs=stream', 'a']);
    const open = new Set<string>();
    child.stdout.on('data', () => {
      for (const [, pid = ''] of said.matchAll(/@gate (\d+)@/g)) {
        if (open.has(pid)) continue;
        if (open.size === 0) shop.write('src/b.json', '');
        open.add(pid);
        process.kill(Number(pid), 'SIGUSR2');
      }
    });
    await finished(2);
    expect(said).toContain('src/b.json changed');
    expect(readFileSync(join(shop.workspace, 'o'), 'utf8')).toBe('a.js\nb.json\n');
    const outcomes = [...said.matchAll(/"step-finished".*?"outcome":"([^"]+)"/g)].map(([, one]) => one);
    expect(outcomes).toEqual(['miss', 'miss']);
  });
});

test('--summary creates its folder, or refuses before anything runs', async () => {
  shop.write('assay.json', JSON.stringify({ steps: { a: { command: 'touch ran', cache: false } } }));
  const refused = await shop.assay(['run', '--summary', '/dev/null/x.json', 'a']);
  expect([refused.code, shop.has('ran')]).toEqual([125, false]);
  expect(refused.stderr).toContain('--summary /dev/null/x.json can’t be written');
  expect((await shop.assay(['run', '--summary', 'new/folder/x.json', 'a'])).code).toBe(0);
  const written = JSON.parse(readFileSync(join(shop.workspace, 'new/folder/x.json'), 'utf8'));
  expect(written).toMatchObject({ version: 1, steps: 1, misses: 1, warnings: [] });
});

test('--summary does not replace a file that a step made, and does not block on a pipe', async () => {
  const steps = { a: { command: 'echo made > report.json', outputs: ['report.json'] } };
  shop.write('assay.json', JSON.stringify({ steps }));
  const ran = await shop.assay(['run', '--summary', 'report.json', 'a']);
  expect([ran.code, ran.stderr.includes('the summary could not be written')]).toEqual([0, true]);
  expect(readFileSync(join(shop.workspace, 'report.json'), 'utf8')).toBe('made\n');
  const pipe = join(shop.folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const unread = await shop.assay(['run', '--summary', pipe, 'a']);
  expect([unread.code, unread.stderr.includes('the summary could not be written')]).toEqual([0, true]);
  const reader = promisify(execFile)('cat', [pipe]);
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect((await shop.assay(['run', '--summary', pipe, 'a'])).code).toBe(0);
  expect(JSON.parse((await reader).stdout)).toMatchObject({ steps: 1 });
});

test('--summary overwrites an earlier summary, and no other file', async () => {
  const config = JSON.stringify({ steps: { a: { command: 'echo ran >> ran', cache: false } } });
  shop.write('assay.json', config);
  shop.write('reports.md', '# mine');
  shop.write('empty.json', '');
  shop.write('state.json', '{\n  "version": 4,\n  "terraform_version": "1"\n}');
  const summarize = (file: string) => shop.assay(['run', '--summary', file, 'a']);
  for (const file of ['x.json', 'x.json', 'x.md', 'x.md', 'empty.json', '/dev/null']) {
    expect((await summarize(file)).code).toBe(0);
  }
  for (const file of ['assay.json', 'reports.md', 'ran', 'state.json']) {
    const refused = await summarize(file);
    expect(refused.code).toBe(125);
    expect(refused.stderr).toContain(`--summary ${file} can’t be written: the file exists and is no summary`);
  }
  const read = (file: string) => readFileSync(join(shop.workspace, file), 'utf8');
  expect([read('assay.json'), read('reports.md'), read('ran')]).toEqual([
    config,
    '# mine',
    'ran\n'.repeat(6),
  ]);
});

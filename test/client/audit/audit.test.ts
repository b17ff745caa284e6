// `assay audit` on real commands: an undeclared access is reported with the flag that declares it.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';

let shop: Workshop;

beforeEach(() => {
  shop = new Workshop();
  shop.write('src/a.txt', 'a\n');
  shop.write('src/b.txt', 'b\n');
  shop.write('secret.txt', 's\n');
});

afterEach(() => shop.remove());

interface Found {
  hermetic: boolean;
  complete: boolean;
  exitCode: number;
  findings: { kind: string; path?: string; fix?: string; process?: string[] }[];
}

async function audit(
  flags: readonly string[],
  script: string,
): Promise<Found & { code: number | null; stderr: string }> {
  const { stdout, stderr, code } = await shop.assay(['audit', '--json', ...flags, '--', 'sh', '-c', script]);
  expect(stdout.trimEnd().split('\n'), stderr).toHaveLength(1);
  return { ...JSON.parse(stdout), code, stderr };
}

const brief = ({ findings }: Found) => findings.map(({ kind, path }) => `${kind} ${path}`);

test('a command may list Assay’s own folder, but not read from it', async () => {
  shop.write('.assay/of-another-run/f', 'x');
  const flags = ['--input', '**', '--output', 'out'];
  expect(brief(await audit(flags, 'find . > out; ls .assay/of-another-run'))).toEqual([]);
  expect(brief(await audit(flags, 'cat .assay/*/f > out'))).toEqual(['read .assay/of-another-run/f']);
});

test('an action that declares everything is hermetic, and the exit code is 0', async () => {
  const found = await audit(
    ['--input', 'src/**', '--output', 'out'],
    'cat src/a.txt src/b.txt > out; echo said',
  );
  expect(found).toMatchObject({ hermetic: true, complete: true, exitCode: 0, code: 0, findings: [] });
  expect(found.stderr).toContain('said\n');
  expect(shop.has('out')).toBe(true);
});

test('an undeclared access is reported, with the flag that would declare it', async () => {
  const found = await audit(
    ['--input', 'src/a.txt', '--output', 'out'],
    'cat src/a.txt secret.txt > out; test -f maybe; echo > stray; true',
  );
  expect(found).toMatchObject({ hermetic: false, complete: true, exitCode: 0, code: 3 });
  expect(brief(found).sort()).toEqual(['absent maybe', 'read secret.txt', 'write stray']);
  expect(found.findings.map(({ fix }) => fix).sort()).toEqual([
    '--input secret.txt',
    '--optional-input maybe',
    '--output stray',
  ]);
});

test('an action is hermetic after the suggested flags are added', async () => {
  const script = 'cat src/*.txt secret.txt > out; test -f maybe; true';
  const first = await audit(['--output', 'out'], script);
  expect(first.hermetic).toBe(false);
  const flags = first.findings.flatMap(
    ({ fix }) => fix?.split(' ').map((word) => word.replaceAll("'", '')) ?? [],
  );
  const second = await audit(['--output', 'out', ...flags], script);
  expect(brief(second)).toEqual([]);
  expect(second.code).toBe(0);
});

describe('an output of an earlier run', () => {
  beforeEach(() => shop.write('out', 'old\n'));
  const foundBy = async (script: string) =>
    brief(await audit(['--input', 'src/**', '--output', 'out', '--output', 'dist'], script));

  test.each([
    ['is added to', 'cat src/a.txt >> out'],
    ['is read before it is written again', 'exec 3<> out; cat src/a.txt > out'],
  ])('is reported if it %s', async (_, script) => {
    expect(await foundBy(script)).toEqual(['stale-output out']);
  });

  test('is reported if a file in it is read, even if the folder is new', async () => {
    shop.write('dist/cache', 'old');
    expect(await foundBy('mkdir -p dist; cat dist/cache 2>/dev/null; echo x > dist/new')).toEqual([
      'stale-output dist/cache',
    ]);
  });

  test.each([
    ['written over', 'cp src/a.txt out; touch out'],
    ['linked again', 'echo "int main(void) { return 0; }" | gcc -x c - -o out'],
    ['removed before it is added to', 'rm -f out; cat src/a.txt >> out; cat src/b.txt >> out'],
    ['removed with its folder', 'rm -rf dist; mkdir dist; echo a >> dist/log; cat dist/log > out'],
  ])('is not reported if it is %s', async (_, script) => {
    shop.write('dist/log', 'old');
    expect(await foundBy(script)).toEqual([]);
  });
});

test('Assay’s own files in the workspace during a run are not reported', async () => {
  shop.write('out', 'old\n');
  expect(brief(await audit(['--input', '**/*.txt', '--output', 'out'], 'find . -name "*.c" > out'))).toEqual(
    [],
  );
});

test('a new undeclared folder is reported with its files, and one flag declares it all', async () => {
  const found = await audit([], 'mkdir -p obj/deep; echo x > obj/deep/a');
  expect(found.findings.map(({ kind, path, fix }) => `${kind} ${path} ${fix}`)).toEqual([
    'write obj --output obj',
    'write obj/deep/a --output obj',
  ]);
});

describe('a file that a pattern covers', () => {
  test('is reported if .gitignore hides it from the key and it is read', async () => {
    shop.write('.gitignore', '*.log\n');
    shop.write('src/c.log', 'c');
    expect(brief(await audit(['--input', 'src/**', '--output', 'out'], 'cat src/c.log > out'))).toEqual([
      'read src/c.log',
    ]);
    const taken = ['--input', 'src/**', '--include-ignored', '--output', 'out'];
    expect(brief(await audit(taken, 'cat src/c.log > out'))).toEqual([]);
    expect(brief(await audit(['--input', 'src/c.log', '--output', 'out'], 'cat src/c.log > out'))).toEqual(
      [],
    );
  });

  test('is not reported if it is absent and a wildcard would include it', async () => {
    expect(brief(await audit(['--input', 'src/**'], 'test -f src/new.txt; true'))).toEqual([]);
    expect(brief(await audit(['--input', 'src/*.txt'], 'test -f src/new.c; true'))).toEqual([
      'absent src/new.c',
    ]);
    expect(
      brief(await audit(['--input', 'src/**', '--input', '!src/new.txt'], 'test -f src/new.txt; true')),
    ).toEqual(['absent src/new.txt']);
  });
});

test('the action’s own home and temporary folder are not reported, those of other users are', async () => {
  expect(
    brief(await audit([], 'echo x > "$TMPDIR/t"; cat "$TMPDIR/t"; echo x > "$HOME/h"; ls "$HOME"')),
  ).toEqual([]);
  const elsewhere = join(shop.folder, 'elsewhere');
  writeFileSync(elsewhere, 'x');
  expect(brief(await audit([], `cat ${elsewhere}`))).toEqual(['read ../elsewhere']);
});

test('a declared tool and the rest of its package are not reported', async () => {
  const PATH = `${join(shop.workspace, 'node_modules/.bin')}:${process.env.PATH}`;
  shop.write('node_modules/lib/package.json', '{"version":"1.0.0"}');
  shop.write('node_modules/lib/data', 'd');
  shop.write(
    'node_modules/lib/bin/lib',
    '#!/bin/sh\ncat "$(dirname "$(readlink -f "$0")")/../data"\n',
    0o755,
  );
  shop.link('node_modules/.bin/lib', '../lib/bin/lib');
  const ran = await shop.assay(['audit', '--json', '--tool', 'lib', '--', 'sh', '-c', 'lib'], {
    env: { PATH },
  });
  expect(JSON.parse(ran.stdout).findings).toEqual([]);
});

test('a failing command without findings keeps its exit code', async () => {
  expect(await audit([], 'exit 7')).toMatchObject({ hermetic: true, exitCode: 7, code: 7 });
});

describe('the report for people', () => {
  const lines = async (script: string, ...flags: readonly string[]) => {
    const ran = await shop.assay(['audit', ...flags, '--', 'sh', '-c', `exec >/dev/null; ${script}`]);
    expect(ran.code).toBe(3);
    return ran.stdout.trimEnd().split('\n');
  };

  test('has first what to fix, then what was left, then advice', async () => {
    const report = await lines('cat secret.txt; echo > stray; rm src/b.txt');
    expect(report).toEqual([
      'unproven: 1 to fix, 1 path left undeclared, 1 proven access',
      '  fix     delete src/b.txt (rm): Work on a copy in TMPDIR.',
      '  left    --output stray: stray written (sh)',
      '  advice  --input secret.txt: secret.txt read (cat)',
      expect.stringMatching(/^Advice costs nothing but a longer check: .*compared before every hit/),
    ]);
  });

  test('says that reads are proven, and that declaring them explains a miss', async () => {
    const [headline, , advice] = await lines('cat secret.txt');
    expect(headline).toBe('observed: 1 proven access');
    expect(advice).toContain('Declared, it is part of the key');
  });

  test('has at most ten lines, and with --verbose every finding', async () => {
    for (const at of Array(40).keys()) shop.write(`dir${at % 20}/f${at}`, 'x');
    const script =
      'cat dir*/*; echo > stray; rm src/b.txt; for i in 1 2 3 4 5 6 7 8 9; do test -e no$i/x; done';
    expect((await lines(script)).length).toBeLessThanOrEqual(10);
    shop.write('src/b.txt', 'b');
    const all = await lines(script, '--verbose');
    for (const at of Array(40).keys()) {
      const start = new RegExp(`^  read +dir${at % 20}/f${at} `);
      expect(all.filter((line) => start.test(line))).toHaveLength(1);
    }
  });
});

test('audit works for an ordinary user', async () => {
  execFileSync('chmod', ['-R', 'a+rwX', shop.folder]);
  const ran = await shop.assayAsOrdinaryUser([
    'audit',
    '--json',
    '--input',
    'src/**',
    '--',
    'cat',
    'src/a.txt',
    'secret.txt',
  ]);
  expect(ran.stderr).toContain('s\n');
  expect(brief(JSON.parse(ran.stdout))).toEqual(['read secret.txt']);
});

test('a path longer than PATH_MAX is reported', async () => {
  const deep = 'for _ in range(25): os.mkdir("d" * 200); os.chdir("d" * 200)';
  const script = `import os; os.mkdir("out"); os.chdir("out")\n${deep}\nopen("secret", "w").write("x")`;
  const made = await audit(['--output', 'out'], `python3 -S -c '${script}'`);
  expect(made).toMatchObject({ hermetic: false, complete: false, exitCode: 0, code: 3 });
  expect(made.stderr).not.toContain('ASSAY_');
  expect(JSON.stringify(made)).toContain('longer than PATH_MAX');
});

test('names of configuration that do not exist are listed, and change no verdict', async () => {
  shop.write('in', 'in');
  const probes = ['vite.config.js', 'setup.cfg'].map((name) => `fs.existsSync('${name}');`).join(' ');
  const program = `const fs = require('fs'); ${probes} fs.copyFileSync('in', 'out')`;
  const action = ['--input', 'in', '--output', 'out', '--', 'node', '-e', program];
  const { stdout } = await shop.assay(['audit', '--json', ...action]);
  const report = JSON.parse(stdout);
  expect(report).toMatchObject({ status: 'declared', findings: [] });
  expect(report.absent).toEqual(expect.arrayContaining(['setup.cfg', 'vite.config.js']));
  const short = await shop.assay(['audit', ...action]);
  expect(short).toMatchObject({ code: 0 });
  expect(short.stdout).toMatch(/absent .* more: looked for in the workspace, compared before every hit/);
  expect((await shop.assay(['audit', '--verbose', ...action])).stdout).toContain('\n  vite.config.js\n');
});

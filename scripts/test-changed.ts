// Runs the tests that a change concerns: npm run test:changed [-- COMMIT]
//
// A change is what differs from COMMIT (main, if none is named), with what is not committed yet. It concerns:
//   - each test that imports a changed file, directly or through others;
//   - each end-to-end test in the folder of test/ that mirrors the folder of a changed file, or in the test/ of its wing.
//     Such a test starts Assay as a process, so its imports do not show what it needs.
// A change of what every test depends on (package.json, the config of vitest) concerns all tests.
import { execFileSync, spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { Reach, sortTests } from '../test/project/test-kinds.ts';

const ROOT = join(import.meta.dirname, '..');
const CONCERNS_ALL = /^(package-lock\.json|package\.json|vitest\.config\.ts|test\/rig\/own-environment\.ts)$/;
const EXECUTES = /^(bin|client|core|hermeticity|server|store|wings)\//;

const [since = 'main'] = process.argv.slice(2);
const changed = changedSince(since);
const chosen = changed.some((file) => CONCERNS_ALL.test(file)) ? undefined : testsFor(changed);

if (chosen?.length === 0) {
  console.log(`no test is concerned by the ${changed.length} files that differ from ${since}`);
} else {
  const names = chosen ?? [];
  console.log(
    chosen ? `${names.length} test files concern ${changed.length} changed files` : 'all tests are concerned',
  );
  if (changed.some((file) => EXECUTES.test(file))) run('node', ['--run', 'build']);
  run('vitest', ['run', ...names]);
}

function changedSince(commit: string): string[] {
  const base = git('merge-base', commit, 'HEAD').trim();
  const differing = git('diff', '--name-only', base).split('\n');
  const untracked = git('ls-files', '--others', '--exclude-standard').split('\n');
  return [...new Set([...differing, ...untracked])].filter(Boolean);
}

function testsFor(files: readonly string[]): string[] {
  const { unit, server, e2e } = sortTests();
  const reach = new Reach();
  const mirrors = new Set(files.map(testsBeside));
  const imports = (test: string) => files.some((file) => reach.filesOf(test).has(file));
  return [
    ...[...unit, ...server].filter(imports),
    ...e2e.filter((test) => imports(test) || mirrors.has(dirname(test))),
  ];
}

function testsBeside(file: string): string {
  const [wing] = /^wings\/[^/]+/.exec(file) ?? [];
  return wing === undefined ? join('test', dirname(file)) : join(wing, 'test');
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' });
}

function run(program: string, args: readonly string[]): void {
  const { status } = spawnSync(program, args, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

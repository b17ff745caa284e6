// `npm run bench [-- NAME… [FLAGS]]` runs the named benchmarks, or all except those that take minutes. Each
// runs in its own process, so that none uses the heap or the compiled code of another. FLAGS are passed on.
// Those of wings, in wings/*/bench/, run only by name.
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { basename, join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

const own = namesOf('bench/*.ts').filter((name) => name !== 'main');
const known = [...own, ...namesOf('wings/*/bench/*.ts')].sort();

const given = process.argv.slice(2);
const firstFlag = given.findIndex((argument) => argument.startsWith('--'));
const asked = firstFlag === -1 ? given : given.slice(0, firstFlag);
const flags = firstFlag === -1 ? [] : given.slice(firstFlag);
/** These run only by name. */
const LONG = [
  'agent',
  'cold',
  'commands',
  'graph',
  'growth',
  'large-store',
  'pages',
  'peers',
  'profile',
  'real',
  'soak',
  'versions',
];
const unknown = asked.filter((name) => !known.includes(name));

if (unknown.length > 0) {
  console.error(`Unknown benchmark: ${unknown.join(', ')}. Known benchmarks: ${known.join(', ')}.`);
  process.exitCode = 2;
} else {
  const failed = (asked.length > 0 ? asked : own.filter((name) => !LONG.includes(name))).filter(
    (name) => !runs(name),
  );
  if (failed.length > 0) console.error(`These benchmarks failed: ${failed.join(', ')}.`);
  process.exitCode = failed.length > 0 ? 1 : 0;
}

function runs(name: string): boolean {
  console.log(`== ${name}`);
  const [file = ''] = globSync([`bench/${name}.ts`, `wings/*/bench/${name}.ts`], { cwd: ROOT });
  return spawnSync(process.execPath, [join(ROOT, file), ...flags], { stdio: 'inherit' }).status === 0;
}

function namesOf(pattern: string): string[] {
  return globSync(pattern, { cwd: ROOT }).map((file) => basename(file, '.ts'));
}

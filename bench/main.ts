// `npm run bench [-- NAME… [FLAGS]]` runs the named benchmarks, or all except those that take minutes. Each
// runs in its own process, so that none uses the heap or the compiled code of another. FLAGS are passed on.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const folder = import.meta.dirname;

const known = readdirSync(folder)
  .filter((file) => file.endsWith('.ts') && file !== 'main.ts')
  .map((file) => file.slice(0, -'.ts'.length))
  .sort();

const given = process.argv.slice(2);
const firstFlag = given.findIndex((argument) => argument.startsWith('--'));
const asked = firstFlag === -1 ? given : given.slice(0, firstFlag);
const flags = firstFlag === -1 ? [] : given.slice(firstFlag);
/** These run only by name. */
const LONG = [
  'cold',
  'fleet',
  'graph',
  'growth',
  'large-store',
  'pages',
  'peers',
  'profile',
  'soak',
  'versions',
];
const unknown = asked.filter((name) => !known.includes(name));

if (unknown.length > 0) {
  console.error(`Unknown benchmark: ${unknown.join(', ')}. Known benchmarks: ${known.join(', ')}.`);
  process.exitCode = 2;
} else {
  const failed = (asked.length > 0 ? asked : known.filter((name) => !LONG.includes(name))).filter(
    (name) => !runs(name),
  );
  if (failed.length > 0) console.error(`These benchmarks failed: ${failed.join(', ')}.`);
  process.exitCode = failed.length > 0 ? 1 : 0;
}

function runs(name: string): boolean {
  console.log(`== ${name}`);
  return (
    spawnSync(process.execPath, [join(folder, `${name}.ts`), ...flags], { stdio: 'inherit' }).status === 0
  );
}

// `npm run bench [-- NAME…]`: runs the benchmarks of those names, or all, one after the other, each in a process of its
// own so that none runs on the heap and the compiled code of another.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const folder = import.meta.dirname;

const known = readdirSync(folder)
  .filter((file) => file.endsWith('.ts') && file !== 'main.ts')
  .map((file) => file.slice(0, -'.ts'.length))
  .sort();

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !known.includes(name));

if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}; there are: ${known.join(', ')}.`);
  process.exitCode = 2;
} else {
  const failed = (asked.length > 0 ? asked : known).filter((name) => !runs(name));
  if (failed.length > 0)
    console.error(`These benchmarks could not be run to their end: ${failed.join(', ')}.`);
  process.exitCode = failed.length > 0 ? 1 : 0;
}

function runs(name: string): boolean {
  console.log(`== ${name}`);
  return spawnSync(process.execPath, [join(folder, `${name}.ts`)], { stdio: 'inherit' }).status === 0;
}

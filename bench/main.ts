// `npm run bench [-- NAME… [FLAGS]]`: runs the benchmarks of those names, or all but those that take minutes, one after the
// other, each in a process of its own so that none runs on the heap and the compiled code of another. Flags are theirs.
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
/** Only when it is asked for by its name. */
const LONG = ['graph', 'large-store', 'soak'];
const unknown = asked.filter((name) => !known.includes(name));

if (unknown.length > 0) {
  console.error(`There is no benchmark ${unknown.join(', ')}; there are: ${known.join(', ')}.`);
  process.exitCode = 2;
} else {
  const failed = (asked.length > 0 ? asked : known.filter((name) => !LONG.includes(name))).filter(
    (name) => !runs(name),
  );
  if (failed.length > 0)
    console.error(`These benchmarks could not be run to their end: ${failed.join(', ')}.`);
  process.exitCode = failed.length > 0 ? 1 : 0;
}

function runs(name: string): boolean {
  console.log(`== ${name}`);
  return (
    spawnSync(process.execPath, [join(folder, `${name}.ts`), ...flags], { stdio: 'inherit' }).status === 0
  );
}

// A project's build script that lets Assay decide what has to run.
import { keyOf, openStore, run } from 'assay';

const action = {
  command: ['sort', '-o', 'sorted.txt', 'words.txt'],
  inputs: ['words.txt'],
  outputs: ['sorted.txt'],
};

for (let time = 0; time < 2; time++) {
  const { outcome, exitCode, reason } = await run(action, { stdout: process.stdout, stderr: process.stderr });
  console.log(`${outcome}: ${reason}`);
  if (exitCode !== 0) process.exit(exitCode);
}

console.log(`key ${await keyOf(action)}`);

const store = await openStore();
const { hash, size } = await store.blobs.put({}, Buffer.from('hello'));
console.log(`stored ${size} bytes as ${hash.slice(0, 12)}`);
await store.close();

// The node of the fault tests: it is one process, whatever faults come together.
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createDatabase } from '../engine/index-database.ts';
import { FleetNode } from './fleet-node.ts';

/** Processes of nodes that this process has started. */
function running(): number {
  const children = globSync('/proc/self/task/*/children').flatMap((file) =>
    readFileSync(file, 'utf8').split(' ').filter(Boolean),
  );
  return children.filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('node-process.ts'))
    .length;
}

test('two restarts at once leave one process, and it answers', async () => {
  const database = await createDatabase();
  const node = await FleetNode.start(database.environment);
  try {
    await Promise.all([node.restart(), node.restart('+1h')]);
    expect(running()).toBe(1);
    expect(await node.ask({ kind: 'maintain' })).toEqual({ kind: 'outcome', outcome: 'elected' });
  } finally {
    await node.stop();
    await database.close();
  }
});

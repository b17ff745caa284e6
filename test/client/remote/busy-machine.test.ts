// A machine that is busy with other work is not the remote's fault: a healthy remote is used to the end.
//
// Busy processes compete with the client, the commands and the server: six for each core, twelve in a soak
// run. Before the wait budget left out the client's own starvation, such runs gave up the remote.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Workshop } from '../../rig/assay.ts';
import { type GraphRan, runSteps } from '../../rig/graph.ts';
import { ServerProcess } from '../../rig/server.ts';
import { soak } from '../../rig/soak.ts';

const BURNERS = soak(12, 6) * availableParallelism();
/** Ends with its parent, this process, and after ten seconds of CPU time in any case. */
const BURNER = 'ulimit -t 10; while kill -0 $PPID; do n=0; while [ $((n += 1)) -lt 20000 ]; do :; done; done';
const ROUNDS = soak(10, 1);
const SHARED = ['shared-1', 'shared-2'];
const NEW = ['new-1', 'new-2'];

let shop: Workshop;
let server: ServerProcess;

beforeEach(async () => {
  shop = new Workshop();
  server = await ServerProcess.start(`${shop.folder}/server`);
});

afterEach(async () => {
  await server.stop();
  shop.remove();
});

/** Runs `work` while every core is contended, and checks that it was so until the end. */
async function onBusyMachine<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const burners = Array.from({ length: BURNERS }, () => spawn('sh', ['-c', BURNER], { stdio: 'ignore' }));
  const endAll = () => Promise.all(burners.map(end));
  signal.addEventListener('abort', endAll);
  try {
    const done = await work();
    expect(burners.filter(isRunning)).toHaveLength(BURNERS);
    return done;
  } finally {
    await endAll();
  }
}

function isRunning({ exitCode, signalCode, pid }: ChildProcess): boolean {
  return pid !== undefined && exitCode === null && signalCode === null;
}

async function end(child: ChildProcess): Promise<void> {
  if (!isRunning(child)) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

/** One output of a step is inlined with its result, the other is transferred by itself. */
function stepsOf(names: readonly string[]) {
  const steps = names.map((name) => {
    const command = `cp in.txt ${name}.small; head -c 400000 /dev/zero > ${name}.large`;
    return [name, { command, inputs: ['in.txt'], outputs: [`${name}.small`, `${name}.large`] }];
  });
  return { steps: Object.fromEntries(steps) };
}

/** In a new workspace, with an empty store. `content` separates the results of two rounds. */
function build(url: string, name: string, content: string, steps: readonly string[]): Promise<GraphRan> {
  const workspace = shop.another(name);
  shop.write('assay.json', JSON.stringify(stepsOf(steps)), 0o644, workspace);
  shop.write('in.txt', content, 0o644, workspace);
  return runSteps(shop, ['--remote', url, '--store', `${workspace}-store`, '*'], { cwd: workspace });
}

test.for(['http', 'grpc'])(
  'a busy machine does not give up a healthy remote, over %s',
  {
    timeout: ROUNDS * 120_000,
  },
  async (protocol, { signal }) => {
    const url = server.url.replace(/^http/, protocol);
    for (let number = 0; number < ROUNDS; number++) {
      const round = `${protocol}-${number}`;
      const first = await build(url, `${round}-first`, round, SHARED);
      expect(first.summary).toMatchObject({ misses: SHARED.length, unshared: 0, warnings: [] });
      const { outcomes, summary } = await onBusyMachine(signal, () =>
        build(url, `${round}-second`, round, [...SHARED, ...NEW]),
      );
      expect(summary).toMatchObject({ unshared: 0, warnings: [], exitCode: 0 });
      for (const step of SHARED) expect(outcomes[step]).toBe('hit-remote');
      for (const step of NEW) expect(outcomes[step]).toBe('miss');
    }
  },
);

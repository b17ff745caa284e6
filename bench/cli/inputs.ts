// 20,000 small files in a workspace, and the cost of the key of a step that declares them all, or of a bare
// lstat loop. Each measurement is a new process, so that no code is warm:
//
//   node inputs.ts key|lstat WORKSPACE STORE      prints {"cpuMs", "wallMs"} of the work, without the start
import { lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { REQUEST_DEFAULTS, type RunRequest } from '../../client/action/request.ts';
import { openCache } from '../../client/run/caches.ts';
import { keyAction } from '../../client/run/key.ts';
import { ROOT } from '../../core/path.ts';

export interface Cost {
  readonly cpuMs: number;
  readonly wallMs: number;
}

export const FOLDERS = 200;
export const FILES_IN_EACH = 100;
const FILE_BYTES = 2048;

export function makeInputs(workspace: string): void {
  for (const path of inputPaths(workspace)) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, path.padEnd(FILE_BYTES, '.'));
  }
}

function inputPaths(workspace: string): string[] {
  return Array.from({ length: FOLDERS * FILES_IN_EACH }, (_, index) => {
    const folder = `folder-${Math.floor(index / FILES_IN_EACH)}`;
    return join(workspace, 'src', folder, `file-${index % FILES_IN_EACH}.txt`);
  });
}

async function measure(work: () => Promise<void> | void): Promise<Cost> {
  const before = process.cpuUsage();
  const began = performance.now();
  await work();
  const wallMs = performance.now() - began;
  const { user, system } = process.cpuUsage(before);
  return { cpuMs: (user + system) / 1000, wallMs };
}

/** Everything that `assay run` does before a lookup: from opening its state to the digest of the Action. */
async function computeKey(workspace: string, storeFolder: string): Promise<void> {
  const report = () => {};
  const cache = await openCache({ storeFolder, workspace, now: Date.now, report });
  const request: RunRequest = {
    workspace,
    workingDirectory: ROOT,
    command: ['true'],
    inputs: [{ pattern: 'src/**', optional: false }],
    outputs: [],
    variables: [],
    tools: [],
    ...REQUEST_DEFAULTS,
  };
  keyAction(request, { cache, caller: process.env, report });
  await cache.close();
}

if (import.meta.main) {
  const [kind, workspace = '', store = ''] = process.argv.slice(2);
  const paths = inputPaths(workspace);
  const lookAtEach = () => {
    for (const path of paths) lstatSync(path);
  };
  const cost = await measure(kind === 'key' ? () => computeKey(workspace, store) : lookAtEach);
  process.stdout.write(JSON.stringify(cost));
}

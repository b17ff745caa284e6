// The results that a person wants in a bundle: those of steps, of actions, under labels, or all of them. A time leaves out
// older ones.

import { relative } from 'node:path';
import { requestOf } from '../../../client/config/request.ts';
import { currentFolder } from '../../../client/files/current-folder.ts';
import { graphOf } from '../../../client/graph/graph.ts';
import { openWorkspace } from '../../../client/graph/opened-workspace.ts';
import { selectSteps } from '../../../client/graph/select/selection.ts';
import { historyOf } from '../../../client/history/history.ts';
import { openCache } from '../../../client/run/caches.ts';
import { keyAction } from '../../../client/run/key.ts';
import type { Hash } from '../../../core/digest.ts';
import { relPathFromUser } from '../../../core/path.ts';

export interface WantedResult {
  /** Of actions, or of results. */
  readonly keys: readonly Hash[];
  /** The beginnings of labels. */
  readonly labels: readonly string[];
  /** In milliseconds since 1970. */
  readonly since?: number | undefined;
}

/**
 * The keys of the named steps and of all that they depend on: as they are now, and as they ran last. A step whose command
 * was interrupted never ran to its end, but it may have checkpoints under the key that it has now.
 */
export async function keysOfSteps(names: readonly string[], storeFolder: string): Promise<Hash[]> {
  const here = currentFolder();
  const { steps, root } = await openWorkspace(here, storeFolder, process.env);
  const folder = relPathFromUser(relative(root, here));
  const { order } = graphOf(selectSteps({ names, packages: [], folder }, steps), steps);
  const ran = historyOf(storeFolder).entries();
  const cache = openCache({ storeFolder, workspace: root, now: Date.now, report() {}, skipsScanMemo: true });
  try {
    const keys = order.flatMap((step) => {
      const last = ran.find(
        ({ name, workspace, exitCode, notKept }) =>
          name === step.id && workspace === root && exitCode === undefined && notKept === undefined,
      );
      return [
        ...keyNow(() => keyAction(requestOf(step, { root, steps }, process.env), sources(cache)).key.hash),
        ...(last ? [last.key] : []),
      ];
    });
    return [...new Set(keys)];
  } finally {
    await cache.close();
  }
}

function sources(cache: ReturnType<typeof openCache>) {
  return { cache, caller: process.env, report() {} };
}

/** A step whose inputs or tools are missing has no key now. */
function keyNow(make: () => Hash): Hash[] {
  try {
    return [make()];
  } catch {
    return [];
  }
}

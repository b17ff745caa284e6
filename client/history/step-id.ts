// The id of the step of an action, for a server that keeps the newest run of each one (core/metadata/step-id.ts).
// The id is the same in every clone, wherever it lies: by the repository, the folder of the workspace in it, and the
// step's name. No path of the machine gets in.
import { basename, relative } from 'node:path';
import { digestOf } from '../../core/digest.ts';
import { type StepId, stepId } from '../../core/metadata/step-id.ts';
import type { Variables } from '../action/environment.ts';
import type { RunRequest } from '../action/request.ts';
import { gitCheckout } from '../files/git-folder.ts';
import { localOrigin, repositoryOf } from './repository.ts';

/** Reads the files of .git once for each workspace. */
export function stepIdOf(request: RunRequest, caller: Variables): StepId {
  const { workspace, workingDirectory, name } = request;
  if (name !== undefined) return namedStepId(name, workspace, caller);
  const { repository, folder } = placeOf(workspace, caller);
  return stepId(repository, identityOf(request), [folder, workingDirectory].filter(Boolean).join('/'));
}

export function namedStepId(name: string, workspace: string, caller: Variables): StepId {
  const { repository, folder } = placeOf(workspace, caller);
  return stepId(repository, name, folder);
}

/** Of an action without a declared name, by its program and its outputs: the command line may hold a secret. */
export function nameOfAction({ command, outputs }: Pick<RunRequest, 'command' | 'outputs'>): string {
  const program = command[0].split('/').at(-1) ?? '';
  return outputs.length === 0 ? program : `${program} → ${[...outputs].sort().join(', ')}`;
}

/** Without outputs, many commands of a folder have the name of one program. Then the command line tells them apart. */
function identityOf(request: RunRequest): string {
  const { command, outputs } = request;
  const name = nameOfAction(request);
  return outputs.length > 0 ? name : `${name} ${digestOf(Buffer.from(JSON.stringify(command))).hash}`;
}

interface Place {
  readonly repository: string;
  /** Of the workspace in the repository. */
  readonly folder: string;
}

const known = new Map<string, Place>();

function placeOf(workspace: string, caller: Variables): Place {
  const place = known.get(workspace) ?? findPlace(workspace, caller);
  known.set(workspace, place);
  return place;
}

/** Without a remote, a repository has no name of its own: that of the workspace's folder stands for it. */
function findPlace(workspace: string, caller: Variables): Place {
  const folder = folderInRepository(workspace);
  const repository = repositoryOf(workspace, caller);
  if (repository !== undefined) return { repository, folder };
  /* A clone of a folder: that folder has no remote, and goes by its name. */
  const origin = folder === '' ? localOrigin(workspace) : undefined;
  return { repository: origin ?? basename(workspace), folder: '' };
}

function folderInRepository(workspace: string): string {
  try {
    const checkout = gitCheckout(workspace);
    return checkout ? relative(checkout.top, workspace) : '';
  } catch {
    return '';
  }
}

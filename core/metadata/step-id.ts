// The id of a step: the same in every clone of a repository, whatever its inputs are.
// An Assay server keeps the newest run of each step under it, and tells it to a client whose action is a miss.
import { digestOf } from '../digest.ts';

declare const stepIdBrand: unique symbol;

/** 32 hex digits. */
export type StepId = string & { readonly [stepIdBrand]: true };

/**
 * `repository`: its name, or that of the workspace's folder. `folder`: of the workspace in its repository, and for
 * an action without a declared name, its own. "" for the root, where a step has the id that it always had.
 */
export function stepId(repository: string | undefined, step: string, folder = ''): StepId {
  const place = folder === '' ? [] : [folder];
  const text = JSON.stringify([repository ?? '', step, ...place]);
  return digestOf(Buffer.from(text)).hash.slice(0, 32) as StepId;
}

export function isStepId(text: string): text is StepId {
  return /^[0-9a-f]{32}$/.test(text);
}

// Assay as a library, with the wings of this build.
//
//   import { run } from 'assay';
//   const { outcome, exitCode } = await run({ command: ['make'], inputs: ['src/**'], outputs: ['dist'] });
import { runWith } from '../client/library/library.ts';
import { libraryOf } from '../client/library/library-port.ts';
import { libraryPort, stepHook } from './step-hook.ts';

export {
  type ActionDeclaration,
  AssayError,
  type Blob,
  type Blobs,
  type Digest,
  type ErrorCode,
  type Hash,
  keyOf,
  type LibraryOptions,
  openStore,
  parseHash,
  type Results,
  type RunEvent,
  type RunSummary,
  type Store,
} from '../client/library/library.ts';

export type {
  CallContext,
  CallFunction,
  CallOptions,
  CallOutcome,
  FunctionCall,
  RestoredPoint,
  SavedPoint,
  WorkspaceFolders,
} from '../client/library/library-port.ts';

export const run = runWith(stepHook);

export const { call, workspace } = libraryOf(libraryPort);

// The conversation with Bazel, by @bazel/worker: one request at a time, standard output is Bazel's alone, and what is
// written to process.stderr while a request is worked on becomes the output of its answer.
import { Readable } from 'node:stream';
import { AssayError, messageOf } from '../../../core/errors.ts';
import type { SentInputs } from './bazel-inputs.ts';
import { frames } from './frames.ts';

export interface WorkResponse {
  readonly succeeded: boolean;
  readonly output: Buffer;
}

export type AnswerRequest = (args: readonly string[], inputs: SentInputs) => Promise<WorkResponse>;

/** Ends when Bazel closes standard input. */
export async function serveBazel(answer: AnswerRequest): Promise<void> {
  const whole = Readable.from(frames(process.stdin));
  Object.defineProperty(process, 'stdin', { value: whole });
  // It would collect garbage after every request, with a switch of V8 that Bun does not have; there is none of ours.
  globalThis.gc ??= async () => {};
  const { runWorkerLoop } = await import('@bazel/worker');
  const conversation = runWorkerLoop(async (args, inputs) => {
    try {
      const { succeeded, output } = await answer(args, inputs);
      if (output.length > 0) process.stderr.write(output);
      return succeeded;
    } catch (error) {
      process.stderr.write(`assay: ${messageOf(error)}\n`);
      return false;
    }
  });
  await conversation.catch((error: unknown) => {
    throw error instanceof AssayError ? error : notUnderstood(error);
  });
}

/** All that can go wrong in an answer is in the answer: what is left are requests. */
function notUnderstood(error: unknown): AssayError {
  return new AssayError('ASSAY_BAD_WIRE', `a request could not be decoded (${messageOf(error)})`);
}

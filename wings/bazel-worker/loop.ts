// The worker loop, by @bazel/worker: one request at a time, each answered once. Standard output belongs to
// Bazel. Text on process.stderr during a request becomes the output of its response.
import { Readable } from 'node:stream';
import { AssayError, messageOf } from '../../core/errors.ts';
import type { SentInputs } from './bazel-inputs.ts';
import { Cancellations } from './cancellations.ts';
import { frames } from './frames.ts';

interface WorkResponse {
  readonly succeeded: boolean;
  readonly output: Buffer;
}

/** `signal` aborts when Bazel cancels the request. */
type AnswerRequest = (
  args: readonly string[],
  inputs: SentInputs,
  signal: AbortSignal,
) => Promise<WorkResponse>;

/** Ends when Bazel closes standard input. */
export async function serveBazel(answer: AnswerRequest): Promise<void> {
  const cancellations = new Cancellations();
  const whole = Readable.from(cancellations.filter(frames(process.stdin)));
  Object.defineProperty(process, 'stdin', { value: whole });
  // @bazel/worker would call V8's gc after every request; Bun has none, and Assay needs none.
  globalThis.gc ??= async () => {};
  const { runWorkerLoop } = await import('@bazel/worker');
  const conversation = runWorkerLoop(async (args, inputs) => {
    try {
      const signal = cancellations.nextRequest();
      if (signal.aborted) return false;
      const { succeeded, output } = await answer(args, inputs, signal);
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

/** Errors of an answer are part of the response, so only the decoding of requests can fail here. */
function notUnderstood(error: unknown): AssayError {
  return new AssayError('ASSAY_BAD_WIRE', `a request could not be decoded (${messageOf(error)})`);
}

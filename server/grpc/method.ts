// A gRPC service: a table of methods by path.
// A method sends the response of a call, or rejects with the error that becomes its status.
import { decodeStrict, type Shape } from '../../core/message.ts';
import type { Call } from './call.ts';

export interface Method {
  /** The label of its metrics: Service.Method. */
  readonly name: string;
  /** A read-only server refuses the method before it reads a message. */
  readonly writes: boolean;
  answer(call: Call): Promise<void>;
}

export type Methods = ReadonlyMap<string, Method>;

export type Handler = Method['answer'];

interface MessageType<T> {
  decode(bytes: Uint8Array): T;
}

/** A method with a single request message. `answer` sends the response. */
export function singleRequest<T>(
  type: MessageType<T>,
  shape: Shape,
  answer: (request: T, call: Call, bytes: Buffer) => Promise<void>,
): Handler {
  return async (call) => {
    const bytes = await call.message();
    const request = decodeStrict(
      type,
      shape,
      bytes,
      'the message cannot be decoded',
      'ASSAY_MESSAGE_MALFORMED',
    );
    await answer(request, call, bytes);
  };
}

export function service(
  name: string,
  readers: Readonly<Record<string, Handler>>,
  writers: Readonly<Record<string, Handler>> = {},
): Methods {
  const shortName = name.slice(name.lastIndexOf('.') + 1);
  const methodsOf = (handlers: Readonly<Record<string, Handler>>, writes: boolean) =>
    Object.entries(handlers).map(([method, answer]): [string, Method] => [
      `/${name}/${method}`,
      { name: `${shortName}.${method}`, writes, answer },
    ]);
  return new Map([...methodsOf(readers, false), ...methodsOf(writers, true)]);
}

// A gRPC service: a table of methods by path.
// A method sends the response of a call, or rejects with the error that becomes its status.
import { decodeStrict, type Shape } from '../../core/message.ts';
import type { Requirement } from '../access/rights.ts';
import type { Call } from './call.ts';

export interface Method {
  /** The label of its metrics: Service.Method. */
  readonly name: string;
  /** The rights that it needs. They are checked before a message is read. */
  readonly needs: Requirement;
  answer(call: Call): Promise<void>;
  /** It waits for something: how long it takes says nothing about the server. */
  readonly isWait?: boolean;
}

export type Methods = ReadonlyMap<string, Method>;

type Handler = Method['answer'];

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

/** The rights that a method needs, and its handler. */
export type NewMethod = readonly [needs: Requirement, answer: Handler, isWait?: boolean];

export function service(name: string, methods: Readonly<Record<string, NewMethod>>): Methods {
  const shortName = name.slice(name.lastIndexOf('.') + 1);
  return new Map(
    Object.entries(methods).map(([method, [needs, answer, isWait = false]]) => [
      `/${name}/${method}`,
      { name: `${shortName}.${method}`, needs, answer, isWait },
    ]),
  );
}

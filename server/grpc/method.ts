// What a service is: a table of methods by their path. A method answers a call, or refuses it by rejecting.
import { decodeStrict, type Shape } from '../../core/message.ts';
import type { Call } from './call.ts';

export interface Method {
  /** As it is counted: Service.Method. */
  readonly name: string;
  /** Refused on a read-only server before anything is read. */
  readonly writes: boolean;
  answer(call: Call): Promise<void>;
}

export type Methods = ReadonlyMap<string, Method>;

export type Answering = Method['answer'];

interface MessageType<T> {
  decode(bytes: Uint8Array): T;
}

/** One message in; what the answer is made of is the method's own business. */
export function singleRequest<T>(
  type: MessageType<T>,
  shape: Shape,
  answer: (request: T, call: Call, bytes: Buffer) => Promise<void>,
): Answering {
  return async (call) => {
    const bytes = await call.message();
    const request = decodeStrict(
      type,
      shape,
      bytes,
      'the message can not be decoded',
      'ASSAY_MESSAGE_MALFORMED',
    );
    await answer(request, call, bytes);
  };
}

export function service(
  name: string,
  readers: Readonly<Record<string, Answering>>,
  writers: Readonly<Record<string, Answering>> = {},
): Methods {
  const shortName = name.slice(name.lastIndexOf('.') + 1);
  const entries = (answers: Readonly<Record<string, Answering>>, writes: boolean) =>
    Object.entries(answers).map(([method, answer]): [string, Method] => [
      `/${name}/${method}`,
      { name: `${shortName}.${method}`, writes, answer },
    ]);
  return new Map([...entries(readers, false), ...entries(writers, true)]);
}

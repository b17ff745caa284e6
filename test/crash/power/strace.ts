// The lines of `strace -f -xx -s LARGE`, call by call in the order in which they ended, and a close in the order
// in which it began. A call that another thread interrupts has two lines; a call that never returned is left
// out.

export interface Call {
  readonly name: string;
  /** The arguments as strace wrote them, without the strings. */
  readonly text: string;
  /** The arguments that are numbers, by position; the others are NaN. */
  readonly numbers: readonly number[];
  /** All its strings: as bytes one after the other, and each as text. */
  readonly bytes: Buffer;
  readonly paths: readonly string[];
  readonly result: number;
  /** Lines of the trace. */
  readonly began: number;
  readonly ended: number;
}

const WHOLE = /^(\d+) +(\w+)\((.*)\) += (-?\w+)/;
const UNFINISHED = /^(\d+) +(\w+)\((.*?),? <unfinished \.\.\.>$/;
const RESUMED = /^(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (-?\w+)/;
const QUOTED = /"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?/g;

export function* callsIn(trace: string): Generator<Call> {
  const begun = new Map<string, { readonly name: string; readonly args: string; readonly began: number }>();
  let line = 0;
  for (const text of trace.split('\n')) {
    line++;
    const [, whose = '', name = '', args = '', result = ''] = WHOLE.exec(text) ?? [];
    if (whose !== '') {
      yield callOf(name, args, result, line, line);
      continue;
    }
    const [, thread = '', opening = '', first = ''] = UNFINISHED.exec(text) ?? [];
    // It frees its descriptor at once: another thread may get the same number before this call returns.
    if (opening === 'close') yield callOf(opening, first, '0', line, line);
    else if (thread !== '') begun.set(thread, { name: opening, args: first, began: line });
    const [, resumed = '', , rest = '', value = ''] = RESUMED.exec(text) ?? [];
    const call = begun.get(resumed);
    if (!call) continue;
    begun.delete(resumed);
    yield callOf(call.name, call.args + rest, value, call.began, line);
  }
}

function callOf(name: string, args: string, result: string, began: number, ended: number): Call {
  const strings: Buffer[] = [];
  const text = args.replace(QUOTED, (_whole, escaped: string, isCut: string | undefined) => {
    if (isCut) throw new Error(`strace cut a string short in ${name}: raise -s`);
    strings.push(Buffer.from(escaped.replaceAll('\\x', ''), 'hex'));
    return '""';
  });
  return {
    name,
    text,
    numbers: text.split(',').map((part) => Number(part.trim() || Number.NaN)),
    bytes: Buffer.concat(strings),
    paths: strings.map((string) => string.toString()),
    result: Number(result),
    began,
    ended,
  };
}

// What the identities of the attack store. Each content has the mark of its writer, so that a mark in an answer
// shows whose content it is.
import { type Digest, digestOf, toWire } from '../../../core/digest.ts';
import { encodePathSet, type PathSet, resultKey } from '../../../core/path-set.ts';
import { directoryOf, outputFile, resultWith } from '../../store/content.ts';

/** Letters and digits only, so that no encoding of text changes it. */
export function markOf(identity: string): string {
  return `MARKof${identity.toUpperCase()}forTheMatrix`;
}

export function contentBy(identity: string, what: string): Buffer {
  return Buffer.from(`${what} ${markOf(identity)} ${'.'.repeat(60)}`);
}

/** True if the bytes contain the mark as text, in hex, or in base64. */
export function showsMark(bytes: Buffer, identity: string): boolean {
  const mark = Buffer.from(markOf(identity));
  const spellings = [mark.toString(), mark.toString('hex'), ...[0, 1, 2].map((at) => base64At(mark, at))];
  const text = bytes.toString('latin1');
  return spellings.some((spelling) => text.includes(spelling));
}

/** The part of the base64 that is the same whatever comes before and after `at` bytes. */
function base64At(mark: Buffer, at: number): string {
  const whole = Buffer.concat([Buffer.alloc(at), mark])
    .toString('base64')
    .replace(/=+$/, '');
  return whole.slice(at === 0 ? 0 : at + 1, -2);
}

/** Of main. The large blob has several chunks, the folder a file. */
const small = contentBy('main', 'a small blob');
const large = Buffer.concat(Array.from({ length: 60_000 }, (_, n) => contentBy('main', `line ${n}`)));
const folder = directoryOf([digestOf(small)]);
const paths: PathSet = [
  {
    root: 'workspace',
    path: markOf('main'),
    names: false,
    state: 'absent',
    left: '',
    without: [],
    lens: '',
    shown: [],
    note: '',
  },
];
const pathSet = Buffer.from(encodePathSet(paths));
export const BLOBS = { small, large, folder, pathSet };

function digests(): Readonly<Record<keyof typeof BLOBS, Digest>> {
  return {
    small: digestOf(small),
    large: digestOf(large),
    folder: digestOf(folder),
    pathSet: digestOf(pathSet),
  };
}

export const DIGESTS = digests();

export const KEY = digestOf(Buffer.from('the key of an action'));
/** The result that the path set leads to, which a list predicts. */
export const PREDICTED = resultKey(KEY.hash, paths, ({ state }) => state);

/** The result that the identity stores: it names a blob, and has text of its own. */
export function resultBy(identity: string, output: Digest = DIGESTS.small): Buffer {
  return resultWith({
    outputFiles: [outputFile('out/0', output)],
    stdoutRaw: contentBy(identity, 'standard output'),
    stderrDigest: toWire(output),
  });
}

// What a client of mise's protocol sends, and one build of it as a graph of objects.
import { blake3, sha256 } from 'hash-wasm';
import { canonicalJson } from '../../../core/config/canonical-json.ts';
import { type Answer, ask } from '../../../test/server/rig.ts';
import type { Algorithm, MiseDigest } from '../digest.ts';

export interface SentObject {
  readonly digest: MiseDigest;
  readonly bytes: Buffer;
}

const BOUNDS = { code: 'ASSAY_INTERNAL', maxDepth: 100, maxLength: 10_000_000 } as const;

export async function blob(content: string | Buffer, algorithm: Algorithm = 'blake3'): Promise<SentObject> {
  const bytes = Buffer.from(content);
  const hash = await (algorithm === 'blake3' ? blake3(bytes) : sha256(bytes));
  return { digest: { algorithm, hash, size: bytes.length }, bytes };
}

export const json = (value: unknown): Promise<SentObject> => blob(canonicalJson(value, BOUNDS));

export interface Build {
  readonly action: SentObject;
  /** All but the file, which comes first. */
  readonly objects: readonly SentObject[];
  readonly commit: Buffer;
}

export interface BuildOptions {
  readonly task?: string;
  readonly output?: string;
  readonly durationNs?: number;
}

/** A task that makes dist/out.txt. */
export async function aBuild({
  task = 'build',
  output = 'made\n',
  durationNs = 7,
}: BuildOptions = {}): Promise<Build> {
  const action = await json({ version: 1, kind: 'task', task, run: ['make'], source_hash: 'ab' });
  const metadata = await json({
    version: 1,
    kind: 'task',
    roots: ['dist'],
    execution_duration_ns: durationNs,
  });
  const file = await blob(output);
  const dist = await folder({
    files: [{ name: 'out.txt', digest: file.digest, executable: false, mode: 0o644 }],
  });
  const root = await folder({ directories: [{ name: 'dist', digest: dist.digest, mode: 0o755 }] });
  return {
    action,
    objects: [file, action, metadata, dist, root],
    commit: commitOf(action, metadata, root),
  };
}

export function folder(lists: {
  readonly directories?: readonly object[];
  readonly files?: readonly object[];
  readonly symlinks?: readonly object[];
}): Promise<SentObject> {
  return json({ directories: [], files: [], symlinks: [], version: 1, ...lists });
}

export function commitOf(action: SentObject, metadata: SentObject, root?: SentObject): Buffer {
  const output = root && { output_root: root.digest };
  return Buffer.from(
    JSON.stringify({ version: 1, action: action.digest, metadata: metadata.digest, ...output }),
  );
}

export class MiseClient {
  readonly #url: string;
  readonly #headers: Record<string, string>;

  constructor(url: string, token = '', namespace = 'team') {
    this.#url = `${url}/mise/v1`;
    this.#headers = {
      'mise-cache-protocol': '1',
      'mise-cache-namespace': namespace,
      ...(token && { authorization: `Bearer ${token}` }),
    };
  }

  get(path: string): Promise<Answer> {
    return ask(`${this.#url}${path}`, 'GET', { headers: this.#headers });
  }

  post(path: string, value: unknown): Promise<Answer> {
    return ask(`${this.#url}${path}`, 'POST', {
      headers: this.#headers,
      body: Buffer.from(JSON.stringify(value)),
    });
  }

  put(path: string, body: Buffer, more: Record<string, string> = { 'if-none-match': '*' }): Promise<Answer> {
    return ask(`${this.#url}${path}`, 'PUT', { headers: { ...this.#headers, ...more }, body });
  }

  getBlob({ digest }: SentObject): Promise<Answer> {
    return this.get(pathOf('blobs', digest));
  }

  putBlob({ digest, bytes }: SentObject): Promise<Answer> {
    return this.put(pathOf('blobs', digest), bytes);
  }

  getResult({ action }: Pick<Build, 'action'>): Promise<Answer> {
    return this.get(pathOf('action-results', action.digest));
  }

  commit({ action, commit }: Pick<Build, 'action' | 'commit'>): Promise<Answer> {
    return this.put(pathOf('action-results', action.digest), commit);
  }

  /** The blobs, and then the commit. */
  async publish(build: Build): Promise<Answer> {
    for (const object of build.objects) await this.putBlob(object);
    return this.commit(build);
  }
}

export function pathOf(kind: 'blobs' | 'action-results', { algorithm, hash, size }: MiseDigest): string {
  return `/${kind}/${algorithm}/${hash}/${size}`;
}

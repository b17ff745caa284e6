// A bucket in memory, for tests of the index. Its faults can be set.
import { AssayError } from '../../../../core/errors.ts';
import type { Objects, ObjectsPage } from '../../engine/objects.ts';
import { FLEET_OBJECT } from '../../engine/ownership/fleet-object.ts';

export class MemoryObjects implements Objects {
  readonly kept = new Map<string, Buffer>();
  /** The one object that is overwritten. It is not listed, and its requests are not counted. */
  fleet: Buffer | undefined;
  /** Each object's age in a listing. */
  readonly agesMs = new Map<string, number>();
  readonly deleted: string[] = [];
  /** Objects that may not be deleted. */
  readonly refused = new Set<string>();
  gets = 0;
  puts = 0;
  isAway = false;
  /** Of a listing. */
  pageSize = 2;

  async put(name: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
    if (name === FLEET_OBJECT && content instanceof Uint8Array) {
      this.#refuseIfAway();
      this.fleet = Buffer.from(content);
      return;
    }
    this.puts++;
    this.#refuseIfAway();
    if (this.kept.has(name)) throw new Error(`the name ${name} is used twice`);
    const pieces: Buffer[] = [];
    for await (const piece of content instanceof Uint8Array ? [content] : content)
      pieces.push(Buffer.from(piece));
    this.#refuseIfAway();
    this.kept.set(name, Buffer.concat(pieces));
  }

  async get(name: string, offset: number, length: number): Promise<AsyncIterable<Buffer> | undefined> {
    if (name !== FLEET_OBJECT) this.gets++;
    this.#refuseIfAway();
    const bytes = name === FLEET_OBJECT ? this.fleet : this.kept.get(name);
    return bytes && piecesOf(Buffer.from(bytes.subarray(offset, offset + length)));
  }

  async probe(name: string, length: number): Promise<Buffer | undefined> {
    const content = await this.get(name, 0, length);
    return content && Buffer.concat(await Array.fromAsync(content));
  }

  async delete(names: readonly string[]): Promise<readonly string[]> {
    this.#refuseIfAway();
    const allowed = names.filter((name) => !this.refused.has(name));
    this.deleted.push(...allowed);
    for (const name of allowed) this.kept.delete(name);
    return names.filter((name) => this.refused.has(name));
  }

  async list(after: string | undefined): Promise<ObjectsPage> {
    this.#refuseIfAway();
    const names = [...this.kept.keys()].sort().filter((name) => after === undefined || name > after);
    const page = names.slice(0, this.pageSize);
    return {
      objects: page.map((name) => ({
        name,
        size: this.kept.get(name)?.length ?? 0,
        ageMs: this.agesMs.get(name) ?? 0,
      })),
      after: names.length > page.length ? page.at(-1) : undefined,
    };
  }

  async abortUploads(): Promise<number> {
    return 0;
  }

  async close(): Promise<void> {}

  #refuseIfAway(): void {
    if (this.isAway) throw new AssayError('ASSAY_BUCKET_AWAY', 'the test says so');
  }
}

const PIECE = 300_000;

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
}

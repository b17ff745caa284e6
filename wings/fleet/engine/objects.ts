// The bucket as the fleet engine sees it: objects with unique names, and nothing else of S3.
//
// A name is used once, ever: a late or repeated DELETE can then hit only an object that was condemned before,
// and nothing depends on conditional PUTs. Only ownership/fleet-object.ts is overwritten, and says why it may be.
import type { Hash } from '../../../core/digest.ts';

/** An object in a listing. The bucket is part of another system: ages come from its own clock. */
export interface ListedObject {
  readonly name: string;
  readonly size: number;
  /** By the bucket's clock: the time of its answer minus the time of the object. */
  readonly ageMs: number;
}

export interface ObjectsPage {
  readonly objects: readonly ListedObject[];
  /** The argument of the next call. Undefined after the last page. */
  readonly after: string | undefined;
}

/**
 * Names are relative to the prefix of the bucket. Every wait has a deadline. A failure of the bucket is an
 * AssayError.
 */
export interface Objects {
  /**
   * Streams `size` bytes (undefined: unknown) into a new object, and resolves when it is durable. A piece of
   * the content is used only until the next one is asked for. If the content fails, nothing is kept and that
   * error is thrown. Bytes that were changed on the way are a failure: the bucket compares them with a checksum.
   * `sha256`: that of the content, if it is known.
   */
  put(
    name: string,
    content: Uint8Array | AsyncIterable<Uint8Array>,
    size: number | undefined,
    sha256?: Hash,
  ): Promise<void>;
  /**
   * The bytes from `offset` on, `length` of them; fewer if the object is shorter. Undefined only if the bucket
   * says NoSuchKey: every other failure throws, also in the middle. A piece stays valid after the next one is
   * asked for.
   */
  get(
    name: string,
    offset: number,
    length: number,
    signal?: AbortSignal,
  ): Promise<AsyncIterable<Buffer> | undefined>;
  /** The first bytes of an object, over a connection of its own: no other request delays it. */
  probe(name: string, length: number): Promise<Buffer | undefined>;
  /** Returns the names that were refused. A name without an object is deleted already. */
  delete(names: readonly string[]): Promise<readonly string[]>;
  /** A page of objects in the order of their names, for the janitor's slow listing. */
  list(after: string | undefined): Promise<ObjectsPage>;
  /** Aborts unfinished multipart uploads of such names that began longer ago than that, and returns how many. */
  abortUploads(olderThanMs: number, isOwn: (name: string) => boolean): Promise<number>;
  close(): Promise<void>;
}

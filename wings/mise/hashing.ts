// BLAKE3 of bodies, computed by one thread beside the main loop (worker.ts).
// Guarantee: a body is read no faster than it is hashed. A thread that fails makes its bodies fail, and the next body
// gets a new one.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { AssayError, messageOf } from '../../core/errors.ts';
import { MISE } from './limits.ts';

/** `piece`: more of the body. Without it, the body has ended, or is not wanted any more. */
export interface HashRequest {
  readonly id: number;
  readonly piece?: Uint8Array<ArrayBuffer>;
  readonly isDropped?: boolean;
}

/** One for each request, in their order. `hash` is "" but for the end of a body. */
export interface HashAnswer {
  readonly id: number;
  readonly hash: string;
}

interface Waiting {
  answered(hash: string): void;
  failed(error: Error): void;
}

let thread: HashThread | undefined;
let lastId = 0;

class HashThread {
  readonly #worker = new Worker(workerFile());
  readonly #waiting = new Map<number, Waiting>();

  constructor() {
    this.#worker.unref();
    this.#worker.on('message', ({ id, hash }: HashAnswer) => this.#waiting.get(id)?.answered(hash));
    this.#worker.on('error', (error: unknown) => this.#end(messageOf(error)));
    this.#worker.on('exit', () => this.#end('it ended'));
  }

  begin(id: number, waiting: Waiting): void {
    this.#waiting.set(id, waiting);
  }

  end(id: number): void {
    this.#waiting.delete(id);
  }

  send(request: HashRequest): void {
    this.#worker.postMessage(request, request.piece ? [request.piece.buffer] : []);
  }

  #end(why: string): void {
    if (thread === this) thread = undefined;
    const error = new AssayError('ASSAY_INTERNAL', `the thread that computes BLAKE3: ${why}`);
    for (const waiting of this.#waiting.values()) waiting.failed(error);
    this.#waiting.clear();
  }
}

/** The running hash of one body. Call `digest` or `drop` at its end. */
export class RunningHash {
  readonly #id = ++lastId;
  readonly #thread: HashThread;
  #failure: Error | undefined;
  #hash = '';
  /** Sizes of the pieces that are not hashed yet, in their order. */
  readonly #sent: number[] = [];
  #waitingBytes = 0;
  #wake: () => void = () => {};

  constructor() {
    thread ??= new HashThread();
    this.#thread = thread;
    thread.begin(this.#id, {
      answered: (hash) => {
        this.#waitingBytes -= this.#sent.shift() ?? 0;
        this.#hash = hash;
        this.#wake();
      },
      failed: (error) => {
        this.#failure = error;
        this.#wake();
      },
    });
  }

  /** The caller may use the piece again at once. */
  async update(piece: Uint8Array): Promise<void> {
    this.#send(piece.length, { id: this.#id, piece: new Uint8Array(piece) });
    await this.#until(() => this.#waitingBytes <= MISE.hashedAheadBytes);
  }

  /** In lower-case hex. */
  async digest(): Promise<string> {
    this.#send(0, { id: this.#id });
    await this.#until(() => this.#sent.length === 0);
    this.#thread.end(this.#id);
    return this.#hash;
  }

  drop(): void {
    this.#thread.end(this.#id);
    this.#thread.send({ id: this.#id, isDropped: true });
  }

  #send(bytes: number, request: HashRequest): void {
    this.#sent.push(bytes);
    this.#waitingBytes += bytes;
    this.#thread.send(request);
  }

  async #until(isReached: () => boolean): Promise<void> {
    while (!this.#failure && !isReached())
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    if (this.#failure) throw this.#failure;
  }
}

/** In a checkout a file of the sources, in the bundle a file beside it (scripts/build.ts). */
function workerFile(): string {
  const bundled = fileURLToPath(new URL('./mise-worker.cjs', import.meta.url));
  return existsSync(bundled) ? bundled : fileURLToPath(new URL('./worker.ts', import.meta.url));
}

// Bazel's side of the worker protocol, encoded by hand: a varint with the length, then the message.
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { baseEnvironment, DEFAULT_FORM, FORMS, type Form } from '../../../test/rig/assay.ts';

export interface SentInput {
  readonly path: string;
  /** The hex text of a SHA-256; absent: Bazel does not know it. */
  readonly digest?: string;
}

export interface WorkResponse {
  readonly exitCode: number;
  readonly output: string;
  /** Absent for 0, the id of a worker that serves one request at a time. */
  readonly id?: number;
}

export interface RequestOptions {
  readonly id?: number;
  readonly cancel?: true;
}

export function inputOf(workspace: string, path: string): SentInput {
  const digest = createHash('sha256')
    .update(readFileSync(join(workspace, path)))
    .digest('hex');
  return { path, digest };
}

/** Framed, as Bazel writes it. */
export function encodeRequest(
  args: readonly string[],
  inputs: readonly SentInput[],
  { id = 0, cancel }: RequestOptions = {},
): Buffer {
  const message = new BinaryWriter();
  for (const arg of args) message.uint32(10).string(arg);
  for (const { path, digest } of inputs) {
    const input = new BinaryWriter().uint32(10).string(path);
    if (digest !== undefined) input.uint32(18).bytes(Buffer.from(digest));
    message.uint32(18).bytes(input.finish());
  }
  if (id !== 0) message.uint32(24).int32(id);
  if (cancel) message.uint32(32).bool(true);
  return Buffer.from(new BinaryWriter().bytes(message.finish()).finish());
}

/**
 * How Bazel shows a source tree to a worker: as it is, by a link to each entry of its root (the execroot), or
 * by a link to each input (--worker_sandboxing).
 */
export type Layout = 'plain' | 'execroot' | 'sandbox';

/** Lays out `tree` in `root` as Bazel does before a request. Bazel's folder itself stays the same one. */
export function layOut(layout: Layout, tree: string, root: string, inputs: readonly string[]): void {
  if (layout === 'plain') return;
  mkdirSync(root, { recursive: true });
  for (const name of readdirSync(root)) rmSync(join(root, name), { recursive: true });
  for (const path of layout === 'execroot' ? readdirSync(tree) : inputs) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    symlinkSync(join(tree, path), join(root, path));
  }
}

export class BazelDriver {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; stderr: string }>;
  #stderr = '';
  #received = Buffer.alloc(0);
  #heard: (() => void) | undefined;

  constructor(
    args: readonly string[],
    options: {
      cwd: string;
      form?: Form;
      /** Instead of a form: how `assay` is started. */
      assay?: readonly [string, ...string[]];
      env?: Readonly<Record<string, string>>;
    },
  ) {
    const form = options.assay ?? FORMS[options.form ?? DEFAULT_FORM];
    const [program = '', ...rest] = [...form, 'bazel-worker', ...args];
    const child = spawn(program, [...rest, '--persistent_worker'], {
      cwd: options.cwd,
      env: { ...baseEnvironment(), ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.child = child;
    child.stdin.on('error', () => {});
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
    child.stdout.on('data', (bytes: Buffer) => {
      this.#received = Buffer.concat([this.#received, bytes]);
      this.#heard?.();
    });
    this.ended = once(child, 'close').then(([code]) => {
      this.#heard?.();
      return { code, stderr: this.#stderr };
    });
  }

  /** The worker's log so far. */
  get log(): string {
    return this.#stderr;
  }

  request(args: readonly string[], inputs: readonly SentInput[]): Promise<WorkResponse> {
    this.write(encodeRequest(args, inputs));
    return this.response();
  }

  write(bytes: Uint8Array): void {
    this.child.stdin?.write(bytes);
  }

  async response(): Promise<WorkResponse> {
    while (true) {
      const response = this.#take();
      if (response) return response;
      if (this.child.exitCode !== null) throw new Error(`it ended without an answer: ${this.#stderr}`);
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  async close(): Promise<{ code: number | null; stderr: string }> {
    this.child.stdin?.end();
    const ended = await this.ended;
    if (this.#received.length > 0) throw new Error(`stray bytes on standard output: ${this.#received}`);
    return ended;
  }

  #take(): WorkResponse | undefined {
    if (this.#received.length === 0) return undefined;
    const reader = new BinaryReader(this.#received);
    const length = reader.uint32();
    if (this.#received.length < reader.pos + length) return undefined;
    const message = this.#received.subarray(reader.pos, reader.pos + length);
    this.#received = this.#received.subarray(reader.pos + length);
    return decodeResponse(message);
  }
}

function decodeResponse(bytes: Uint8Array): WorkResponse {
  const reader = new BinaryReader(bytes);
  let exitCode = 0;
  let output = '';
  let id = 0;
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === 1) exitCode = reader.int32();
    else if (field === 2) output = reader.string();
    else if (field === 3) id = reader.int32();
    else reader.skip(type, field);
  }
  return { exitCode, output, ...(id !== 0 && { id }) };
}

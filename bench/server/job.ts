// What the measuring process asks of the loading one.

export const CONNECTIONS = 16;

export type Job = GetJob | PutJob;

/** `count` requests in all, the paths in turn. */
export interface GetJob {
  readonly verb: 'get';
  readonly origin: string;
  readonly paths: readonly string[];
  readonly count: number;
  /** What each answer must weigh. */
  readonly bytes: number;
  /** The last part of the path is the SHA-256 that the answer must have. */
  readonly verify?: boolean;
}

/** `count` blobs of `bytes` bytes, each different, under PREFIX/SHA-256. */
export interface PutJob {
  readonly verb: 'put';
  readonly origin: string;
  readonly prefix: string;
  readonly count: number;
  readonly bytes: number;
}

export interface JobDone {
  readonly paths: readonly string[];
}

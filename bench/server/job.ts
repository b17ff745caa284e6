// The jobs that the measuring process sends to the load process.

export const CONNECTIONS = 16;

export type Job = GetJob | PutJob | PutResultsJob;

/** `count` requests in all, the paths in turn. */
export interface GetJob {
  readonly verb: 'get';
  readonly origin: string;
  /** CONNECTIONS unless given. */
  readonly connections?: number;
  readonly token?: string | undefined;
  readonly paths: readonly string[];
  readonly count: number;
  /** The size that each response must have, unless they differ. */
  readonly bytes?: number;
  /** That each response must have: 200 unless given. The size of another one is not checked. */
  readonly status?: number;
  /** The last segment of the path is the SHA-256 of the response. */
  readonly verify?: boolean;
}

/** `count` blobs of `bytes` bytes, each different, under PREFIX/SHA-256. */
export interface PutJob {
  readonly verb: 'put';
  readonly origin: string;
  readonly connections?: number;
  readonly token?: string | undefined;
  readonly prefix: string;
  readonly count: number;
  readonly bytes: number;
}

/** `count` different results under PREFIX/ac. Each names `outputs` of the blobs, which have `bytes` bytes each. */
export interface PutResultsJob {
  readonly verb: 'putResults';
  readonly origin: string;
  readonly connections?: number;
  readonly token?: string | undefined;
  readonly prefix: string;
  readonly blobs: readonly string[];
  readonly outputs: number;
  readonly count: number;
  readonly bytes: number;
}

export interface JobDone {
  readonly paths: readonly string[];
  /** The size of each result. */
  readonly resultBytes?: number;
}

// The jobs that the measuring process sends to the load process, over gRPC.

export const CONNECTIONS = 4;
export const CALLS_AT_A_TIME = 16;

/** Each kind of call, with number and size. */
export type GrpcJob = {
  readonly token?: string | undefined;
  /** Each call carries the RequestMetadata of an action of one build. */
  readonly isBazel?: boolean;
} /** FindMissingBlobs with `digests` blobs, all present or all absent. */ & (
  | {
      readonly verb: 'findMissing';
      readonly origin: string;
      readonly count: number;
      readonly digests: number;
      readonly areAbsent?: boolean;
      /** Each call takes the next of these instead of blobs of earlier jobs. */
      readonly present?: readonly { readonly hash: string; readonly sizeBytes: number }[];
    }
  /** Gets results that do not exist. */
  | { readonly verb: 'missResult'; readonly origin: string; readonly count: number }
  /** Puts different results that name `outputs` blobs each. */
  | { readonly verb: 'putResult'; readonly origin: string; readonly count: number; readonly outputs: number }
  /** Gets the first `results` of those in turn. */
  | { readonly verb: 'getResult'; readonly origin: string; readonly count: number; readonly results: number }
  | { readonly verb: 'read'; readonly origin: string; readonly count: number; readonly bytes: number }
  /** Different blobs, in messages of `messageBytes`. */
  | {
      readonly verb: 'write';
      readonly origin: string;
      readonly count: number;
      readonly bytes: number;
      readonly messageBytes: number;
    }
  /** `blobs` blobs of earlier jobs in each call, one part after the other. */
  | {
      readonly verb: 'batchRead';
      readonly origin: string;
      readonly count: number;
      readonly blobs: number;
      readonly bytes: number;
    }
  /** Batches of `blobs` different blobs. */
  | {
      readonly verb: 'batchUpdate';
      readonly origin: string;
      readonly count: number;
      readonly blobs: number;
      readonly bytes: number;
    }
);

export interface GrpcDone {
  /** Milliseconds of each call, from its first byte to its status. */
  readonly waits: readonly number[];
}

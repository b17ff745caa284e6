// ServerContext: what every part of a running server shares. There is one of each.
import type { Logger } from 'pino';
import type { Store } from '../store/store.ts';
import type { Capacity } from './capacity/capacity.ts';
import type { Clock } from './connection/awake-clock.ts';
import type { MinRate } from './connection/min-rate.ts';
import type { TokenCheck } from './http/auth.ts';
import type { HostCheck } from './http/host-check.ts';
import type { OriginCheck } from './http/same-origin.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { ServerLimits } from './limits.ts';
import type { Metrics } from './pages/metrics.ts';
import type { SignatureCheck } from './protocols/s3/signature.ts';

export interface ServerContext {
  readonly store: Store;
  readonly tokenCheck: TokenCheck;
  /** Only with S3 keys: checks the signatures of S3 requests. */
  readonly signatures: SignatureCheck | undefined;
  readonly checkHost: HostCheck;
  readonly checkOrigin: OriginCheck;
  readonly readOnly: boolean;
  readonly limits: ServerLimits;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly minRate: MinRate;
  readonly capacity: Capacity;
  readonly lifecycle: Lifecycle;
  readonly info: ServerInfo;
}

export interface ServerInfo {
  readonly storeFolder: string | undefined;
  /** The server listens on a loopback address. */
  readonly isLocal: boolean;
  readonly startedAt: number;
}

// ServerContext: what every part of a running server shares. There is one of each.

import type { Logger } from 'pino';
import type { AccountUse } from '../store/accounts.ts';
import type { WriteLog } from '../store/log/write-log.ts';
import type { ResultAddress, Store } from '../store/store.ts';
import type { AccessControl } from './access/access-control.ts';
import type { SignatureCheck } from './access/aws-signature.ts';
import type { TokenExchange } from './access/identities.ts';
import type { ScopedStore } from './access/scoped-store.ts';
import type { BrowserSessions } from './access/web/browser-session.ts';
import type { HostCheck } from './access/web/host-check.ts';
import type { OriginCheck } from './access/web/same-origin.ts';
import type { Clock } from './capacity/awake-clock.ts';
import type { Capacity } from './capacity/capacity.ts';
import type { MinRate } from './capacity/min-rate.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { ServerLimits } from './limits.ts';
import type { Accounting } from './request/accounting.ts';
import type { Lookup, Metrics } from './request/metrics.ts';

export interface ServerContext {
  /** The whole store. A protocol uses the store of its request, which the request's identity bounds. */
  readonly wholeStore: Store;
  /** Undefined if the store has no folder. */
  readonly writeLog: WriteLog | undefined;
  readonly access: AccessControl;
  /** Undefined if the server exchanges no tokens. */
  readonly tokenExchange: TokenExchange | undefined;
  readonly browserSessions: BrowserSessions;
  readonly signatures: SignatureCheck;
  readonly checkHost: HostCheck;
  readonly checkOrigin: OriginCheck;
  readonly readOnly: boolean;
  /** A wing takes reports of runs. */
  readonly takesReports: boolean;
  readonly limits: ServerLimits;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly accounting: Accounting;
  readonly clock: Clock;
  readonly minRate: MinRate;
  readonly capacity: Capacity;
  readonly lifecycle: Lifecycle;
  readonly info: ServerInfo;
}

/** One request: an HTTP exchange or a gRPC call. */
export interface RequestContext {
  readonly server: ServerContext;
  /** The store as the identity of the request sees it. */
  readonly store: ScopedStore;
  /** Counts a lookup of a result. `protocol` names the tool if the tool does not name itself. */
  lookedUp(kind: Lookup, protocol: string, found: boolean, address: ResultAddress): void;
  /** Counts a hit, unless the client soon asks for another result of the action (request/predictions.ts). */
  predicted(action: ResultAddress): void;
  /** The client could not use the prediction for this action. False if that is counted as a hit already. */
  dropPrediction(action: ResultAddress): boolean;
}

interface ServerInfo {
  readonly storeFolder: string | undefined;
  /** The server listens on a loopback address. */
  readonly isLocal: boolean;
  readonly startedAt: number;
  /** Undefined if the store has no limit. */
  readonly space: { used(): number; readonly limit: number } | undefined;
  /** Of the whole store: of a fleet, in PostgreSQL. Infinite without one. */
  indexLimit(): number;
  /** Namespaces with a quota or a floor. */
  readonly accounts: readonly AccountUse[];
}

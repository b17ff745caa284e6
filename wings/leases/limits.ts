// Every limit of action leases at a server. Their times are in store/limits.ts.
import { MINUTE, SECOND } from '../../core/units.ts';

export const LEASES = {
  /** How many leases a token may have: those that it holds, and those that ended within recentMs. */
  perToken: 10_000,
  recentMs: 10 * MINUTE,
  /** Tokens whose leases are counted. */
  maxTokens: 10_000,
  /** Requests that wait for one lease. */
  waitersPerLease: 1000,
  /** Requests that wait: of 32 runs with as many waits as one has. A server with few connections takes fewer. */
  openPolls: 2048,
  openPollsShare: 0.5,
  /** When a wait that found no room, or was given up, may be asked for again. */
  retryMs: 2 * SECOND,
  /** How often a server looks whether a lease has ended at another one. */
  lookMs: 250,
  /** How often leases that ended long ago are forgotten, and how many at once. */
  forgetMs: 5 * MINUTE,
  forgottenAtOnce: 1000,
  /** Names of holders, and what they say at the end of a lease. */
  maxHolder: 100,
  maxDetail: 200,
} as const;

// Every limit of a run that asks for action leases.
import { MINUTE, SECOND } from '../../../core/units.ts';

export const RUNNER = {
  /** A run asks a server that does not answer in this time no more. */
  answerMs: 2 * SECOND,
  /** It asks one that has answered before again for so long, and so often. */
  busyMs: 4 * SECOND,
  /** For the lease of a long action it waits for this share of the known duration, up to so long. */
  patienceShare: 0.1,
  maxPatienceMs: 10 * SECOND,
  /** The pause before it asks again grows to maxAgainMs while no answer comes, and is random: many runs ask at once. */
  againMs: 500,
  maxAgainMs: 4 * SECOND,
  /** The time in which a run's thread has no processor counts for none of these, up to so much. */
  starvedMs: 20 * SECOND,
  patienceTickMs: 50,
  /** A run waits this long for its releases at its end. */
  releaseMs: 1 * SECOND,
  /** How often a release is sent that gets no answer, and the first pause between: all of them take as long as a lease without heartbeats. */
  releases: 7,
  releaseAgainMs: 100,
  /** How long after the end of a run's patience an answer to its wait may come. */
  lateMs: 300,
  /** How much longer than the own known duration a run waits at most. */
  graceMs: 1.5 * SECOND,
  /** How much longer than it is expected a holder may take: this share of the known duration, but at least this. */
  marginShare: 0.25,
  marginMs: 2 * SECOND,
  /** How many holders one after another a run waits for. */
  holders: 5,
  /** How many steps of a run ask at the same time how a holder ends: each of them is a request that is open. */
  waits: 64,
  /** How many more of them queue for that, and the longest time after which one queues again. Without room a step runs. */
  queuedWaits: 1000,
  queueMs: 60 * MINUTE,
  /** The longest name of a holder. A server takes no longer one. */
  maxHolder: 100,
  /** A waiter looks this often whether its own run was cancelled. */
  cancelMs: 200,
  /** A waiter looks this often whether a run on this machine has ended. */
  localPollMs: 100,
  /** A run sends heartbeats no more often, whatever its server asks for. */
  leastBeatMs: 250,
  /** The holder of a local lease touches it this often. It ends if that stops, where the holder can't be seen. */
  localBeatMs: 5 * SECOND,
  localStaleMs: 15 * SECOND,
  /** How long it stays known that a run on this machine failed. */
  localEndsMs: 24 * 60 * MINUTE,
} as const;

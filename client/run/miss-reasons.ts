// Collects the reasons of a miss from the events of a run: why a found result was refused, why the results of
// the remote are for other facts, why the new one was not published. The history keeps the last for the next
// miss.
import type { FactDifference } from '../path-sets/difference.ts';
import type { RunContext } from './context.ts';

export class MissReasons {
  /** Why a found result was not used. */
  refusal: string | undefined;
  /** Which fact of the remote's results differs here. */
  factsDiffer: (() => FactDifference | undefined) | undefined;
  /** The EarlierAction of the step, as the remote sent it. */
  earlier: Uint8Array | undefined;
  notKept: string | undefined;

  /** The same context; its events pass through here. */
  within<T extends RunContext>(context: T): T {
    const { report } = context;
    return {
      ...context,
      onFactsDiffer: (why) => {
        this.factsDiffer = why;
      },
      onEarlier: (message) => {
        this.earlier = message;
      },
      onRefused: (why) => {
        this.refusal ??= why;
      },
      report: (event) => {
        if (event.type === 'hit-refused' || event.type === 'hit-unusable') this.refusal = event.why;
        else if (event.type === 'not-published') this.notKept = event.why;
        report(event);
      },
    };
  }
}

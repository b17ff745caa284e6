// Collects the reasons of a miss from the events of a run: why a found result was refused, why the results of
// the remote are for other facts, why the new one was not published. The history keeps the last for the next
// miss.
import type { Earlier } from '../../store/actions/outline.ts';
import { earlierIn } from '../history/earlier.ts';
import type { FactDifference } from '../path-sets/difference.ts';
import type { RunContext } from './context.ts';

export class MissReasons {
  /** Why a found result was not used. */
  refusal: string | undefined;
  /** Which fact of the remote's results differs here. */
  factsDiffer: (() => FactDifference | undefined) | undefined;
  notKept: string | undefined;
  /** The EarlierAction of the step, as the remote sent it, until somebody reads it. */
  #sent: Uint8Array | undefined;
  #earlier: Earlier | undefined;

  /** The earlier action of the step, as the remote told it. */
  get earlier(): Earlier | undefined {
    if (this.#sent) this.#earlier = earlierIn(this.#sent);
    this.#sent = undefined;
    return this.#earlier;
  }

  /** The same context; its events pass through here. */
  within<T extends RunContext>(context: T): T {
    const { report } = context;
    return {
      ...context,
      onFactsDiffer: (why) => {
        this.factsDiffer = why;
      },
      onEarlier: (message) => {
        this.#sent = message;
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

// Collects the reasons of a miss from the events of a run: why a found result was refused, why the new one
// was not published. The history keeps the second for the next miss.
import type { RunContext } from './context.ts';

export class MissReasons {
  /** Why a found result was not used. */
  refusal: string | undefined;
  notKept: string | undefined;

  /** The same context; its events pass through here. */
  within<T extends RunContext>(context: T): T {
    const { report } = context;
    return {
      ...context,
      report: (event) => {
        if (event.type === 'hit-refused' || event.type === 'hit-unusable') this.refusal = event.why;
        else if (event.type === 'not-published') this.notKept = event.why;
        report(event);
      },
    };
  }
}

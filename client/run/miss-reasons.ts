// What a run reports that explains a miss, now or the next time: why a result that was found is not taken, and why the one that
// was made is not kept.
import type { RunContext } from './context.ts';

export class MissReasons {
  /** Why a stored result is not used, if one was found. */
  refusal: string | undefined;
  notKept: string | undefined;

  /** The same context, heard. */
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

// In place of server/request/accounting.ts: an Accounting that counts nothing while it is switched off.
import type { Identity } from '../../server/access/identity.ts';
import { Accounting as Counting, type LookedUp } from '../../server/request/accounting.ts';
import type { Lookup } from '../../server/request/metrics.ts';
import type { LogEntry } from '../../store/log/write-log.ts';
import { OFF, ON } from './switch.ts';

let isOn = true;
process.on(OFF, () => {
  isOn = false;
});
process.on(ON, () => {
  isOn = true;
});

export class Accounting extends Counting {
  override answered(identity: Identity | undefined, isError: boolean, milliseconds: number): void {
    if (isOn) super.answered(identity, isError, milliseconds);
  }

  override lookedUp(kind: Lookup, lookup: LookedUp): void {
    if (isOn) super.lookedUp(kind, lookup);
  }

  override wrote(entry: LogEntry): void {
    if (isOn) super.wrote(entry);
  }
}

// In place of server/activity/activity.ts: an Activity that counts nothing while it is switched off.
import type { Identity } from '../../server/access/identity.ts';
import { Activity as Counting, type LookedUp } from '../../server/activity/activity.ts';
import type { LogEntry } from '../../store/log/write-log.ts';
import { OFF, ON } from './switch.ts';

let isOn = true;
process.on(OFF, () => {
  isOn = false;
});
process.on(ON, () => {
  isOn = true;
});

export class Activity extends Counting {
  override answered(identity: Identity | undefined, isError: boolean, milliseconds: number): void {
    if (isOn) super.answered(identity, isError, milliseconds);
  }

  override lookedUp(lookup: LookedUp): void {
    if (isOn) super.lookedUp(lookup);
  }

  override wrote(entry: LogEntry): void {
    if (isOn) super.wrote(entry);
  }
}

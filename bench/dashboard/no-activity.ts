// In place of server/activity/activity.ts: an Activity that counts nothing.
import type { Activity as Counting } from '../../server/activity/activity.ts';

export class Activity implements Omit<Counting, 'figures' | 'tail' | 'process'> {
  start(): void {}
  answered(): void {}
  lookedUp(): void {}
  predicted(): void {}
  dropPrediction(): boolean {
    return false;
  }
  wrote(): void {}
  denied(): void {}
  toldSession(): void {}
  ran(): void {}
  countBytes(): void {}
  async flush(): Promise<void> {}
  async close(): Promise<void> {}
}

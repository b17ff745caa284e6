// What became of action leases, as figures of a namespace: they survive a restart, and are on the page Now.
import { expect, test } from 'vitest';
import { DEFAULT_NAMESPACE } from '../../../../core/namespace.ts';
import { MINUTE } from '../../../../core/units.ts';
import { Accounting } from '../../../../server/request/accounting.ts';
import { memoryHistory } from '../../../../test/rig/stores/memory/history.ts';
import { identity } from '../../../../test/server/access/identities.ts';
import { Activity } from '../../activity/activity.ts';
import { totalsOf } from '../../overview/figures.ts';
import { nowPage } from '../../pages/now.ts';
import { NOW } from '../pages/fixtures.ts';

test('leases are counted in the namespace of their token, and added up after a restart', async () => {
  const history = memoryHistory();
  const who = identity('main', { namespace: 'acme/main', rights: 'read-write' });
  const at = Date.now();
  for (let restarts = 0; restarts < 2; restarts++) {
    const onTrouble = (error: unknown) => expect.fail(String(error));
    const metrics = { lookedUp: () => {}, lookedUpBy: () => {}, denied: () => {} };
    const accounting = new Accounting({ metrics, onTrouble });
    const count = () => accounting.count();
    const activity = new Activity({
      ...{ history, count, onTrouble, flushMs: MINUTE },
      bytes: () => ({ received: 0, sent: 0 }),
    });
    accounting.addObserver(activity);
    accounting.leased(who, { what: 'granted', savedMs: 0 });
    accounting.leased(who, { what: 'waited', savedMs: 9000 });
    accounting.leased(who, { what: 'hedged', savedMs: 0 });
    if (restarts === 0) {
      await activity.close();
      continue;
    }
    const span = { from: at - MINUTE, to: at + 2 * MINUTE, stepMs: MINUTE };
    const totals = totalsOf(await activity.figures.read(history, [who.namespace], span), false);
    expect(totals.leases).toEqual({ granted: 2, waited: 2, hedged: 2, expired: 0, savedMs: 18_000 });
    const others = await activity.figures.read(history, [DEFAULT_NAMESPACE], span);
    expect(totalsOf(others, false)).not.toHaveProperty('leases');
  }
});

test('the page Now says how often an action was not run twice, once there are leases', () => {
  expect(nowPage(NOW).text).toContain('Not run twice today');
  const { leases: _, ...today } = NOW.today;
  expect(nowPage({ ...NOW, today }).text).not.toContain('Not run twice');
});

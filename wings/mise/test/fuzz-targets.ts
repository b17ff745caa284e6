// Valid requests of mise's protocol. test/attack/http-fuzz.test.ts bends and sends them.
import { type FuzzTarget, request } from '../../../test/attack/fuzz/request.ts';
import type { Random } from '../../../test/rig/random.ts';
import { aBuild, blob, pathOf } from './rig.ts';

const BASE = '/mise/v1';
const NAMESPACE = { 'mise-cache-namespace': 'team' };
const CREATE = { ...NAMESPACE, 'if-none-match': '*' };

const builds = await Promise.all([aBuild(), aBuild({ task: 'test', output: 'tested\n' })]);
const large = await Promise.all([1000, 70_000].map((size) => blob(Buffer.alloc(size, 7))));

export function fuzzTargets(random: Random): FuzzTarget[] {
  const object = (): (typeof large)[number] =>
    random.pick([...builds.flatMap(({ objects }) => objects), ...large]);
  return [
    {
      name: 'mise',
      next() {
        const { digest, bytes } = object();
        const { action, commit } = random.pick(builds);
        return random.pick([
          request('PUT', `${BASE}${pathOf('blobs', digest)}`, bytes, CREATE),
          request('PUT', `${BASE}${pathOf('blobs', digest)}`, bytes, CREATE),
          request('GET', `${BASE}${pathOf('blobs', digest)}`, '', NAMESPACE),
          request('POST', `${BASE}/blobs:missing`, JSON.stringify({ digests: [digest] }), NAMESPACE),
          request('PUT', `${BASE}${pathOf('action-results', action.digest)}`, commit, CREATE),
          request('GET', `${BASE}${pathOf('action-results', action.digest)}`, '', NAMESPACE),
          request('GET', `${BASE}/capabilities`, '', NAMESPACE),
        ]);
      },
    },
  ];
}

// The rules of history.ts find what they are for.
import { expect, it } from 'vitest';
import { addressOf } from '../../../../test/store/content.ts';
import { type Event, violationsOf } from './history.ts';
import type { Answer, Operation } from './operations.ts';

const LEASE_MS = 1000;
const blob = { seed: 1, size: 10 };
const other = { seed: 2, size: 10 };
const put: [Operation, Answer] = [{ kind: 'put', blob }, { kind: 'done' }];
const miss: [Operation, Answer] = [{ kind: 'get', blob }, { kind: 'miss' }];
const stored = (which: typeof blob): [Operation, Answer] => [
  { kind: 'put-result', key: 'k', blobs: [which] },
  { kind: 'outcome', outcome: 'stored' },
];

const putLabel = (key: string): [Operation, Answer] => [
  { kind: 'put-label', label: 'l', key },
  { kind: 'outcome', outcome: 'stored' },
];
const label = (key: string): [Operation, Answer] => [
  { kind: 'get-label', label: 'l' },
  { kind: 'label', key: addressOf(key).key },
];
const noLabel: [Operation, Answer] = [{ kind: 'get-label', label: 'l' }, { kind: 'miss' }];

/** Each operation takes 10 ms. */
function at(start: number, [operation, answer]: [Operation, Answer], wasLiedTo = false): Event {
  return { operation, answer, start, end: start + 10, node: 0, wasLiedTo };
}

const error = (code: string): Answer => ({ kind: 'error', code, message: '' });

it.each<[string, Event[]]>([
  [
    'wrong bytes',
    [
      at(0, put),
      at(20, [
        { kind: 'get', blob },
        { kind: 'hit', isRight: false },
      ]),
    ],
  ],
  ['unexpected', [at(0, [{ kind: 'get', blob }, error('ASSAY_BLOB_CORRUPT')])]],
  [
    'present without a put',
    [
      at(0, [
        { kind: 'missing', blobs: [blob] },
        { kind: 'missing', absent: [] },
      ]),
    ],
  ],
  [
    'a result that nobody put',
    [
      at(0, [
        { kind: 'get-result', key: 'k' },
        { kind: 'result', body: 'x' },
      ]),
    ],
  ],
  ['lost within its lease', [at(0, put), at(900, miss)]],
  ['lost within its lease', [at(0, put), at(20, [{ kind: 'get', blob }, error('ASSAY_NOT_FOUND')])]],
  [
    'lost within its lease',
    [
      at(0, put),
      at(20, [
        { kind: 'missing', blobs: [blob] },
        { kind: 'missing', absent: [0] },
      ]),
    ],
  ],
  [
    'lost within its lease',
    [at(0, stored(blob)), at(20, [{ kind: 'get-result', key: 'k' }, { kind: 'miss' }])],
  ],
  [
    'refused although every blob is leased',
    [at(0, put), at(20, [{ kind: 'put-result', key: 'k', blobs: [blob] }, error('ASSAY_RESULT_INCOMPLETE')])],
  ],
  ['a label that nobody put', [at(0, label('k'))]],
  ['a label has moved', [at(0, putLabel('k')), at(20, label('k')), at(40, putLabel('other'))]],
  ['a label has moved', [at(0, stored(blob)), at(20, putLabel('k')), at(40, noLabel)]],
  [
    'a label has moved',
    [at(0, putLabel('k')), at(0, putLabel('other')), at(20, label('k')), at(40, label('other'))],
  ],
  [
    'lost within its lease',
    [at(0, putLabel('k')), at(20, label('k')), at(40, [{ kind: 'get-result', key: 'k' }, { kind: 'miss' }])],
  ],
  ['two bodies', [at(0, stored(blob)), at(20, stored(other))]],
])('finds «%s»', (found, events) => {
  expect(violationsOf(events, LEASE_MS)).toEqual([expect.stringContaining(found)]);
});

it('finds nothing in what a correct fleet may answer', () => {
  const events = [
    at(0, put),
    // Before the put was answered, and after the lease.
    at(5, miss),
    at(1500, miss),
    at(20, [{ kind: 'get', blob }, error('ASSAY_BUCKET_AWAY')]),
    at(20, [{ kind: 'get', blob }, error('ASSAY_NOT_FOUND')], true),
    at(20, [{ kind: 'get', blob }, { kind: 'killed' }]),
    at(20, [{ kind: 'put-result', key: 'k', blobs: [blob, other] }, error('ASSAY_RESULT_INCOMPLETE')]),
    at(30, stored(blob)),
    at(1500, stored(other)),
    // Its result may be none yet, or no longer. Then another key may take it.
    at(40, putLabel('absent')),
    at(60, noLabel),
    at(60, putLabel('k')),
    at(80, label('k')),
    at(1500, putLabel('absent')),
  ];
  expect(violationsOf(events, LEASE_MS)).toEqual([]);
});

it('allows a put to take a label only if the result was missing for a moment of it', () => {
  const putAt = (start: number, end: number): Event => ({ ...at(start, putLabel('other')), end });
  const events = [at(0, putLabel('k')), at(20, label('k')), at(60, label('other'))];
  expect(violationsOf([...events, putAt(15, 50)], LEASE_MS)).toEqual([]);
  expect(violationsOf([...events, putAt(31, 50)], LEASE_MS)).toHaveLength(2);
  // With a result that has its lease from before the put until after it.
  const present = [at(0, stored(blob)), ...events];
  expect(violationsOf([...present, putAt(15, 50)], LEASE_MS)).toEqual([
    expect.stringContaining('a label has moved'),
  ]);
});

it('finds two puts that take one label at the same time', () => {
  const both = [
    at(0, stored(blob)),
    at(20, putLabel('k')),
    at(25, putLabel('other')),
    at(40, label('other')),
  ];
  expect(violationsOf(both, LEASE_MS)).toEqual([expect.stringContaining('a label has moved')]);
});

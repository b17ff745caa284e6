// --quota and --floor: what is refused, and which accounts a server has.
import { describe, expect, test } from 'vitest';
import { parseNamespace } from '../../../core/namespace.ts';
import { accountsOf, parseSizes, refuseFloors } from '../../../server/config/accounts.ts';
import { parseConfig } from '../../../server/config/file.ts';

const NONE = new Map();

describe('a size by namespace', () => {
  const cases: [string, RegExp][] = [
    ['10GB', /--quota takes NAMESPACE=SIZE, such as acme\/pr=20GB, not "10GB"/],
    ['=10GB', /--quota takes NAMESPACE=SIZE/],
    ['acme=', /--quota takes a size/],
    ['acme=0', /--quota takes a size/],
    ['acme=101%', /--quota takes a size/],
    ['acme=-1', /--quota takes a size/],
    ['a b=1GB', /ASSAY_BAD_NAMESPACE/],
    ['../x=1GB', /ASSAY_BAD_NAMESPACE/],
    ['~turbo/acme=1GB', /ASSAY_BAD_NAMESPACE/],
  ];
  for (const [text, message] of cases)
    test(`${text} is refused`, () => {
      expect(() => parseSizes('--quota', [text])).toThrow(message);
    });

  test('may be given for several namespaces, and once for each', () => {
    expect([...parseSizes('--quota', ['acme=1GB', 'acme/pr=25%'])]).toEqual([
      ['acme', { bytes: 1e9 }],
      ['acme/pr', { share: 0.25 }],
    ]);
    expect(() => parseSizes('--quota', ['acme=1GB', 'acme=2GB'])).toThrow(/is given twice for acme/);
  });

  test('a wrong one in the file has its place', () => {
    expect(() => parseConfig('f', '{ "store": { "quotas": { "acme": "x" } } }')).toThrow(
      /f:1:34: this field takes a size/,
    );
  });
});

describe('pull requests', () => {
  const places = ['acme/app/pr', 'globex/lib/pr'].map(parseNamespace);

  test('of all rules have a quarter together', () => {
    expect(accountsOf({ quotas: NONE, floors: NONE }, places)).toEqual([
      { name: 'pull requests', namespaces: ['acme/app/pr', 'globex/lib/pr'], quota: { share: 0.25 } },
    ]);
  });

  test('a place with a quota of its own is left out; one with a quota above it is not', () => {
    const quotas = parseSizes('--quota', ['acme/app/pr=100%', 'globex=10%']);
    expect(accountsOf({ quotas, floors: NONE }, places)).toEqual([
      { name: 'acme/app/pr', namespaces: ['acme/app/pr'], quota: { share: 1 } },
      { name: 'globex', namespaces: ['globex'], quota: { share: 0.1 } },
      { name: 'pull requests', namespaces: ['globex/lib/pr'], quota: { share: 0.25 } },
    ]);
  });
});

describe('floors', () => {
  const accounts = (floors: string[], quotas: string[] = []) =>
    accountsOf({ quotas: parseSizes('--quota', quotas), floors: parseSizes('--floor', floors) }, []);

  test('above the size of the store are refused', () => {
    expect(() => refuseFloors(accounts(['a=60%', 'b=50%']), 1000)).toThrow(
      /the floors are 1100 bytes together, and the limit of the store is 1000/,
    );
    expect(() => refuseFloors(accounts(['a=600B', 'b=401B']), 1000)).toThrow(/1001 bytes/);
    refuseFloors(accounts(['a=60%', 'b=40%']), 1000);
  });

  test('one inside another counts once, by the larger sum', () => {
    refuseFloors(accounts(['a=60%', 'a/x=30%', 'a/y=30%', 'b=40%']), 1000);
    expect(() => refuseFloors(accounts(['a=60%', 'a/x=40%', 'a/y=40%', 'b=40%']), 1000)).toThrow(/1200/);
  });

  test('of a fleet leave eviction its target beside them', () => {
    const most = { bytes: 900, name: '90 % of --max-size' };
    expect(() => refuseFloors(accounts(['a=91%']), 1000, most)).toThrow(
      /the floors are 910 bytes together, and 90 % of --max-size is 900/,
    );
    refuseFloors(accounts(['a=90%']), 1000, most);
  });

  test('above the quota of the same namespace are refused', () => {
    expect(() => refuseFloors(accounts(['a=60%'], ['a=50%']), 1000)).toThrow(/the floor of a is larger/);
  });
});

// The protocols that are GET, HEAD and PUT of a key, one row each. The contract, the fuzzer and the tests that kill a
// server ask them by this table.
import type { OpaqueProtocol } from './contract.ts';

export interface PlainProtocol extends OpaqueProtocol {
  /** The paths of a key of 64 hex digits; the first one is the usual one. */
  pathsOf(key: string): readonly [string, ...string[]];
}

const HEX = '0123456789abcdef';

export const PLAIN: readonly PlainProtocol[] = [
  {
    name: 'gradle',
    pathsOf: (key) => [`/gradle/team/${key.slice(0, 32)}`],
    path: `/gradle/team/${HEX}${HEX}`,
    elsewhere: `/gradle/${HEX}${HEX}`,
    other: `/gradle/team/${HEX}${HEX.replace('0', '1')}`,
    astray: ['/gradle/', `/gradle/${HEX}`, `/gradle/team//${HEX}${HEX}`, '/gradle/team/%2e'],
    stored: 200,
    second: { status: 200, stays: 'first' },
    denied: 202,
  },
  {
    name: 'ccache',
    pathsOf: (key) => [
      `/ccache/team/${key.slice(0, 2)}/${key.slice(2, 34)}`,
      `/ccache/team/${key.slice(0, 32)}`,
      `/ccache/team/ac/${key}`,
    ],
    path: '/ccache/team/75/9bfs0123456789abcdefghijklmnopqr',
    elsewhere: '/ccache/75/9bfs0123456789abcdefghijklmnopqr',
    other: '/ccache/team/76/9bfs0123456789abcdefghijklmnopqr',
    astray: [
      '/ccache/',
      '/ccache/75/',
      '/ccache/ac/75',
      '/ccache/75/UPPER89abcdefghijklmnopqr',
      `/ccache/a b/75/${HEX}`,
    ],
    stored: 200,
    second: { status: 200, stays: 'second' },
  },
  {
    name: 'rush',
    pathsOf: (key) => [`/rush/team/pkg-build-${key.slice(0, 40)}`],
    path: `/rush/team/my-package-_phase_build-${HEX}`,
    elsewhere: `/rush/my-package-_phase_build-${HEX}`,
    other: `/rush/team/my-package-_phase_test-${HEX}`,
    astray: ['/rush/', '/rush/a%20b', '/rush/a//b'],
    stored: 200,
    second: { status: 200, stays: 'first' },
    denied: 202,
  },
  {
    name: 'nx',
    pathsOf: (key) => [`/nx/team/v1/cache/${key}`, `/v1/cache/${key.slice(0, 20)}`],
    path: '/v1/cache/12345678901234567890',
    elsewhere: '/nx/team/v1/cache/12345678901234567890',
    other: '/v1/cache/1',
    astray: [
      '/nx/12345678901234567890',
      '/v1/cache/',
      '/v1/cache/a/b',
      '/nx/a//v1/cache/1',
      '/v1/cache/a%2fb',
    ],
    stored: 200,
    second: { status: 409, stays: 'first' },
  },
];

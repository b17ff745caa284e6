// `assay run` with tokens that are bound to namespaces and rights, over HTTP and over gRPC.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MINUTES, workshop } from './rig.ts';
import { checkScopedBuilds, MAKE } from './scoped-builds.ts';

test.each([
  ['http', false],
  ['grpc', true],
])(
  'assay run over %s with tokens of main, of a pull request and of a reader',
  {
    timeout: 4 * MINUTES,
  },
  async (scheme, asksFirst) => {
    const shop = workshop();
    await checkScopedBuilds(shop, {
      async build(words, url, { token }) {
        shop.write('words.txt', words);
        for (const old of [join(shop.folder, 'local'), join(shop.workspace, 'out')])
          rmSync(old, { recursive: true, force: true });
        const env = {
          ASSAY_STORE: join(shop.folder, 'local'),
          ASSAY_REMOTE: `${url.replace('http', scheme)}/team`,
          ASSAY_TOKEN: token,
        };
        const command = ['--', 'sh', '-c', `mkdir -p out; tr a-z A-Z < words.txt > out/shouted; ${MAKE}`];
        const flags = ['--input', 'words.txt', '--output', 'out', '--keep-unproven=shared', '-v'];
        const ran = await shop.assay(['run', ...flags, ...command], { env });
        expect(ran.code, ran.stderr).toBe(0);
        return { said: ran.stderr, made: readFileSync(join(shop.workspace, 'out/made'), 'utf8') };
      },
      hit: /assay: hit/,
      denied: /the remote takes no results, they stay in the local store: .* ASSAY_TOKEN may not write/,
      revoked: undefined,
      asksFirst,
    });
  },
);

// curl signs its requests for S3 with the pair of keys of a short token, as sccache does.
import { randomUUID } from 'node:crypto';
import { test } from 'vitest';
import { debianTool, MINUTES, run, workshop } from './rig.ts';
import { checkScopedBuilds } from './scoped-builds.ts';

test('curl with S3 keys of main, of a pull request and of a reader', { timeout: 2 * MINUTES }, async () => {
  const shop = workshop();
  await checkScopedBuilds(shop, {
    async build(words, url, { accessKey, secretKey }) {
      const keys = ['--aws-sigv4', 'aws:amz:auto:s3', '--user', `${accessKey}:${secretKey}`];
      const signed = [...keys, '--header', 'x-amz-content-sha256: UNSIGNED-PAYLOAD'];
      const object = `${url}/s3/team/${words.replaceAll(' ', '-')}`;
      const curl = (...args: readonly string[]) =>
        run([debianTool('curl'), '--silent', ...signed, ...args, object], {
          cwd: shop.workspace,
          home: shop.folder,
        });
      const got = await curl('--fail').catch(() => undefined);
      if (got !== undefined) return { said: 'downloaded', made: got };
      const made = randomUUID();
      const said = await curl('--upload-file', shop.write('object', made), '--header', 'Expect:');
      return { said, made };
    },
    hit: /^downloaded$/,
    denied: /<Code>AccessDenied<.*ASSAY_FORBIDDEN/s,
    revoked: undefined,
  });
});

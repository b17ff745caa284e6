// A client of mise's protocol, whose server test/crash/adapter-kill.test.ts kills.
import type { Ask, ProtocolClient } from '../../../test/crash/protocol-clients.ts';
import { blob, commitOf, folder, json, pathOf, type SentObject } from './rig.ts';

const BASE = '/mise/v1';
const NAMESPACE = { 'mise-cache-namespace': 'team' };
const CREATE = { ...NAMESPACE, 'if-none-match': '*' };

const metadata = await json({ version: 1, kind: 'task', roots: ['dist'] });

const actionOf = (key: string): Promise<SentObject> => json({ version: 1, kind: 'task', task: key });

export function protocolClient(ask: Ask): ProtocolClient {
  return {
    name: 'mise',
    async upload(key, content) {
      const [action, file] = [await actionOf(key), await blob(content)];
      const files = [{ name: 'out', digest: file.digest, executable: false, mode: 0o644 }];
      const root = await folder({ files });
      for (const { digest, bytes } of [action, metadata, root, file]) {
        const { status } = await ask('PUT', `${BASE}${pathOf('blobs', digest)}`, bytes, CREATE);
        if (status >= 300) return false;
      }
      const path = `${BASE}${pathOf('action-results', action.digest)}`;
      return (await ask('PUT', path, commitOf(action, metadata, root), CREATE)).status < 300;
    },
    /** Each object on the way must be there when the result is. */
    async find(key) {
      const get = async (path: string) => {
        const { status, body } = await ask('GET', `${BASE}${path}`, null, NAMESPACE);
        if (status !== 200 && status !== 404) throw new Error(`${path}: ${status}`);
        return status === 200 ? body : undefined;
      };
      const result = await get(pathOf('action-results', (await actionOf(key)).digest));
      if (!result) return undefined;
      const root = await get(pathOf('blobs', JSON.parse(result.toString()).output_root));
      const file = root && (await get(pathOf('blobs', JSON.parse(root.toString()).files[0].digest)));
      if (!file) throw new Error(`${key} was found, and what it leads to was not`);
      return file;
    },
  };
}

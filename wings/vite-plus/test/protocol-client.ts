// A client of Vite+'s protocol, whose server test/crash/adapter-kill.test.ts kills.
import type { Ask, ProtocolClient } from '../../../test/crash/protocol-clients.ts';
import { entryForm, FORM, question, told } from './rig.ts';

const BASE = '/vite-plus/team';

export function protocolClient(ask: Ask): ProtocolClient {
  return {
    name: 'vite-plus',
    async upload(key, content) {
      const entry = { key, task: key, value: content.subarray(0, 100), blob: content };
      return (await ask('POST', `${BASE}/store`, entryForm(entry), FORM)).status === 200;
    },
    async find(key, content) {
      const { status, body } = await ask('POST', `${BASE}/fetch`, question(key, key));
      if (status === 404) return undefined;
      if (status !== 200) throw new Error(`fetch of ${key}: ${status}`);
      const { value, blobId } = told(body);
      if (!value.equals(content.subarray(0, 100))) throw new Error(`${key} has another value`);
      const blob = await ask('GET', `${BASE}/blob/${blobId}`);
      if (blob.status !== 200) throw new Error(`${key} was found, and its blob answers ${blob.status}`);
      return blob.body;
    },
  };
}

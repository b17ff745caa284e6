// Which tool sends a request: what it says of itself, or its protocol.
import { expect, test } from 'vitest';
import { Callers } from '../../../server/request/caller.ts';
import { METADATA, metadataOf } from './metadata.ts';

test.each([
  [{ 'user-agent': 'Bazel/8.0 (linux)' }, { tool: 'bazel' }],
  [{ 'user-agent': 'sccache 0.8' }, { tool: 'sccache' }],
  [{ 'user-agent': 'Mozilla/5.0' }, { tool: 'http' }],
  [{}, { tool: 'http' }],
  [{ [METADATA]: metadataOf('bazel', 'i-1') }, { tool: 'bazel', version: '8.0.0', invocation: 'i-1' }],
  [{ [METADATA]: metadataOf('made-up', '') }, { tool: 'http', version: '8.0.0' }],
  [{ [METADATA]: '!!!' }, { tool: 'http' }],
  [{ [METADATA]: Buffer.from('0a8080808001', 'hex').toString('base64') }, { tool: 'http' }],
])('the caller of %j is %j', (headers, expected) => {
  const callers = new Callers();
  const caller = callers.of(headers, 'http');
  expect({ ...caller }).toMatchObject({ version: undefined, invocation: undefined, ...expected });
  expect(callers.of({ ...headers }, 'http')).toBe(caller);
  expect(callers.of(headers, 'grpc').tool).toBe(expected.tool === 'http' ? 'grpc' : expected.tool);
});

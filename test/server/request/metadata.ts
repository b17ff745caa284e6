// The metadata that Bazel and other clients of the Remote Execution API send with each request.
import { RequestMetadata } from '../../../core/proto/generated/reapi-services.ts';

export const METADATA = 'build.bazel.remote.execution.v2.requestmetadata-bin';

export function metadataOf(toolName: string, toolInvocationId: string): string {
  const message = RequestMetadata.encode({
    toolDetails: { toolName, toolVersion: '8.0.0' },
    actionId: 'a'.repeat(64),
    toolInvocationId,
    correlatedInvocationsId: 'c'.repeat(200),
    actionMnemonic: 'CppCompile',
    targetId: '//a:b',
    configurationId: '',
  });
  return Buffer.from(message.finish()).toString('base64');
}

// The origin of a call: its RequestMetadata (tool, invocation, target, mnemonic). That of the call which
// stored a result is added to the result's auxiliary_metadata (docs/decisions/0051).
import { encodeField, replaceFields } from '../../../core/edit-message.ts';
import { decodeStrict } from '../../../core/message.ts';
import { Any } from '../../../core/proto/generated/google/protobuf/any.ts';
import type { ActionResult } from '../../../core/proto/generated/reapi.ts';
import { RequestMetadata } from '../../../core/proto/generated/reapi-services.ts';
import { REQUEST_METADATA } from '../../../core/request-shapes.ts';
import type { Call } from '../../grpc/call.ts';

const HEADER = 'build.bazel.remote.execution.v2.requestmetadata-bin';
const TYPE_URL = 'type.googleapis.com/build.bazel.remote.execution.v2.RequestMetadata';

/** The field numbers of ActionResult.execution_metadata and ExecutedActionMetadata.auxiliary_metadata. */
const METADATA_FIELD = 9;
const AUXILIARY_FIELD = 11;

/** Adds the call's origin to the result. A result that already has an origin keeps it. */
export function withOrigin(call: Call, bytes: Uint8Array, result: ActionResult): Uint8Array {
  const origin = metadataOf(call)?.bytes;
  const metadata = result.executionMetadata;
  if (!origin || metadata?.auxiliaryMetadata.some(({ typeUrl }) => typeUrl === TYPE_URL)) return bytes;
  const note = encodeField(AUXILIARY_FIELD, Any.encode({ typeUrl: TYPE_URL, value: origin }).finish());
  return metadata
    ? replaceFields(bytes, METADATA_FIELD, (content) => Buffer.concat([content, note]))
    : Buffer.concat([bytes, encodeField(METADATA_FIELD, note)]);
}

/** The client's name and version, as it gives them. */
export function toolOf(call: Call): { readonly name: string; readonly version: string } {
  const { toolName = '', toolVersion = '' } = metadataOf(call)?.metadata.toolDetails ?? {};
  return { name: toolName, version: toolVersion };
}

/** A malformed header is ignored. */
function metadataOf({ headers }: Call): { bytes: Buffer; metadata: RequestMetadata } | undefined {
  const header = headers[HEADER];
  if (typeof header !== 'string') return undefined;
  const bytes = Buffer.from(header, 'base64');
  try {
    const metadata = decodeStrict(RequestMetadata, REQUEST_METADATA, bytes, 'no RequestMetadata');
    return { bytes, metadata };
  } catch {
    return undefined;
  }
}

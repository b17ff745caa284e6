// The origin of a call: its RequestMetadata (tool, invocation, target, mnemonic). That of the call which
// stored a result is added to the result's auxiliary_metadata (docs/decisions/0051).
import { encodeField, replaceFields } from '../../../core/edit-message.ts';
import { AssayError } from '../../../core/errors.ts';
import { decodeStrict, rawMessages } from '../../../core/message.ts';
import { Any } from '../../../core/proto/generated/google/protobuf/any.ts';
import { RequestMetadata } from '../../../core/proto/generated/reapi-services.ts';
import { REQUEST_METADATA } from '../../../core/proto/request-shapes.ts';
import type { Call } from '../../grpc/call.ts';

const HEADER = 'build.bazel.remote.execution.v2.requestmetadata-bin';
const TYPE_URL = 'type.googleapis.com/build.bazel.remote.execution.v2.RequestMetadata';

const TYPE_URL_BYTES = Buffer.from(TYPE_URL);

/** ActionResult.execution_metadata, ExecutedActionMetadata.auxiliary_metadata, and Any.type_url. */
const METADATA_FIELD = 9;
const AUXILIARY_FIELD = 11;
const TYPE_URL_FIELD = 1;

/** Adds the call's origin to an encoded result. A result that already has an origin keeps it. */
export function withOrigin(call: Call, result: Uint8Array): Uint8Array {
  const origin = metadataOf(call)?.bytes;
  if (!origin) return result;
  try {
    return added(origin, result);
  } catch (cause) {
    throw new AssayError('ASSAY_RESULT_MALFORMED', 'not an ActionResult message', { cause });
  }
}

function added(origin: Buffer, result: Uint8Array): Uint8Array {
  const metadata = rawMessages(result, METADATA_FIELD);
  const notes = metadata.flatMap((one) => rawMessages(one, AUXILIARY_FIELD));
  if (notes.some((note) => rawMessages(note, TYPE_URL_FIELD).some((url) => TYPE_URL_BYTES.equals(url))))
    return result;
  const note = encodeField(AUXILIARY_FIELD, Any.encode({ typeUrl: TYPE_URL, value: origin }).finish());
  return metadata.length > 0
    ? replaceFields(result, METADATA_FIELD, (content) => Buffer.concat([content, note]))
    : Buffer.concat([result, encodeField(METADATA_FIELD, note)]);
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

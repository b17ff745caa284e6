// The error responses of S3 and Azure: XML with S3's error codes.
import type { AssayError } from '../../../core/errors.ts';
import type { ErrorFormat } from '../../http/error-response.ts';
import { escapeXml } from './xml.ts';

const CODES: Readonly<Record<number, string>> = {
  400: 'InvalidRequest',
  401: 'AccessDenied',
  403: 'AccessDenied',
  404: 'NoSuchKey',
  405: 'MethodNotAllowed',
  408: 'RequestTimeout',
  412: 'PreconditionFailed',
  413: 'EntityTooLarge',
  415: 'UnsupportedMediaType',
  416: 'InvalidRange',
  503: 'ServiceUnavailable',
};

export const XML_ERRORS: ErrorFormat = {
  type: 'application/xml',
  methods: 'GET, HEAD, PUT',
  body: (error, message) =>
    `<Error><Code>${codeOf(error)}</Code><Message>${escapeXml(`${error.code}: ${message}`)}</Message></Error>`,
};

function codeOf({ code, entry: { status } }: AssayError): string {
  if (code === 'ASSAY_BAD_SIGNATURE') return 'SignatureDoesNotMatch';
  if (code === 'ASSAY_DIGEST_MISMATCH') return 'BadDigest';
  return CODES[status] ?? 'InternalError';
}

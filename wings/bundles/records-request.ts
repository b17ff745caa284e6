// The request for the records of a namespace, as a client sends it and a server answers it:
//
//   POST /bundles/v1/records   {"namespace","keys","labels","since"}
//
// The answer has lines of a manifest: results; the blobs of messages of their actions; path sets, each behind its blob; labels.
// The last line is {"made":…}: an answer without it was cut. The client then asks for the blobs as for those of any hit.

export const RECORDS_PATH = '/bundles/v1/records';

export interface RecordsRequest {
  readonly namespace?: string;
  readonly keys?: readonly string[];
  /** The beginnings of labels. */
  readonly labels?: readonly string[];
  /** In ISO 8601. */
  readonly since?: string;
}

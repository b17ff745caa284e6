// gRPC status codes, and the status of each error of the catalogue.

export const GRPC_STATUS = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

export type GrpcStatus = keyof typeof GRPC_STATUS;

/** The gRPC counterparts of the HTTP statuses in the catalogue. */
const BY_HTTP_STATUS: Readonly<Record<number, GrpcStatus>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  408: 'DEADLINE_EXCEEDED',
  409: 'FAILED_PRECONDITION',
  413: 'RESOURCE_EXHAUSTED',
  416: 'OUT_OF_RANGE',
  503: 'UNAVAILABLE',
  507: 'RESOURCE_EXHAUSTED',
};

/** A client's mistake is never UNKNOWN: clients take that for a fault of the server and retry. */
export function grpcStatusOf(entry: { readonly status: number; readonly grpc?: GrpcStatus }): GrpcStatus {
  return entry.grpc ?? BY_HTTP_STATUS[entry.status] ?? (entry.status < 500 ? 'INVALID_ARGUMENT' : 'INTERNAL');
}

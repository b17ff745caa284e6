// The history of a run: each operation with its answer and the times of both. The rules below find answers that no
// correct fleet can give. They hold on a slow machine too: a slow answer only proves less.
import { digestOf, type Hash } from '../../../../core/digest.ts';
import { sha256 } from '../../../../core/sha256.ts';
import { addressOf, resultNaming } from '../../../../test/store/content.ts';
import { type Answer, type BlobSpec, bytesOf, type Operation } from './operations.ts';

export interface Event {
  readonly operation: Operation;
  readonly answer: Answer;
  readonly start: number;
  readonly end: number;
  readonly node: number;
  /** The bucket said meanwhile that an object is missing which is there. */
  readonly wasLiedTo: boolean;
}

/** What a cache may answer while a part of it is broken. */
const ALLOWED_ERRORS = new Set([
  'ASSAY_INDEX_AWAY',
  'ASSAY_BUCKET_AWAY',
  'ASSAY_STORE_FAULT',
  'ASSAY_NOT_FOUND',
  'ASSAY_RESULT_INCOMPLETE',
  'ASSAY_BAD_OFFSET',
  'ASSAY_STORE_FULL',
]);

/** A round of the janitor ends when another database adopts the objects. */
function isAllowed({ kind }: Operation, code: string): boolean {
  return ALLOWED_ERRORS.has(code) || (kind === 'maintain' && code === 'ASSAY_FLEET_NOT_OWNER');
}

/** Sentences about what is wrong. Empty if nothing is. */
export function violationsOf(events: readonly Event[], leaseMs: number): string[] {
  return [
    ...events.flatMap(wrongAnswers),
    ...events.flatMap((event) => unexplainedAnswers(event, events)),
    ...brokenLeases(events, leaseMs),
    ...incompleteResults(events, leaseMs),
    ...secondBodies(events, leaseMs),
    ...movedLabels(events, leaseMs),
  ];
}

function wrongAnswers(event: Event): string[] {
  const { answer } = event;
  if (answer.kind === 'hit' && !answer.isRight) return [`wrong bytes: ${describe(event)}`];
  if (answer.kind === 'error' && !isAllowed(event.operation, answer.code))
    return [`unexpected: ${describe(event)}`];
  return [];
}

/** A blob is present only if a put of it had begun before the answer; so with a result and with a label. */
function unexplainedAnswers(event: Event, events: readonly Event[]): string[] {
  const earlier = events.filter(({ start }) => start < event.end);
  const unexplained = presentIn(event)
    .filter((blob) => !earlier.some(({ operation }) => putsBlob(operation, blob)))
    .map((blob) => `present without a put: ${blob.seed} in ${describe(event)}`);
  const found = labelIn(event);
  if (found && !earlier.some(({ operation }) => putsLabel(operation, found)))
    return [`a label that nobody put: ${describe(event)}`];
  if (event.answer.kind !== 'result' || event.operation.kind !== 'get-result') return unexplained;
  const { key } = event.operation;
  const { body } = event.answer;
  const bodies = earlier.flatMap(({ operation }) =>
    operation.kind === 'put-result' && operation.key === key ? [bodyOf(operation.blobs)] : [],
  );
  return bodies.includes(body)
    ? unexplained
    : [...unexplained, `a result that nobody put: ${describe(event)}`];
}

/** An answer that relies on a blob or a result leases it. Within the lease no answer may lack it. */
function brokenLeases(events: readonly Event[], leaseMs: number): string[] {
  const leases = leasesOf(events);
  return events.flatMap((event) =>
    lackedBy(event).flatMap((name) =>
      holding(leases.get(name), event, leaseMs)
        .slice(0, 1)
        .map((lease) => `lost within its lease: ${name}, by ${describe(lease)}, in ${describe(event)}`),
    ),
  );
}

/** A result is refused as incomplete only if a blob that it names had no lease. */
function incompleteResults(events: readonly Event[], leaseMs: number): string[] {
  const leases = leasesOf(events);
  return events
    .filter(({ answer }) => answer.kind === 'error' && answer.code === 'ASSAY_RESULT_INCOMPLETE')
    .filter(
      (event) =>
        event.operation.kind === 'put-result' &&
        event.operation.blobs.every((blob) => holding(leases.get(blobName(blob)), event, leaseMs).length > 0),
    )
    .map((event) => `refused although every blob is leased: ${describe(event)}`);
}

function leasesOf(events: readonly Event[]): Map<string, Event[]> {
  const leases = new Map<string, Event[]>();
  for (const event of events)
    for (const name of leasedBy(event)) leases.set(name, [...(leases.get(name) ?? []), event]);
  return leases;
}

/** The leases that began before the event and were not over at its end. */
function holding(leases: readonly Event[] = [], event: Event, leaseMs: number): readonly Event[] {
  return leases.filter(({ start, end }) => end < event.start && event.end < start + leaseMs);
}

/** The first body of a key stays: within a lease no other one is stored or found. */
function secondBodies(events: readonly Event[], leaseMs: number): string[] {
  const seen = events.flatMap((event) => {
    const { operation, answer } = event;
    if (operation.kind === 'get-result' && answer.kind === 'result')
      return [{ key: operation.key, body: answer.body, event }];
    if (operation.kind === 'put-result' && answer.kind === 'outcome' && answer.outcome !== 'diverged')
      return [{ key: operation.key, body: bodyOf(operation.blobs), event }];
    return [];
  });
  return seen.flatMap((one) =>
    seen
      .filter(
        ({ key, body, event }) =>
          key === one.key &&
          body !== one.body &&
          one.event.end < event.start &&
          event.end < one.event.start + leaseMs,
      )
      .map(({ event }) => `two bodies of ${one.key}: ${describe(one.event)} and ${describe(event)}`),
  );
}

/**
 * A label keeps its result while that is a hit: within the lease it is found, and no other key takes it. So the results
 * of a label form a chain. Only a put during which that result was missing for a moment may take the label.
 */
function movedLabels(events: readonly Event[], leaseMs: number): string[] {
  const leases = leasesOf(events);
  return events.flatMap((event) => {
    const named = labelIn(event) ?? labelPutBy(event);
    if (
      !named ||
      events.some((put) => mayReplace(put, named, event, leases.get(resultName(named.key)), leaseMs))
    )
      return [];
    // A put leases nothing: the result must have had its lease before.
    const until = labelIn(event)
      ? event.start + leaseMs
      : Math.max(
          ...(leases.get(resultName(named.key)) ?? [])
            .filter(({ end }) => end < event.start)
            .map(({ start }) => start + leaseMs),
        );
    return events
      .filter((later) => event.end < later.start && later.end < until && contradicts(later, named))
      .map((later) => `a label has moved: ${describe(event)} and ${describe(later)}`);
  });
}

interface NamedLabel {
  readonly label: string;
  readonly key: Hash;
}

function labelIn({ operation, answer }: Event): NamedLabel | undefined {
  return operation.kind === 'get-label' && answer.kind === 'label'
    ? { label: operation.label, key: answer.key }
    : undefined;
}

function labelPutBy({ operation, answer }: Event): NamedLabel | undefined {
  return operation.kind === 'put-label' && answer.kind === 'outcome' && answer.outcome === 'stored'
    ? { label: operation.label, key: keyOf(operation.key) }
    : undefined;
}

/**
 * Whether a put that was under way when `seen` was answered may have found the result missing. A put whose answer was
 * lost may have gone on after that.
 */
function mayReplace(
  put: Event,
  named: NamedLabel,
  seen: Event,
  leases: readonly Event[] | undefined,
  leaseMs: number,
): boolean {
  const { operation, answer, start, end } = put;
  if (operation.kind !== 'put-label' || operation.label !== named.label) return false;
  if (keyOf(operation.key) === named.key || start > seen.end) return false;
  if (answer.kind === 'error' || answer.kind === 'killed') return true;
  return end > seen.start && holding(leases, put, leaseMs).length === 0;
}

function contradicts(event: Event, { label, key }: NamedLabel): boolean {
  const { operation, answer } = event;
  if (operation.kind === 'get-label' && answer.kind === 'miss') return operation.label === label;
  const other = labelIn(event) ?? labelPutBy(event);
  return other !== undefined && other.label === label && other.key !== key;
}

function presentIn({ operation, answer }: Event): readonly BlobSpec[] {
  if (operation.kind === 'get' && answer.kind === 'hit') return [operation.blob];
  if (operation.kind === 'missing' && answer.kind === 'missing')
    return operation.blobs.filter((_, at) => !answer.absent.includes(at));
  return [];
}

function leasedBy(event: Event): string[] {
  const { operation, answer } = event;
  const blobs = presentIn(event);
  if ((operation.kind === 'put' || operation.kind === 'upload') && answer.kind === 'done')
    return [blobName(operation.blob)];
  if (operation.kind === 'put-result' && answer.kind === 'outcome' && answer.outcome === 'stored')
    return [resultName(keyOf(operation.key)), ...operation.blobs.map(blobName)];
  if (operation.kind === 'get-result' && answer.kind === 'result') return [resultName(keyOf(operation.key))];
  if (answer.kind === 'label') return [resultName(answer.key)];
  return blobs.map(blobName);
}

function lackedBy({ operation, answer, wasLiedTo }: Event): string[] {
  const isLost = answer.kind === 'error' && answer.code === 'ASSAY_NOT_FOUND' && !wasLiedTo;
  if (operation.kind === 'get' && (answer.kind === 'miss' || isLost)) return [blobName(operation.blob)];
  if (operation.kind === 'get-result' && answer.kind === 'miss') return [resultName(keyOf(operation.key))];
  if (operation.kind === 'missing' && answer.kind === 'missing')
    return answer.absent.flatMap((at) => operation.blobs.slice(at, at + 1).map(blobName));
  return [];
}

function putsBlob(operation: Operation, blob: BlobSpec): boolean {
  return (operation.kind === 'put' || operation.kind === 'upload') && operation.blob.seed === blob.seed;
}

function putsLabel(operation: Operation, { label, key }: NamedLabel): boolean {
  return operation.kind === 'put-label' && operation.label === label && keyOf(operation.key) === key;
}

function keyOf(key: string): Hash {
  return addressOf(key).key;
}

function blobName({ seed }: BlobSpec): string {
  return `blob ${seed}`;
}

function resultName(key: Hash): string {
  return `result ${key}`;
}

function bodyOf(blobs: readonly BlobSpec[]): string {
  return sha256(resultNaming(...blobs.map((blob) => digestOf(bytesOf(blob)))));
}

function describe({ operation, answer, start, end, node }: Event): string {
  const times = `${Math.round(start)} to ${Math.round(end)} ms at node ${node}`;
  return `${JSON.stringify(operation)} -> ${JSON.stringify(answer)} (${times})`;
}

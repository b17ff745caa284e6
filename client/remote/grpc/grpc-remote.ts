// A remote over gRPC: any cache server of the Remote Execution API. Small blobs travel in batches.

import { concurrently } from '../../../core/concurrently.ts';
import type { Digest, Hash } from '../../../core/digest.ts';
import { messageOf } from '../../../core/errors.ts';
import { GRPC_STATUS } from '../../../core/grpc-status.ts';
import { BUNDLE_HEADER } from '../../../core/metadata/bundle.ts';
import { parseNamespace } from '../../../core/namespace.ts';
import { RequestMetadata } from '../../../core/proto/generated/reapi-services.ts';
import { VERSION } from '../../../core/version.ts';
import type { Content } from '../../../store/store.ts';
import { GRPC_REMOTE, REMOTE } from '../../limits.ts';
import { authorization } from '../authorization.ts';
import { InlinedBlobs } from '../inlined-blobs.ts';
import { inlinedFor, listFrom } from '../path-set-messages.ts';
import { Predictions } from '../predictions.ts';
import {
  type Asking,
  type FoundResult,
  type KeepBlob,
  missingBlobFault,
  type OnBlobPresent,
  type PathSetList,
  type ReadBlob,
  type Remote,
  RemoteFault,
  type RemoteOptions,
  type ResultCandidate,
  WriteRefused,
} from '../remote.ts';
import { WaitBudget } from '../wait-budget.ts';
import { type BlobTransfer, planTransfers, slices } from './batches.ts';
import { Channel, GrpcFault } from './channel.ts';
import { type Capabilities, Services } from './services.ts';
import { uploadBlob } from './upload.ts';

export function openGrpcRemote(options: RemoteOptions): Remote {
  return new GrpcRemote(options);
}

class GrpcRemote implements Remote {
  readonly #budget: WaitBudget;
  /** Open blob streams in either direction; worth.ts judges their speed. */
  #streams = 0;
  readonly #channel: Channel;
  readonly #services: Services;
  #capabilities: Promise<Capabilities> | undefined;
  readonly #inlinedBlobs = new InlinedBlobs();
  readonly #predictions = new Predictions();
  #takesWrites = true;
  /** Undefined before the first question. */
  #keepsLists: boolean | undefined;

  constructor({ url, token, now, tool = 'assay', bundle }: RemoteOptions) {
    this.#budget = new WaitBudget(now);
    this.#channel = new Channel({
      url,
      headers: {
        ...authorization(url, token),
        ...clientHeaders(tool),
        ...(bundle && { [BUNDLE_HEADER]: bundle }),
      },
      signal: this.#budget.signal,
      moved: (bytes) => (this.#streams > 0 ? this.#budget.moved() : this.#budget.received(bytes)),
    });
    const instance = parseNamespace(decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, ''));
    this.#services = new Services(this.#channel, instance);
  }

  get usable(): boolean {
    return !this.#budget.signal.aborted;
  }

  get takesWrites(): boolean {
    return this.#takesWrites;
  }

  giveUp(why: string): void {
    this.#budget.giveUp(why);
  }

  getResult(key: Digest): Promise<Uint8Array | undefined> {
    return this.#attempt(() => this.#services.getResult(key));
  }

  namespaceOf(key: Hash): string | undefined {
    return this.#services.namespaces.get(key);
  }

  putResult(key: Digest, result: Uint8Array): Promise<'stored' | 'diverged'> {
    return this.#write(result.length, () => this.#services.putResult(key, result));
  }

  /** Blobs already go in batches, so there is no such method. */
  readonly takesPublications = false;

  publish(): Promise<never> {
    throw new RemoteFault('it takes no publications over gRPC');
  }

  putRival(): Promise<never> {
    throw new RemoteFault('it takes no publications over gRPC');
  }

  get reportForm(): number {
    return this.#services.reportForm;
  }

  async listPathSets(action: Hash, asking: Asking = {}): Promise<PathSetList | undefined> {
    if (this.#keepsLists === false) return undefined;
    // Blobs need the capabilities later; asking now saves a round trip. A fault ends the call below, too.
    this.#knownCapabilities().catch(() => {});
    const inlined = inlinedFor(this.#predictions, asking);
    const list = await this.#attempt(() => this.#services.listPathSets(action, inlined, asking));
    this.#keepsLists = list !== undefined;
    return list && listFrom(list, (answer) => this.#inlinedBlobs.receive(answer), this.#predictions);
  }

  async findResult(
    action: Hash,
    candidates: readonly ResultCandidate[],
    afterPrediction: boolean,
    asking: Asking = {},
  ): Promise<FoundResult | undefined> {
    if (afterPrediction) this.#predictions.noteWrong();
    const found = await this.#attempt(() =>
      this.#services.findResult(action, candidates, afterPrediction, asking),
    );
    return found && { key: found.key, result: this.#inlinedBlobs.receive(found.answer) };
  }

  async addPathSet(action: Hash, set: Hash): Promise<boolean> {
    if (this.#keepsLists === undefined) await this.listPathSets(action);
    if (!this.#keepsLists) return false;
    await this.#write(0, () => this.#services.addPathSet(action, set));
    return true;
  }

  inlinedBlob(hash: Hash): Buffer | undefined {
    return this.#inlinedBlobs.peek(hash);
  }

  async getBlobs(digests: readonly Digest[], keep: KeepBlob): Promise<void> {
    const others: Digest[] = [];
    for (const digest of digests) {
      const inlined = this.#inlinedBlobs.take(digest.hash);
      if (inlined) await keep(digest, inlined);
      else others.push(digest);
    }
    if (others.length > 0) await this.#getOthers(others, keep);
  }

  async #getOthers(digests: readonly Digest[], keep: KeepBlob): Promise<void> {
    const { maxBatchBytes } = await this.#knownCapabilities();
    await concurrently(planTransfers(digests, maxBatchBytes), REMOTE.concurrency, async (shipment) => {
      if ('batch' in shipment) await this.#getBatch(shipment.batch, keep);
      else await keep(shipment.single, this.#guarded(this.#services.read(shipment.single), shipment.single));
    });
  }

  async putBlobs(digests: readonly Digest[], read: ReadBlob, onPresent: OnBlobPresent): Promise<void> {
    const { maxBatchBytes, takesUpdates } = await this.#knownCapabilities();
    if (!takesUpdates)
      throw this.#refused(
        'it accepts no writes: it is read-only, or ASSAY_TOKEN may not write',
        GRPC_STATUS.PERMISSION_DENIED,
      );
    const missing = await this.#missing(digests);
    for (const digest of digests) if (!missing.has(digest.hash)) onPresent(digest, false);
    const wanted = digests.filter(({ hash }) => missing.has(hash));
    await concurrently(planTransfers(wanted, maxBatchBytes), REMOTE.concurrency, (shipment) =>
      this.#put(shipment, read, onPresent),
    );
  }

  async close(): Promise<void> {
    this.#channel.close();
  }

  async #getBatch(digests: readonly Digest[], keep: KeepBlob): Promise<void> {
    const outcomes = await this.#attempt(() => this.#services.readBatch(digests));
    const byHash = new Map(outcomes.map((outcome) => [outcome.digest.hash, outcome]));
    for (const digest of digests) {
      const outcome = byHash.get(digest.hash);
      if (outcome?.code === GRPC_STATUS.OK) await keep(digest, outcome.data);
      else
        throw this.#fault(
          outcome && outcome.code !== GRPC_STATUS.NOT_FOUND ? refusal(outcome) : missingBlobFault(digest),
        );
    }
  }

  async #missing(digests: readonly Digest[]): Promise<Set<string>> {
    const missing = new Set<string>();
    for (const some of slices(digests, GRPC_REMOTE.batchEntries)) {
      for (const { hash } of await this.#attempt(() => this.#services.missing(some))) missing.add(hash);
    }
    return missing;
  }

  async #put(shipment: BlobTransfer, read: ReadBlob, onPresent: OnBlobPresent): Promise<void> {
    if ('single' in shipment) {
      const { single } = shipment;
      await this.#streaming(() => this.#write(single.size, () => uploadBlob(single, read, this.#services)));
      return onPresent(shipment.single, true);
    }
    const blobs: { digest: Digest; data: Buffer }[] = [];
    for (const digest of shipment.batch) blobs.push({ digest, data: await gather(await read(digest, 0)) });
    const bytes = blobs.reduce((sum, { data }) => sum + data.length, 0);
    const outcomes = await this.#write(bytes, () => this.#services.updateBatch(blobs));
    const fine: readonly number[] = [GRPC_STATUS.OK, GRPC_STATUS.ALREADY_EXISTS];
    const stored = new Set(
      outcomes.filter(({ code }) => fine.includes(code)).map(({ digest }) => digest.hash),
    );
    const refused = outcomes.find(({ code }) => !fine.includes(code));
    if (refused)
      throw refusesWrites(refused.code)
        ? this.#refused(explain(refused.code, refused.text), refused.code)
        : this.#fault(refusal(refused));
    for (const { digest } of blobs) {
      if (!stored.has(digest.hash))
        throw this.#fault(new RemoteFault('it did not report the status of a blob'));
      onPresent(digest, true);
    }
  }

  #knownCapabilities(): Promise<Capabilities> {
    this.#capabilities ??= this.#attempt(() => this.#services.capabilities());
    return this.#capabilities;
  }

  /**
   * A stream is read after its call was opened; its errors are faults of the remote, too. The reader judges
   * its speed, but never sees empty messages, so their number is limited here.
   */
  async *#guarded(body: AsyncGenerator<Buffer>, digest: Digest): AsyncGenerator<Uint8Array> {
    let size = 0;
    let empty = 0;
    try {
      while (true) {
        const next = await this.#streaming(() =>
          this.#asFault(() => this.#budget.ask(() => body.next()), digest),
        );
        if (next.done) return;
        size += next.value.length;
        if (size > digest.size) throw this.#fault(new RemoteFault('it sent more than it announced'));
        if (next.value.length > 0) yield next.value;
        else if (++empty > GRPC_REMOTE.emptyMessages)
          throw this.#fault(new RemoteFault('it sends empty messages'));
      }
    } finally {
      await body.return(undefined);
    }
  }

  async #attempt<T>(work: () => Promise<T>): Promise<T> {
    const answer = await this.#asFault(() => this.#budget.ask(work));
    this.#budget.moved();
    return answer;
  }

  /** A write of `bytes`. A refused write does not stop reading. */
  async #write<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    const answer = await this.#asFault(() =>
      this.#budget.send(bytes, async () => {
        try {
          return await work();
        } catch (cause) {
          if (!(cause instanceof GrpcFault) || !refusesWrites(cause.code)) throw cause;
          throw this.#refused(explain(cause.code, cause.message), cause.code);
        }
      }),
    );
    this.#budget.moved();
    return answer;
  }

  async #streaming<T>(work: () => Promise<T>): Promise<T> {
    this.#streams++;
    try {
      return await work();
    } finally {
      this.#streams--;
    }
  }

  #refused(why: string, code: number): WriteRefused {
    this.#takesWrites = false;
    return new WriteRefused(why, code !== GRPC_STATUS.RESOURCE_EXHAUSTED);
  }

  async #asFault<T>(work: () => Promise<T>, about?: Digest): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      if (cause instanceof WriteRefused) throw cause;
      const isGone = about && cause instanceof GrpcFault && cause.code === GRPC_STATUS.NOT_FOUND;
      throw this.#fault(isGone ? missingBlobFault(about) : cause);
    }
  }

  #fault(cause: unknown): RemoteFault {
    const reason: unknown = this.#budget.signal.aborted ? this.#budget.signal.reason : cause;
    const text = reason instanceof GrpcFault ? explain(reason.code, reason.message) : messageOf(reason);
    this.#budget.giveUp(text);
    return new RemoteFault(text, { cause });
  }
}

function clientHeaders(toolName: string): Record<string, string> {
  const metadata = RequestMetadata.encode({
    toolDetails: { toolName, toolVersion: VERSION },
    actionId: '',
    toolInvocationId: '',
    correlatedInvocationsId: '',
    actionMnemonic: '',
    targetId: '',
    configurationId: '',
  }).finish();
  const name = 'build.bazel.remote.execution.v2.requestmetadata-bin';
  return { [name]: Buffer.from(metadata).toString('base64'), 'user-agent': `${toolName}/${VERSION}` };
}

async function gather(content: Content): Promise<Buffer> {
  if (content instanceof Uint8Array) return Buffer.from(content);
  const chunks: Buffer[] = [];
  for await (const chunk of content) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

function refusesWrites(code: number): boolean {
  const refusals: readonly number[] = [
    GRPC_STATUS.UNAUTHENTICATED,
    GRPC_STATUS.PERMISSION_DENIED,
    GRPC_STATUS.RESOURCE_EXHAUSTED,
  ];
  return refusals.includes(code);
}

function refusal({ code, text }: { code: number; text: string }): RemoteFault {
  return new RemoteFault(explain(code, text));
}

function explain(code: number, text: string): string {
  const name = Object.entries(GRPC_STATUS).find(([, value]) => value === code)?.[0] ?? `status ${code}`;
  const denied: readonly number[] = [GRPC_STATUS.UNAUTHENTICATED, GRPC_STATUS.PERMISSION_DENIED];
  if (denied.includes(code)) return `it answered ${name}: set ASSAY_TOKEN to a token that it accepts`;
  return `it answered ${name}${text === '' ? '' : `: ${text}`}`;
}

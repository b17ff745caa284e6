// Uploads one item at a time and always the newest: a newer item replaces the one that waits. So the uploaded
// item is never older than the newest one at the time its upload started.

interface NewestUploadOptions<T> {
  /** Returns false on failure; never rejects. */
  send(number: number, content: T): Promise<boolean>;
  /** Called when a waiting item is dropped. `arrived`: the last uploaded number, 0 for none. */
  fellBehind(number: number, arrived: number): void;
}

export class NewestUpload<T> {
  readonly #options: NewestUploadOptions<T>;
  #next: { readonly number: number; readonly content: T } | undefined;
  #sending: Promise<void> | undefined;
  #arrived = 0;

  constructor(options: NewestUploadOptions<T>) {
    this.#options = options;
  }

  /** The number of the last uploaded item; 0 for none. */
  get arrived(): number {
    return this.#arrived;
  }

  offer(number: number, content: T): void {
    if (this.#next) this.#options.fellBehind(number, this.#arrived);
    this.#next = { number, content };
    this.#sending ??= this.#sendAll();
  }

  /** Waits until the newest item is uploaded or has failed, or the time is over. */
  async finish(milliseconds: number): Promise<void> {
    if (!this.#sending) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, milliseconds);
    });
    await Promise.race([this.#sending, late]);
    clearTimeout(timer);
  }

  /** Starts no further upload. */
  stop(): void {
    this.#next = undefined;
  }

  async #sendAll(): Promise<void> {
    for (let one = this.#take(); one; one = this.#take()) {
      if (await this.#options.send(one.number, one.content)) this.#arrived = one.number;
    }
    this.#sending = undefined;
  }

  #take(): { readonly number: number; readonly content: T } | undefined {
    const one = this.#next;
    this.#next = undefined;
    return one;
  }
}

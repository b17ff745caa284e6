// Sends one thing after the other, and always the newest: whatever was waiting when a newer one came is dropped. So what has
// arrived is never older than what was newest when the last upload began.

export interface NewestUploadOptions<T> {
  /** False if it did not arrive. Never rejects. */
  send(number: number, content: T): Promise<boolean>;
  /** Called when one is dropped that nobody will send: `arrived` is the last that did, 0 for none. */
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

  /** The number of the last one that arrived; 0 if none did. */
  get arrived(): number {
    return this.#arrived;
  }

  offer(number: number, content: T): void {
    if (this.#next) this.#options.fellBehind(number, this.#arrived);
    this.#next = { number, content };
    this.#sending ??= this.#sendAll();
  }

  /** Waits until the newest has arrived or failed, for so long at most. */
  async finish(milliseconds: number): Promise<void> {
    if (!this.#sending) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, milliseconds);
    });
    await Promise.race([this.#sending, late]);
    clearTimeout(timer);
  }

  /** Nothing more is begun. */
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

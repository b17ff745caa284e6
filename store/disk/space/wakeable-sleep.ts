// A sleep that `wake` ends early.

export class WakeableSleep {
  #wake = () => {};

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  wake(): void {
    this.#wake();
  }
}

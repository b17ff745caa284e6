// Buttons that copy the code beside them.

const SHOWN_MS = 2000;

export function startCopying(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-copy]')) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      const isCopied = await copy(button.parentElement?.querySelector('pre') ?? undefined);
      button.textContent = isCopied ? 'Copied' : 'Press Ctrl+C';
      setTimeout(() => {
        button.textContent = 'Copy';
      }, SHOWN_MS);
    });
  }
}

/** Selects the code too, so that a person can copy it where the browser does not let a script. */
async function copy(code: HTMLElement | undefined): Promise<boolean> {
  if (!code) return false;
  getSelection()?.selectAllChildren(code);
  try {
    await navigator.clipboard.writeText((code.textContent ?? '').trimEnd());
    return true;
  } catch {
    return false;
  }
}

// A page for each command of `assay`, made from its help, so that the two cannot differ.
import type { SitePage } from './pages.ts';

/** `help` is what `assay ARGS --help` prints. */
export function commandPages(help: (...args: readonly string[]) => string): SitePage[] {
  const rows = help().matchAll(/^ {2}([a-z][a-z-]*(?: [a-z-]+)?) {2,}(\S.*)$/gm);
  const pages = [...rows].map(([, name = '', summary = '']) => ({
    path: `commands/${name.replace(' ', '-')}.md`,
    title: `assay ${name}`,
    text: `# assay ${name}\n\n${sentence(summary)}\n\n\`\`\`text\n${help(...name.split(' '))}\`\`\`\n`,
  }));
  if (pages.length === 0) throw new Error('`assay --help` lists no command');
  return pages;
}

/** The first letter large, and a full stop. No mark of Markdown or HTML counts. */
function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`.replace(/[<>*_`[\]]/g, '\\$&');
}

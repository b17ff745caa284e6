// ANSI colours for a terminal. Output has none where it is not a terminal, and with NO_COLOR or TERM=dumb.

const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;

export type Colour = (colour: keyof typeof CODES, text: string) => string;

export const plain: Colour = (_colour, text) => text;

const coloured: Colour = (colour, text) => `\x1b[${CODES[colour]}m${text}\x1b[0m`;

export function colourFor(isTerminal: boolean, variables: Readonly<NodeJS.ProcessEnv>): Colour {
  const refused = variables.NO_COLOR !== undefined && variables.NO_COLOR !== '';
  return isTerminal && !refused && variables.TERM !== 'dumb' ? coloured : plain;
}

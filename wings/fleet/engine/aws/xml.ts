// Reads elements of the XML that S3 answers with, and writes the text of those that it gets. Not a parser of XML: S3's answers have no attributes, comments or
// sections that matter here, and an answer that this does not understand is a failure of the server.

/** The text of the first element of that name. */
export function elementText(xml: string, name: string): string | undefined {
  const [text] = elements(xml, name);
  return text === undefined ? undefined : decoded(text);
}

/** The inner XML of every element of that name. Such an element holds none of the same name. */
export function elements(xml: string, name: string): string[] {
  const pattern = new RegExp(`<${name}(?:\\s[^>]*)?>([^]*?)</${name}>`, 'gu');
  return [...xml.matchAll(pattern)].map(([, inner = '']) => inner);
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function decoded(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/giu, (whole, decimal, hex, name) => {
    if (decimal !== undefined) return String.fromCodePoint(Number.parseInt(decimal, 10));
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    return ENTITIES[name] ?? whole;
  });
}

const ESCAPES: Readonly<Record<string, string>> = { '<': '&lt;', '>': '&gt;', '&': '&amp;', '"': '&quot;' };

export function encodedText(text: string): string {
  return text.replace(/[<>&"]/g, (sign) => ESCAPES[sign] ?? sign);
}

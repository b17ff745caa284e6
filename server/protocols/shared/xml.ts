// Escapes text for XML.

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Drops characters that XML does not allow. */
export function escapeXml(text: string): string {
  return text
    .replace(/[&<>"]/g, (sign) => ENTITIES[sign] ?? '')
    .replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd]/g, '');
}

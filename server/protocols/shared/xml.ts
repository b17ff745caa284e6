// Text inside XML.

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Characters that XML does not have at all are left out. */
export function escapeXml(text: string): string {
  return text
    .replace(/[&<>"]/g, (sign) => ENTITIES[sign] ?? '')
    .replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd]/g, '');
}

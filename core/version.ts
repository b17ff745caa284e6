// Assay's version. A test compares it with package.json.
export const VERSION = '0.3.0';

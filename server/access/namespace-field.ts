// Namespaces in the tokens file and in the configuration.
import type { ConfigValue } from '../../core/config/document.ts';
import { type Namespace, parseNamespace } from '../../core/namespace.ts';

/** The empty namespace is the whole server, which only ASSAY_TOKEN has. */
export function ownNamespaceAt(value: ConfigValue): Namespace {
  const namespace = namespaceAt(value);
  if (namespace === '') throw value.refuse('the namespace can’t be empty');
  return namespace;
}

export function namespaceAt(value: ConfigValue): Namespace {
  const { text } = value.text('a namespace in "quotes"');
  try {
    return parseNamespace(text);
  } catch {
    throw value.refuse(`${JSON.stringify(text)} is no namespace`);
  }
}

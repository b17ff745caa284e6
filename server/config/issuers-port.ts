// The port Issuers: how a wing reads the field `issuers`, and verifies the tokens of those issuers.
// Nothing of a configuration is in force before all of it is valid.
import type { ConfigValue } from '../../core/config/document.ts';
import type { Namespace } from '../../core/namespace.ts';
import type { History } from '../../store/history.ts';
import type { Issuers } from '../access/identities.ts';

/** The field of a wing's record. */
export interface IssuersPort {
  /** One for each server: it keeps keys and used tokens over all reloads. */
  readonly openIssuers: () => Promise<ConfigurableIssuers>;
}

export interface ConfigurableIssuers extends Issuers {
  parse(value: ConfigValue): TrustedIssuers;
  /** Where it is kept which tokens were exchanged. Without it, a restart forgets them. */
  keepUsedTokens(history: History | undefined, isReadOnly: boolean): void;
}

/** What one configuration says. */
export interface TrustedIssuers {
  /** Where its rules let pull requests write. */
  readonly pullRequests: readonly Namespace[];
  /** Replaces all issuers and their rules. */
  putInForce(): void;
}

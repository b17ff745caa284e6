// The wing oidc: jobs of a CI service log in with the token that the service gives them (OpenID Connect).
import type { Wing } from '../../core/cli/wing.ts';
import type { IssuersPort } from '../../server/config/issuers-port.ts';

export const wing: Wing & IssuersPort = {
  commands: {
    login: {
      summary: 'get a token of the shared cache for a CI job',
      load: async () => (await import('./login/command.ts')).loginCommand,
    },
  },
  openIssuers: async () => new (await import('./issuers/issuers.ts')).OidcIssuers(),
};

// The version of the policy: who compares a verdict's with it needs it, and not the policy itself.

/** Changes whenever the same trace could get another verdict. */
export const POLICY_VERSION = 'assay-policy-3';

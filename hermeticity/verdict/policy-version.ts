// The version of the policy, in a file of its own: comparing versions must not load the policy.

/** Changes whenever the same trace could get another verdict. */
export const POLICY_VERSION = 'assay-policy-7';

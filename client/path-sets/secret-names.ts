// Names of files that usually hold secrets. A path set must not tell the digest of such a file: short secrets
// can be guessed from it.

/** Also inside installed software, which has harmless certificates and modules named "credentials". */
const ALWAYS =
  /^(?:\.env(?:\..+)?|\.envrc|\.npmrc|\.netrc|_netrc|\.pypirc|\.pgpass|\.my\.cnf|\.git-credentials|\.htpasswd|\.dockercfg|\.vault-token|\.terraformrc|id_(?:rsa|dsa|ecdsa|ed25519)[^/]*)$/i;
const ELSEWHERE =
  /^(?:[^/]*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk|tfstate|tfvars|ovpn)|credentials[^/]*|service[-_]account[^/]*\.json|kubeconfig|htpasswd|\.yarnrc(?:\.yml)?)$/i;
/** Examples for people; they have no secrets. */
const EXAMPLES = /^\.env\.(?:example|sample|template|dist|defaults?)$/i;
const FOLDERS = new Set(['.ssh', '.gnupg', '.aws', '.azure', '.docker', '.kube', '.secrets', 'gcloud']);
/** Where container engines mount secrets, readable by everybody. */
const MOUNTED = /^\/(?:var\/)?run\/secrets(?:\/|$)/;

/** By the names alone. `path` is absolute, or relative to the workspace. */
export function looksSecret(path: string, isSoftware: boolean): boolean {
  const folders = path.split('/');
  const name = folders.pop() ?? '';
  if (EXAMPLES.test(name)) return false;
  if (ALWAYS.test(name)) return true;
  return (
    !isSoftware && (ELSEWHERE.test(name) || MOUNTED.test(path) || folders.some((one) => FOLDERS.has(one)))
  );
}

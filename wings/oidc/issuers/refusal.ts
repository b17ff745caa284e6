// The error for a token that is not exchanged. It says which check failed and quotes nothing unverified.
import { AssayError } from '../../../core/errors.ts';

export function refused(why: string): AssayError {
  return new AssayError('ASSAY_TOKEN_REFUSED', `the token is refused: ${why}`);
}

// The URL of labels, which client and server share: GET or PUT LABELS_PATH + NAMESPACE, with the label in the
// query.
export const LABELS_PATH = '/labels/v1/';

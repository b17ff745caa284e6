// Where labels are asked for over HTTP: GET or PUT LABELS_PATH + NAMESPACE, with the label in the query.
export const LABELS_PATH = '/labels/v1/';

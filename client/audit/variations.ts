// The conditions under which a command was run again, as lines of a report.
import type { Reproduction, VariationReport } from '../../hermeticity/reproduction.ts';

/** Conditions without effect in one line; those not tried, or tried in part, with the reason. */
export function variationLines({ runs, variations }: Pick<Reproduction, 'runs' | 'variations'>): string[] {
  const same = variations.filter(({ outcome, reason }) => outcome === 'same' && reason === undefined);
  const names = same.map(({ name }) => name).join(', ');
  const times = runs === 1 ? '1 run' : `${runs} runs`;
  return [
    `Varied in ${times}${names === '' ? '' : `, without effect: ${names}`}`,
    ...variations.flatMap((one) => (one.reason === undefined ? [] : [remark(one, one.reason)])),
  ];
}

function remark({ name, outcome }: VariationReport, reason: string): string {
  return `  ${name}: ${outcome}: ${reason}`;
}

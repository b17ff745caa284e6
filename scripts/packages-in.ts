// Which npm packages a bundle holds, as the bundler tells it. A release names them and brings their licences.
import type { RolldownOutput } from 'rolldown';

export function packagesIn(output: RolldownOutput['output']): string[] {
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
  return modules.flatMap((id) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1] ?? []);
}

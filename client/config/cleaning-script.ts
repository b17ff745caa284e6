// Scripts that only remove files, such as "rimraf dist". A run needs none: it empties a step's outputs itself.

const CLEANING = /^(?:shx )?(?:rm -\w*r\w*|rimraf|del-cli|premove)(?: [^;&|<>$`()]+)$/;

export function isCleaning(line: string): boolean {
  return line.split('&&').every((part) => CLEANING.test(part.trim()));
}

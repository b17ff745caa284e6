// Where systems keep what is installed: the same for everybody who uses the machine. On most systems all but the first of
// these, up to /libx32, are links into it.
export const INSTALLED_SOFTWARE = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/opt',
  '/nix/store',
  '/gnu/store',
] as const;

// The folders where a system keeps installed software, the same for all of its users. On most systems /bin up
// to /libx32 are links into /usr.
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

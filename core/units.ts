// Units of size (bytes) and time (milliseconds) for the tables of limits.
export const KIB = 1024;
export const MIB = 1024 * KIB;
export const GIB = 1024 * MIB;
export const SECOND = 1000;
export const MINUTE = 60 * SECOND;

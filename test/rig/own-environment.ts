// Before every test file: what this person's shell and settings say to git, Python, Assay and the tools that
// tests drive is forgotten. So a test does the same on every machine.

/** Seeds and factors of the tests themselves stay. */
const FORGOTTEN =
  /^(ACTIONS|ASSAY(?!_TEST|_SOAK)|AWS|BAZEL|CCACHE|GIT|GITHUB|GRADLE|NX|PYTHON|RECC|RUNNER|RUSH|SCCACHE|TURBO|WIREIT|XDG)_?|^(CI|LANG|LANGUAGE|LC_.*|FORCE_COLOR|NO_COLOR|CDPATH|ENV|BASH_ENV)$/;

for (const name of Object.keys(process.env)) if (FORGOTTEN.test(name)) delete process.env[name];

process.env.LC_ALL = 'C.UTF-8';
/** No signatures of commits, no hooks, no ignored files of this person's. */
process.env.GIT_CONFIG_GLOBAL = '/dev/null';
process.env.GIT_CONFIG_NOSYSTEM = '1';

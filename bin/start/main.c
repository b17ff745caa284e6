// assay-start: the `assay` command of the installed package. It becomes the executable beside it, or the
// bundle on Node. Its arguments, its process id and its exit code stay those of the command. The package of the
// server has no executable, so there `assay-server`, which is this program too, always becomes Node.
//
// Bun's runtime finds the bounds of its stack in /proc/self/maps, and aborts where that file cannot be read:
// in a chroot or a sandbox without /proc. Node starts there. docs/decisions/0261 has the measurements.
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define EXECUTABLE "assay"
#define NODE "node/node"
#define BUNDLE "node/main.cjs"

/** Not 1 or 2: after `assay run` those could be the exit code of the command that it runs. */
#define FAILED 125

#define INSTALL_AGAIN "install the package again"

static char folder[PATH_MAX];

static void locate(void) {
    const char *name = (const char *)getauxval(AT_EXECFN);
    if (name == NULL || realpath(name, folder) == NULL) {
        fprintf(stderr, "assay: its own folder was not found: %s\n", strerror(errno));
        exit(FAILED);
    }
    *strrchr(folder, '/') = '\0';
}

static const char *beside(const char *name) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s", folder, name) < 0) exit(FAILED);
    return path;
}

static void refuse(const char *program, const char *hint) {
    fprintf(stderr, "assay: %s cannot be started: %s: %s\n", program, strerror(errno), hint);
    exit(FAILED);
}

/**
 * A run of steps ends before the engine's last compiler pays: it takes a quarter of the CPU on its own threads
 * (docs/decisions/0340). The engine reads this option only from its environment. The mark tells the executable
 * to remove both again, so no command ever sees them. A value of the user stays.
 */
static void compile_less(void) {
    if (getenv("BUN_JSC_useFTLJIT") != NULL) return;
    setenv("BUN_JSC_useFTLJIT", "0", 1);
    setenv("ASSAY_START_JIT", "1", 1);
}

/** NODE_OPTIONS is for the programs of the user, not for this one. */
static void become_node(int argc, char *argv[], const char *hint) {
    unsetenv("NODE_OPTIONS");
    char **arguments = calloc((size_t)argc + 2, sizeof *arguments);
    if (arguments == NULL) exit(FAILED);
    const char *node = beside(NODE);
    arguments[0] = (char *)node;
    arguments[1] = (char *)beside(BUNDLE);
    for (int at = 1; at < argc; at++) arguments[at + 1] = argv[at];
    execv(node, arguments);
    refuse(node, hint);
}

int main(int argc, char *argv[]) {
    locate();
    const char *executable = beside(EXECUTABLE);
    if (access(executable, F_OK) != 0) {
        setenv("MALLOC_ARENA_MAX", "2", 0); // as server/commands/become-node.ts does
        become_node(argc, argv, INSTALL_AGAIN);
    }
    if (access("/proc/self/maps", R_OK) == 0) {
        if (argc > 1 && strcmp(argv[1], "run") == 0) compile_less();
        execv(executable, argv);
        refuse(executable, INSTALL_AGAIN);
    }
    fputs("assay: /proc/self/maps cannot be read, so Assay runs on Node, which starts more slowly\n", stderr);
    become_node(argc, argv, "mount /proc, or install assay-server, which brings Node");
}

"""A rule whose tool knows nothing of workers or caches: Assay stands between Bazel and the tool."""

def _shout_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".shouted")

    # The arguments that every request shares are on the worker's command line.
    startup = ctx.actions.args()
    startup.add(ctx.file._tool)

    # The others are in a param file, whose lines become the arguments of a request.
    request = ctx.actions.args()
    request.add("--in", ctx.file.src)
    request.add("--out", out)
    request.use_param_file("@%s", use_always = True)
    request.set_param_file_format("multiline")

    ctx.actions.run(
        mnemonic = "Shout",
        progress_message = "Shouting %s" % ctx.label,
        executable = ctx.file._worker,
        arguments = [startup, request],
        inputs = [ctx.file.src],
        tools = [ctx.file._tool],
        outputs = [out],
        # Passes ASSAY, ASSAY_STORE and ASSAY_REMOTE on, which .bazelrc names. The tool does not see them.
        use_default_shell_env = True,
        # One request at a time: not supports-multiplex-workers.
        execution_requirements = {"supports-workers": "1"},
    )
    return [DefaultInfo(files = depset([out]))]

shout = rule(
    implementation = _shout_impl,
    attrs = {
        "src": attr.label(allow_single_file = True, mandatory = True),
        "_tool": attr.label(default = "//tools:shout.sh", allow_single_file = True),
        "_worker": attr.label(default = "//tools:assay-worker.sh", allow_single_file = True),
    },
)

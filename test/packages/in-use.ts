// What each installation is asked to do: serve its documentation, store a result, and find it from an empty local store.
// It needs port 8980, so it runs in a network namespace of its own.

/** A script for sh. `start`: the command of the server. `folder`: exists, for this round alone. */
export function inUse(start: string, folder: string): string {
  return `
    cd ${folder}
    ${start} >server.log 2>&1 &
    server=$!
    for _ in $(seq 300); do grep -q listening server.log && break; sleep 0.1; done
    node=$(readlink /proc/$server/exe)
    $node -e "fetch('http://127.0.0.1:8980/docs/').then((page) => page.text()).then((text) => console.log(/<title>.*/.exec(text)))"
    mkdir workspace && cd workspace
    export ASSAY_REMOTE=http://127.0.0.1:8980
    for store in 1 2; do
      rm -f made
      assay run --store ../store$store --output made -- sh -c 'echo made > made' || { cat ../server.log; exit 1; }
    done
    kill $server && wait $server`;
}

export const FIRST_USE = /title>Assay.*assay: miss.*assay: hit \(remote\)/s;
export const LATER_USE = /title>Assay.*assay: hit \(remote\).*assay: hit \(remote\)/s;

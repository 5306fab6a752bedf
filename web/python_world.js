// Python in the page: an environment of a study, opened in Pyodide, behind the exports of an environment module
// (docs/environment-abi.md). The server's checks run these lines in Node, so that both step the same world.

/** The folders in which Python finds the environment, and what goes with it. */
const HOME = "/coplay";

/**
 * Starts Python.
 *
 * @param load `loadPyodide` of the release.
 * @param base The address of the release's files, with a slash at its end.
 * @param options Further options for `load`.
 */
export async function startPython(load, base, options = {}) {
  // A set's order would differ from page to page with another seed.
  return load({ indexURL: base, env: { PYTHONHASHSEED: "0", HOME }, ...options });
}

/**
 * Opens the environment that an archive holds, with the packages that it needs.
 *
 * @param python Pyodide.
 * @param name The name of the archive: one that was opened before is not unpacked again.
 * @param archive The bytes of the archive.
 * @returns The exports of a module.
 */
export async function openWorld(python, name, archive) {
  const path = `${HOME}/${name}`;
  if (!python.FS.analyzePath(path).exists) {
    python.FS.mkdirTree(path);
    python.unpackArchive(archive, "zip", { extractDir: path });
  }
  const manifest = JSON.parse(python.FS.readFile(`${path}/coplay.json`, { encoding: "utf8" }));
  for (const name of manifest.packages) await python.loadPackage(name, { messageCallback: () => {} });
  const begin = python.runPython(BEGIN);
  const begun = begin(path, JSON.stringify(manifest.world));
  begin.destroy();
  return exportsOf(python, begun);
}

const BEGIN = `
def begin(path, config):
    import json, sys
    for folder in (path + "/packages", path + "/study"):
        if folder not in sys.path:
            sys.path.insert(0, folder)
    from coplay_page.page import PageWorld, inbox, outbox
    return PageWorld({**json.loads(config), "folder": path + "/study"}), inbox, outbox
begin
`;

function exportsOf(python, begun) {
  const [world, inbox, outbox] = begun;
  const at = (buffer) => {
    const view = buffer.getBuffer("u8");
    // The buffers never move; a view alone would be void once the memory grows.
    const place = view.data.byteOffset;
    view.release();
    return place;
  };
  const [inboxAt, outboxAt] = [at(inbox), at(outbox)];
  const room = inbox.length;
  // Looked up once: each look-up makes an object that Python has to forget again.
  const bare = (name) => {
    const method = world[name];
    return () => method();
  };
  const call = (name) => {
    const method = world[name];
    return (argument) => method(argument);
  };
  const wide = (narrow) => (argument) => BigInt(narrow(argument));
  return {
    memory: {
      get buffer() {
        return python._module.HEAPU8.buffer;
      },
    },
    coplay_abi: () => 2,
    coplay_inbox: (length) => (length > room ? 0 : inboxAt),
    coplay_outbox: () => outboxAt,
    coplay_open: call("open"),
    coplay_facts: bare("facts"),
    coplay_reset: call("reset"),
    coplay_step: call("step"),
    coplay_observe: call("observe"),
    coplay_describe: call("describe"),
    coplay_draw: () => world.draw(0),
    coplay_draw_for: call("draw"),
    // An older archive has no such lines.
    coplay_point: world.point ? call("point") : () => -1,
    coplay_save: call("save"),
    coplay_load: call("load"),
    coplay_score: wide(bare("score")),
    coplay_seat_score: wide(call("seat_score")),
    coplay_state: bare("state"),
    coplay_restore: call("restore"),
    coplay_inject: () => {},
    coplay_mask: wide(call("mask")),
    coplay_acting: bare("acting"),
    // The caller makes the digest of these bytes, and asks for no other.
    coplay_plain: bare("plain"),
    coplay_digest: () => 0n,
    /** Lets Python forget the world. */
    close() {
      begun.destroy();
    },
  };
}

// Brings Python into the page, once, and opens environments in it.
import { openWorld, startPython } from "./python_world.js";
import { findStarted, forgetStarted, keepStarted } from "./python_start.js";

/** What a page loads of the release, with its size in the cache and its weight in the progress. */
const FILES = ["pyodide.asm.wasm", "python_stdlib.zip", "pyodide.asm.js"];

let begun = null;

/**
 * Opens an archive.
 *
 * @param url The address of the archive, which names it by its hash.
 * @param archive Its bytes.
 * @param version The version of the release.
 * @param told Hears which part of Python has arrived, from 0 to 1.
 * @returns The exports of a module.
 */
export async function openArchive(url, archive, version, told) {
  const base = `/pyodide/${version}/`;
  begun ??= begin(base, told).catch((error) => {
    begun = null;
    throw error;
  });
  const python = await begun;
  return openWorld(python, url.replace(/\W+/g, "_"), archive);
}

async function begin(base, told) {
  const [started] = await Promise.all([findStarted(base), fetchAhead(base, told)]);
  const { loadPyodide } = await import(`${base}pyodide.mjs`);
  const start = (options) => startPython(loadPyodide, new URL(base, location.href).href, options);
  if (started) {
    try {
      const python = await start({ _loadSnapshot: started });
      performance.mark("python-started-from-copy");
      return python;
    } catch (error) {
      console.warn("Python does not start from its copy, and starts anew", error);
      await forgetStarted();
    }
  }
  const python = await start({ _makeSnapshot: true });
  keepStarted(base, python);
  return python;
}

/** Fetches the large files into the browser's cache, and says how far it is. */
async function fetchAhead(base, told) {
  let [arrived, whole] = [0, 0];
  const responses = await Promise.all(FILES.map((name) => fetch(base + name)));
  for (const response of responses) {
    if (!response.ok) throw new Error(`${response.url}: ${response.status} ${response.statusText}`);
    whole += Number(response.headers.get("coplay-size") ?? 0);
  }
  await Promise.all(responses.map(async (response) => {
    for (const reader = response.body.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) return;
      arrived += value.length;
      told(whole > 0 ? Math.min(1, arrived / whole) : 0);
    }
  }));
}

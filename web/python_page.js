// Brings Python into the page, once, and opens environments in it.
import { openWorld, startPython } from "./python_world.js";

const FILES = ["pyodide.asm.wasm", "python_stdlib.zip", "pyodide.asm.js"];
/** Where the browser keeps Python's memory after its start: a later visit, and so every visit, begins with such a copy. */
const STARTS = "python-start-1";
/** What every environment imports. The copy has it, so another list needs another number above. */
const IMPORTS = `import array, difflib, functools, hashlib, importlib.metadata, importlib.util, inspect, io, itertools, json, math
import pickle, pkgutil, platform, random, re, select, signal, struct, threading, traceback, types, typing`;
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
  return openWorld(python, url.replace(/\W+/g, "_"), archive).catch(async (error) => {
    await forgetStart();
    throw error;
  });
}

async function begin(base, told) {
  const store = await globalThis.caches?.open(STARTS).catch(() => null);
  const kept = await store?.match(base).catch(() => null);
  if (!kept) await fetchAhead(base, told);
  const { loadPyodide } = await import(`${base}pyodide.mjs`);
  const start = (options) => startPython(loadPyodide, new URL(base, location.href).href, options);
  if (!store) return start();
  try {
    const fresh = kept ? null : await start({ _makeSnapshot: true });
    fresh?.runPython(IMPORTS);
    const memory = fresh ? fresh.makeMemorySnapshot() : new Uint8Array(await kept.arrayBuffer());
    const python = await start({ _loadSnapshot: memory });
    if (kept) performance.mark("python-started-from-kept-copy");
    // Once the game runs: a browser without room keeps none.
    else setTimeout(() => store.put(base, new Response(memory)).catch(() => {}), 5_000);
    return python;
  } catch (error) {
    console.warn("Python starts without a copy of its memory:", error);
    await forgetStart();
    return start();
  }
}

const forgetStart = () => globalThis.caches?.delete(STARTS).catch(() => false);

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

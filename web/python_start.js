// A copy of the memory of Python as it is after its start, in this browser: the next start takes it up, which is ten times
// as fast. It is made before the page opens an environment, so it holds nothing of a participant.

/** The cache of the browser that holds the copy: one, by the address of its release. */
const CACHE = "python-start";

/** Modules of Python that every environment needs. */
const IMPORTS = `
import array, difflib, functools, hashlib, importlib.metadata, importlib.util, inspect, io, itertools, json, math, pickle
import pkgutil, platform, random, re, select, signal, struct, threading, traceback, types, typing
`;

/** Finds the copy for a release; null if there is none, or if this browser keeps none. */
export async function findStarted(base) {
  try {
    const kept = await caches.open(CACHE).then((cache) => cache.match(base));
    return kept ? new Uint8Array(await kept.arrayBuffer()) : null;
  } catch {
    return null;
  }
}

/** Keeps a copy of a Python that has just started; a browser that has no room for it keeps none. */
export async function keepStarted(base, python) {
  try {
    python.runPython(IMPORTS);
    const memory = python.makeMemorySnapshot();
    await forgetStarted();
    const cache = await caches.open(CACHE);
    await cache.put(base, new Response(memory));
  } catch (error) {
    console.info("the next start of Python will not be faster:", error);
  }
}

/** Forgets every copy. */
export async function forgetStarted() {
  await caches.delete(CACHE);
}

// Runs the wasm build of the bench beside GGRS: `node versus.mjs FOLDER KIND...` prints JSON lines.
// FOLDER holds versus.js and versus_bg.wasm. Each KIND runs in its own module, so a trap ends only that KIND.
import fs from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...kinds] = process.argv.slice(2);
const script = pathToFileURL(path.resolve(folder, "versus.js")).href;
const wasm = fs.readFileSync(path.resolve(folder, "versus_bg.wasm"));

globalThis.realClock = performance;
const RealDate = Date;
let virtual = 0;
globalThis.setNow = (ms) => {
  virtual = ms;
};

/** From here on everybody's clocks show what `setNow` says. */
function virtualClocks() {
  const epoch = RealDate.now();
  globalThis.performance = { now: () => virtual };
  globalThis.Date = class extends RealDate {
    constructor(...args) {
      super(...(args.length > 0 ? args : [epoch + virtual]));
    }
    static now() {
      return epoch + virtual;
    }
  };
}

let loaded = 0;
async function load() {
  virtual = 0;
  const module = await import(`${script}?${(loaded += 1)}`);
  module.initSync({ module: wasm });
  return module;
}

/** What becomes of GGRS when a player of three drops: how many matches diverge or panic. */
async function drops(cases) {
  let wrong = 0;
  for (const [seed, gap, loss] of cases) {
    const module = await load();
    try {
      wrong += module.drop_diverges(seed, gap, loss) ? 1 : 0;
    } catch {
      // A panic is a trap in wasm.
      wrong += 1;
    }
  }
  return wrong;
}

const dropped = {
  gap: [[50, 100, 200, 400].map((gap) => [1, gap, 0]), "one of 3 drops, for one survivor 50 to 400 ms later"],
  loss: [Array.from({ length: 60 }, (_, seed) => [seed, 0, 2000]), "one of 3 drops, loss 20 %"],
};

for (const kind of kinds) {
  if (kind === "costs") {
    console.log((await load()).measure(kind));
    continue;
  }
  if (globalThis.performance === realClock) virtualClocks();
  if (kind in dropped) {
    const [cases, what] = dropped[kind];
    const row = {
      figure: "9",
      name: `${what}: matches that diverge or panic`,
      unit: `of ${cases.length}`,
      ours: null,
      ggrs: await drops(cases),
      target: null,
    };
    console.log(JSON.stringify(row));
  } else {
    console.log((await load()).measure(kind));
  }
}

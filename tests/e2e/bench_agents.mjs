// A decision of the models of `bench agents` in browsers, here and in onnxruntime-web, one JSON line for each figure.
//
//     node bench_agents.mjs --models FOLDER --ours FOLDER --ort FOLDER
//
// --models   has NAME.onnx and NAME.network of each model
// --ours     has decision.js and decision_bg.wasm
// --ort      is the folder `dist` of the package onnxruntime-web

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import { launch, noFirefox, say } from './harness.mjs';

const { values: options } = parseArgs({
  options: { models: { type: 'string' }, ours: { type: 'string' }, ort: { type: 'string' } },
});

const MODELS = [
  { name: 'mlp_2x64', shape: [1, 96] },
  { name: 'jaxmarl_conv', shape: [1, 26, 4, 5] },
  { name: 'gru_128', shape: [1, 96], state: [1, 128] },
];
const ORT = ['ort.wasm.min.mjs', 'ort-wasm-simd-threaded.mjs', 'ort-wasm-simd-threaded.wasm'];
const OURS = ['decision.js', 'decision_bg.wasm'];

/** Milliseconds of a frame at 60 Hz. */
const FRAME_MS = 1_000 / 60;

const print = (name, value, unit) => console.log(JSON.stringify({ name, value: Number(value.toPrecision(4)), unit }));

const server = createServer(answer).listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${server.address().port}/`;
try {
  await printBytes();
  for (const engine of noFirefox ? ['chromium'] : ['chromium', 'firefox']) await measure(engine);
} finally {
  server.close();
}

/** Serves an empty page and the files of the three folders. */
async function answer(request, response) {
  const [, folder, file] = new URL(request.url, url).pathname.split('/');
  const types = { mjs: 'text/javascript', js: 'text/javascript', wasm: 'application/wasm' };
  try {
    const body = folder ? await readFile(path.join(options[folder], path.basename(file))) : '<!doctype html>';
    const type = folder ? types[file.split('.').pop()] ?? 'application/octet-stream' : 'text/html';
    response.writeHead(200, { 'content-type': type }).end(body);
  } catch {
    response.writeHead(404).end();
  }
}

/** What a page downloads for each, compressed as a server would. */
async function printBytes() {
  const compress = promisify(brotliCompress);
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
  const count = async files => {
    const packed = await Promise.all(files.map(async file => (await compress(await readFile(file), quality)).length));
    return packed.reduce((sum, bytes) => sum + bytes, 0) / 1_000;
  };
  print('program that decides, here', await count(OURS.map(file => path.join(options.ours, file))), 'kB downloaded');
  print('program that decides, onnxruntime-web', await count(ORT.map(file => path.join(options.ort, file))), 'kB downloaded');
  for (const { name } of MODELS) {
    print(`${name}, here`, await count([path.join(options.models, `${name}.network`)]), 'kB downloaded');
    print(`${name}, onnxruntime-web`, await count([path.join(options.models, `${name}.onnx`)]), 'kB downloaded');
  }
}

/** Both programs in one page of a browser; in Chromium also on a processor that is slowed four times. */
async function measure(engine) {
  const browser = await launch(engine);
  try {
    const page = await browser.newPage();
    await page.goto(url);
    for (const model of MODELS) {
      say(`${engine}: ${model.name}`);
      const timed = await page.evaluate(timeDecisions, model);
      assert.deepEqual(timed.ours.actions, timed.ort.actions, `${model.name} takes the same actions in both`);
      print(`${model.name}, here, ${engine}`, timed.ours.us, 'µs a decision');
      print(`${model.name}, onnxruntime-web, ${engine}`, timed.ort.us, 'µs a decision');
    }
    if (engine === 'firefox') return;
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('Emulation.setCPUThrottlingRate', { rate: 4 });
    for (const model of MODELS) {
      const timed = await page.evaluate(timeDecisions, model);
      for (const [label, { us }] of [['here', timed.ours], ['onnxruntime-web', timed.ort]]) {
        print(`${model.name}, ${label}, processor slowed four times`, us / 1_000 / FRAME_MS * 100, '% of a frame at 60 Hz');
      }
    }
  } finally {
    await browser.close();
  }
}

/** In the page: the actions of both programs on the same observations, and the time of a decision of each. */
async function timeDecisions({ name, shape, state }) {
  const size = shape.reduce((product, side) => product * side, 1);
  const ours = await import('/ours/decision.js');
  await ours.default({ module_or_path: '/ours/decision_bg.wasm' });
  const ort = await import('/ort/ort.wasm.min.mjs');
  ort.env.wasm.wasmPaths = '/ort/';
  ort.env.wasm.numThreads = 1;
  const bytes = async file => new Uint8Array(await (await fetch(`/models/${file}`)).arrayBuffer());
  // A fifth of the values is not 0, as in a kitchen; which ones changes from one decision to the next.
  const observations = Array.from({ length: 20 }, (_, round) =>
    Float32Array.from({ length: size }, (_, at) => ((at + round) * 7 % 5 === 0 ? 1 : 0)));

  const player = new ours.Player(await bytes(`${name}.network`), size);
  const session = await ort.InferenceSession.create(await bytes(`${name}.onnx`), { executionProviders: ['wasm'] });
  let memory;
  const reset = () => {
    player.reset();
    if (state) memory = new ort.Tensor('float32', new Float32Array(state[1]), state);
  };
  const run = async observation => {
    const feeds = { obs: new ort.Tensor('float32', observation, shape) };
    if (state) feeds.h = memory;
    const results = await session.run(feeds);
    memory = results.h_next;
    const logits = [...results.logits.data];
    return logits.indexOf(Math.max(...logits));
  };
  reset();
  const actions = { ours: observations.map(observation => player.act(observation)), ort: [] };
  for (const observation of observations) actions.ort.push(await run(observation));

  // The best of some rounds, which reduces the influence of other work on the machine.
  const time = async (rounds, decisions, work) => {
    let best = Infinity;
    for (let round = 0; round < rounds; round++) {
      const start = performance.now();
      await work(decisions);
      best = Math.min(best, (performance.now() - start) * 1_000 / decisions);
    }
    return best;
  };
  reset();
  const here = await time(10, 2_000, decisions => {
    for (let at = 0; at < decisions; at++) player.act(observations[at % observations.length]);
  });
  const there = await time(10, 300, async decisions => {
    for (let at = 0; at < decisions; at++) await run(observations[at % observations.length]);
  });
  player.free();
  await session.release();
  return { ours: { actions: actions.ours, us: here }, ort: { actions: actions.ort, us: there } };
}

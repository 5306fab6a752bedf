// Every kind of network that a model can become gives the same bits in browsers as in the server: attention, convolution,
// GRU, LSTM and all other operators. `cargo xtask test` makes the program, and the tests of `onnx` the networks.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { ROOT, launch, noFirefox } from './harness.mjs';

const TARGET = process.env.COPLAY_TARGET ?? path.join(ROOT, 'target');
const FOLDERS = { program: path.join(TARGET, 'decision'), networks: path.join(TARGET, 'tmp/networks') };
const TYPES = { '.js': 'text/javascript', '.wasm': 'application/wasm', '.json': 'application/json' };

let server;
before(async () => {
  server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
after(() => server.close());

/** Serves an empty page and the files of both folders. */
async function answer(request, response) {
  const [, folder, file] = request.url.split('/');
  try {
    const body = folder ? await readFile(path.join(FOLDERS[folder], path.basename(file))) : '<!doctype html>';
    const type = folder ? TYPES[path.extname(file)] ?? 'application/octet-stream' : 'text/html';
    response.writeHead(200, { 'content-type': type }).end(body);
  } catch {
    response.writeHead(404).end();
  }
}

/** In the page: the decisions of each network with other bits than those that were kept. */
async function compare(names) {
  const { default: init, Values } = await import('/program/decision.js');
  await init({ module_or_path: '/program/decision_bg.wasm' });
  const found = { compared: 0, differing: [] };
  for (const name of names) {
    const [network, kept] = await Promise.all([fetch(`/networks/${name}.network`), fetch(`/networks/${name}.json`)]);
    const values = new Values(new Uint8Array(await network.arrayBuffer()));
    for (const [at, { observation, mask, bits }] of (await kept.json()).entries()) {
      const here = new Uint32Array(values.next(Float32Array.from(observation), BigInt(mask)).buffer);
      found.compared += 1;
      if (here.join() !== bits.join()) found.differing.push(`${name}, decision ${at}: ${here.join()} for ${bits.join()}`);
    }
    values.free();
  }
  return found;
}

for (const engine of ['chromium', 'firefox']) {
  test(`networks of every library give the same bits: ${engine}`, { skip: engine === 'firefox' && noFirefox }, async t => {
    const files = await readdir(FOLDERS.networks);
    const names = files.filter(file => file.endsWith('.network')).map(file => path.basename(file, '.network'));
    assert.ok(names.includes('flax_attention') && names.includes('torch_odds') && names.length > 20, names.join());
    const browser = await launch(engine);
    t.after(() => browser.close());
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    const { compared, differing } = await page.evaluate(compare, names);
    assert.deepEqual(differing, []);
    assert.ok(compared > 2 * names.length, `${compared} decisions`);
  });
}

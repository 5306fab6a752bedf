// What a step and a rollback of a module cost in each browser that is given, one JSON line each.
// node engines.mjs --module FILE.wasm --browser Chromium=/usr/bin/chromium --browser Firefox=/usr/bin/firefox
//
// The browsers are started as they are, without a driver: the page sends its result back.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { timeModule } from './module_speed.mjs';
import { scratch } from './harness.mjs';

const { values: options } = parseArgs({
  options: { module: { type: 'string' }, browser: { type: 'string', multiple: true } },
});

const LIMIT_MS = 120_000;
const ARGUMENTS = {
  Chromium: folder => ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', `--user-data-dir=${folder}`],
  Firefox: folder => ['--headless', '--no-remote', '--profile', folder],
};

const module = (await readFile(options.module)).toString('base64');
const page = `<!doctype html><meta charset="utf-8"><title>engine</title><script type="module">
${timeModule}
const result = await timeModule("${module}").catch(error => ({ error: String(error) }));
await fetch('/result', { method: 'POST', body: JSON.stringify(result) });
</script>`;

const print = (name, value, unit) => console.log(JSON.stringify({ name, value: Number(value.toFixed(3)), unit }));

/** Opens the page in a browser and waits for what it sends. */
async function measure(name, program) {
  const leftovers = [];
  const server = createServer();
  const result = new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`${name} sent nothing within ${LIMIT_MS / 1_000} s`)), LIMIT_MS).unref();
    server.on('request', async (request, response) => {
      if (request.url !== '/result') return response.setHeader('content-type', 'text/html').end(page);
      let text = '';
      for await (const part of request) text += part;
      response.end();
      resolve(JSON.parse(text));
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const folder = await scratch({ after: work => leftovers.push(work) });
  const url = `http://127.0.0.1:${server.address().port}/`;
  const browser = spawn(program, [...ARGUMENTS[name](folder), url], { stdio: 'ignore' });
  try {
    return await Promise.race([result, once(browser, 'error').then(([error]) => { throw error; })]);
  } finally {
    const gone = once(browser, 'exit');
    browser.kill();
    await gone;
    server.closeAllConnections();
    server.close();
    for (const work of leftovers) await work();
  }
}

for (const browser of options.browser ?? []) {
  const [name, program] = browser.split('=');
  const result = await measure(name, program);
  assert.equal(result.error, undefined);
  assert.equal(result.again, result.first, 'a rollback over the same inputs gives the same state');
  print(`${name}: step`, result.step_us * 1_000, 'ns');
  print(`${name}: rollback of ten ticks (one load, ten steps and saves)`, result.rollback_us, 'µs');
}

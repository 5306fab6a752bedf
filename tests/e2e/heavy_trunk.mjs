// `trunk serve` in front of `coplay dev`: two people play through it. `cargo xtask trunk` runs this file with a trunk.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, before, test } from 'node:test';
import { ROOT, Server, coplay, drawLess, launch, scratch } from './harness.mjs';
import { enter, takePart } from './visits.mjs';

/** The page of a developer is compiled first. */
const COMPILED = 900_000;

/** The port that Trunk.toml proxies to. */
const BEHIND = 8080;

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** A port that nothing listens at. */
async function freePort() {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  listener.close();
  await once(listener, 'close');
  return port;
}

/** Runs `trunk serve` at an address until the test is over; waits until it answers. */
async function serveByTrunk(t, address) {
  const words = ['serve', '--release', '--address', '127.0.0.1', '--port', new URL(address).port];
  const trunk = spawn(process.env.COPLAY_TRUNK, words, { cwd: ROOT, stdio: 'inherit' });
  const gone = once(trunk, 'exit');
  t.after(async () => {
    trunk.kill('SIGTERM');
    await gone;
  });
  const begin = Date.now();
  for (;;) {
    const answer = await fetch(address).catch(() => null);
    if (answer?.ok) return;
    assert.equal(trunk.exitCode, null, 'trunk serves');
    assert.ok(Date.now() - begin < COMPILED, 'trunk serves in time');
    await new Promise(resolve => { setTimeout(resolve, 200); });
  }
}

test('two people play through trunk, and every request that is not for the page reaches the server', async t => {
  const folder = await scratch(t);
  const study = `${folder}/study`;
  const { code, stderr } = await coplay('new', 'overcooked', study);
  assert.equal(code, 0, stderr);
  const address = `http://127.0.0.1:${await freePort()}/`;
  const args = ['--origin', new URL(address).origin];
  const server = await Server.start({ study, data: `${folder}/data`, port: BEHIND, args });
  t.after(() => server.kill());
  await serveByTrunk(t, address);
  const page = await (await fetch(address)).text();
  assert.ok(!page.includes('data-trunk'), 'no mark of a build tool in the page');
  const links = server.links.slice(0, 2).map(link => link.replace(server.url, address));
  const pair = await Promise.all(links.map((link, at) => enter(t, browser, link, { name: `person ${at}`, before: drawLess })));
  const ways = await Promise.all(pair.map(person => takePart(person, { right: ['3', 'ours'] })));
  for (const way of ways) assert.ok(way.includes('play') && way.at(-1) === 'thanks', way.join(', '));
  for (const person of pair) assert.deepEqual(person.errors, []);
  assert.equal((await fetch(`${address}desk`)).status, 200, 'the dashboard is there, too');
});

// A real page plays with a participant without a browser: its WebRTC is the `webrtc` crate. Both are in namespaces of
// their own, with links as participants have them. `COPLAY_NET_LONG=1` plays each way with each browser.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { ROOT, SOON, launch, noFirefox } from './harness.mjs';
import { Network, noNetwork } from './network.mjs';
import { TURN, agreed, enter, finish, goBy, serve } from './rounds.mjs';

const HONEST = process.env.COPLAY_HONEST ?? path.join(ROOT, 'target/debug/honest');
const HORIZON = 240;
const LONG = Boolean(process.env.COPLAY_NET_LONG);

if (noNetwork) console.log(`# matches with a participant without a browser are NOT run: ${noNetwork}`);

let network;
let port = 8_180;
before(async () => {
  if (!noNetwork) network = await Network.start('server', 'page', 'native');
});
after(() => network?.stop());

/** Lets a participant without a browser take part, and gives a promise of its report. */
function takePart(t, server, link) {
  const { host, searchParams } = new URL(link);
  const args = ['--address', host, '--study', server.study, '--link', searchParams.get('s')];
  const [command, ...rest] = [...network.native.command, HONEST, ...args];
  const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => child.kill());
  let words = '';
  child.stdout.on('data', bytes => { words += bytes; });
  return once(child, 'close').then(() => JSON.parse(words));
}

/**
 * A match of a page and a participant without a browser: `settings` are the links', `route` is the way that inputs of the
 * page come to go by, `links` the way that the other one counts.
 */
function match(engine, title, { settings, net, route, links, then }) {
  const skip = noNetwork || (engine === 'firefox' && noFirefox);
  test(`${engine} and a participant without a browser: ${title}`, { skip }, async t => {
    await network.heal();
    port += 1;
    // The participant without a browser reads the instructions for up to half a minute.
    const changes = { horizon: HORIZON, tick_hz: 30, timeout_s: 120, net };
    const server = await serve(t, changes, { place: network.server, port });
    await network.set('*', '*', settings);
    const browser = await launch(engine, network.page);
    t.after(() => browser.close());
    const other = takePart(t, server, server.links[1]);
    const people = await enter(t, server, [browser]);
    await people[0].shows('play', 2 * SOON);
    const [[report]] = await Promise.all([finish(people), goBy(people, route)]);
    const { outcome, stuck, links: counted } = await other;
    assert.equal(outcome, 'completed', stuck);
    assert.deepEqual(counted, { direct: 0, turn: 0, relay: 0, [links]: 1 });
    await then(report);
    await network.heal();
    await agreed(t, server, [report], HORIZON);
  });
}

const badLink = { delay_ms: 40, jitter_ms: 10, loss: 0.03 };

const directly = engine => match(engine, 'directly, with delay, jitter and loss', {
  settings: badLink,
  net: '{fallback: none}',
  route: ['direct'],
  links: 'direct',
  async then(report) {
    assert.ok(report.rtt_ms > 60, `the link is slow: ${report.rtt_ms} ms`);
    for (const [from, to] of [['page', 'native'], ['native', 'page']]) {
      assert.ok(await network.sent(from, to) > HORIZON / 2, `${from} speaks to ${to}`);
    }
  },
});

const throughTurn = engine => match(engine, 'through TURN, with delay, jitter and loss', {
  settings: badLink,
  net: '{ice: relay, fallback: none}',
  route: TURN,
  links: 'turn',
  async then() {
    for (const [from, to] of [['page', 'native'], ['native', 'page']]) {
      assert.equal(await network.sent(from, to), 0, `${from} never speaks to ${to}`);
    }
  },
});

directly('chromium');
throughTurn('firefox');
if (LONG) {
  directly('firefox');
  throughTurn('chromium');
}

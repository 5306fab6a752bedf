// Matches between machines that the network keeps apart: Chromium and Firefox in namespaces of their own, with
// links as participants have them. `COPLAY_NET_LONG=1` plays every pairing, and four people.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, noFirefox } from './harness.mjs';
import { Network, noNetwork, spellings } from './network.mjs';
import { TURN, agreed, enter, finish, goBy, serve, survive } from './rounds.mjs';

const LONG = Boolean(process.env.COPLAY_NET_LONG);
const HZ = 30;
const HORIZON = 240;
const PLACES = LONG ? ['a', 'b', 'c', 'd'] : ['a', 'b'];

if (noNetwork) console.log(`# matches between namespaces are NOT run: ${noNetwork}`);

let network;
let port = 8_080;
const browsers = new Map();

before(async () => {
  if (!noNetwork) network = await Network.start('server', ...PLACES);
});
after(async () => {
  await Promise.allSettled([...browsers.values()].map(async browser => (await browser).close()));
  await network?.stop();
});

/** The browser of a place, started once. */
const browser = (engine, place) => {
  const key = `${engine} ${place}`;
  if (!browsers.has(key)) browsers.set(key, launch(engine, network[place]));
  return browsers.get(key);
};

const PAIRS = [['chromium', 'firefox']];
if (LONG) PAIRS.push(['firefox', 'chromium'], ['chromium', 'chromium'], ['firefox', 'firefox'], ['chromium', 'firefox', 'chromium', 'firefox']);

/**
 * A match for each pairing: `settings` are the links' from the start, `routes` the ways that all inputs come to go by,
 * and `meanwhile` is what happens then; `play` is `finish` or `survive`.
 */
function matches(title, { settings = {}, net, page, routes, play = (_, people) => finish(people), meanwhile, then }) {
  for (const engines of PAIRS) {
    const skip = noNetwork || (engines.includes('firefox') && noFirefox);
    test(`${title}: ${engines.join(', ')}`, { skip }, async t => {
      await network.heal();
      port += 1;
      const server = await serve(t, { horizon: HORIZON, tick_hz: HZ, net }, { players: engines.length, place: network.server, port });
      const all = typeof settings === 'function' ? settings(server) : settings;
      await network.set('*', '*', all);
      await network.capture();
      const there = await Promise.all(engines.map((engine, at) => browser(engine, PLACES[at])));
      const people = await enter(t, server, there, { before: page });
      const changing = goBy(people, routes).then(() => meanwhile?.(people));
      const [reports] = await Promise.all([play(t, people), changing]);
      await then?.(people, reports);
      await network.heal();
      await agreed(t, server, reports, HORIZON);
    });
  }
}

const pairs = people => people.flatMap((_, one) => people.map((_, other) => [one, other]))
  .filter(([one, other]) => one !== other).map(each => each.map(at => PLACES[at]));

/** In the page, before its own scripts: keeps every message of the session socket, as text. */
function overhear() {
  window.wire = [];
  const note = data => {
    const bytes = new Uint8Array(data.buffer ?? data);
    window.wire.push(Array.from(bytes, byte => String.fromCharCode(byte)).join(''));
  };
  window.WebSocket = class extends WebSocket {
    constructor(...args) {
      super(...args);
      this.addEventListener('message', ({ data }) => note(data));
    }
    send(data) {
      note(data.slice());
      super.send(data);
    }
  };
}

/** How many signals there were, and the messages that tell the address of a player, however it is spelt. */
async function signals(people) {
  const addresses = people.flatMap((_, seat) => Object.values(spellings(network[PLACES[seat]].address)));
  const heard = (await Promise.all(people.map(person => person.page.evaluate(() => window.wire)))).flat();
  const telling = heard.filter(text => addresses.some(address => text.includes(address.toString('latin1'))));
  return { all: heard.filter(text => text.includes('candidate:')).length, telling };
}

matches('delay, jitter and loss', {
  settings: { delay_ms: 40, jitter_ms: 10, loss: 0.03 },
  page: overhear,
  routes: ['direct'],
  async then(people, reports) {
    for (const report of reports) assert.ok(report.rtt_ms > 60, `the link is slow: ${report.rtt_ms} ms`);
    const { telling } = await signals(people);
    assert.ok(telling.length > 0, 'pages that may know of each other do');
    for (const [from, to] of pairs(people)) assert.ok(await network.sent(from, to) > HORIZON / 2, `${from} speaks to ${to}`);
  },
});

matches('a slow uplink with packets out of order', {
  settings: { delay_ms: 20, jitter_ms: 20, reorder: true, rate_kbit: 2_000 },
  routes: ['direct'],
});

matches('no UDP anywhere', { settings: { delay_ms: 10, pass: 'tcp' }, routes: ['TURN over TCP'] });

matches('nothing but the port of the page', {
  settings: server => ({ delay_ms: 10, pass: `tcp:${server.port}` }),
  routes: ['WebSocket'],
  then: (_, reports) => reports.forEach(report => assert.equal(report.direct, 0)),
});

matches('pages that may not know of each other', {
  net: '{ice: relay}',
  page: overhear,
  routes: TURN,
  async then(people) {
    const packets = await network.captured();
    const telling = (to, of, spelling) => packets.filter(packet =>
      packet.to === network[to].address && packet.bytes.includes(spellings(network[of].address)[spelling]));
    for (const [from, to] of pairs(people)) {
      assert.equal(await network.sent(from, to), 0, `${from} never speaks to ${to}`);
      for (const spelling of ['text', 'binary', 'disguised']) {
        assert.equal(telling(to, from, spelling).length, 0, `no packet tells ${to} of ${from} as ${spelling}`);
      }
      // The search would find them: each knows the server's address, and its own.
      assert.ok(telling(to, 'server', 'text').length > 0 && telling(to, to, 'binary').length > 0);
      assert.ok(telling(to, to, 'disguised').length > 0, 'a page learns its own address from STUN');
    }
    const { all, telling: told } = await signals(people);
    assert.ok(all >= people.length, 'signals were heard');
    assert.deepEqual(told, [], 'no message tells an address');
  },
});

matches('the direct way closes in the middle', {
  settings: { delay_ms: 15 },
  routes: ['direct'],
  play: survive,
  async meanwhile(people) {
    for (const [from, to] of pairs(people)) await network.tell(`set ${from} ${to} pass=none`);
    await goBy(people, ['WebSocket']);
    await goBy(people, TURN);
  },
});

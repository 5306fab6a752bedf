// Matches between machines that the network keeps apart: Chromium and Firefox in namespaces of their own, with
// links as participants have them. `COPLAY_NET_LONG=1` plays every pairing, and four people.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { SOON, launch, noFirefox } from './harness.mjs';
import { Network, noNetwork } from './network.mjs';
import { agreed, enter, finish, serve } from './rounds.mjs';

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

/** A match for each pairing: `settings` are the links' from the start, `meanwhile` is what happens to them later. */
function matches(title, { settings = {}, net, page, meanwhile, then }) {
  for (const engines of PAIRS) {
    const skip = noNetwork || (engines.includes('firefox') && noFirefox);
    test(`${title}: ${engines.join(', ')}`, { skip }, async t => {
      await network.heal();
      port += 1;
      const server = await serve(t, { horizon: HORIZON, tick_hz: HZ, net }, { players: engines.length, place: network.server, port });
      const all = typeof settings === 'function' ? settings(server) : settings;
      await network.set('*', '*', all);
      const there = await Promise.all(engines.map((engine, at) => browser(engine, PLACES[at])));
      const people = await enter(t, server, there, { before: page });
      const changing = meanwhile?.(people, server);
      const [reports] = await Promise.all([finish(people), changing]);
      await then?.(people, reports, t);
      await network.heal();
      await agreed(t, server, reports, HORIZON);
    });
  }
}

const pairs = people => people.flatMap((_, one) => people.map((_, other) => [one, other]))
  .filter(([one, other]) => one !== other).map(each => each.map(at => PLACES[at]));

/** Waits until a page is at a tick. */
const at = (person, tick) => person.page.waitForFunction(
  tick => JSON.parse(window.coplay.report()).tick >= tick, tick, { timeout: SOON });

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

/** How many signals there were, and the messages that tell the address of a player. */
async function signals(people) {
  const addresses = people.map((_, seat) => network[PLACES[seat]].address);
  const heard = await Promise.all(people.map(person => person.page.evaluate(() => window.wire)));
  const all = heard.flat().filter(text => text.includes('candidate:')).length;
  return { all, telling: heard.flat().filter(text => addresses.some(address => text.includes(address))) };
}

matches('delay, jitter and loss', {
  settings: { delay_ms: 40, jitter_ms: 10, loss: 0.03 },
  page: overhear,
  async then(people, reports) {
    for (const report of reports) {
      assert.ok(report.direct > 0, 'from page to page');
      assert.ok(report.rtt_ms > 60, `the link is slow: ${report.rtt_ms} ms`);
    }
    const { telling } = await signals(people);
    assert.ok(telling.length > 0, 'pages that may know of each other do');
    for (const [from, to] of pairs(people)) assert.ok(await network.sent(from, to) > HORIZON / 2, `${from} speaks to ${to}`);
  },
});

matches('a slow uplink with packets out of order', {
  settings: { delay_ms: 20, jitter_ms: 20, reorder: true, rate_kbit: 2_000 },
});

matches('no UDP anywhere', {
  settings: { delay_ms: 10, pass: 'tcp' },
  then: (_, reports) => reports.forEach(report => assert.ok(report.direct > 0, 'through TURN over TCP')),
});

matches('nothing but the port of the page', {
  settings: server => ({ delay_ms: 10, pass: `tcp:${server.port}` }),
  then: (_, reports) => reports.forEach(report => assert.equal(report.direct, 0)),
});

matches('pages that may not know of each other', {
  net: '{ice: relay}',
  page: overhear,
  async then(people, reports) {
    for (const report of reports) assert.ok(report.direct > 0, 'through TURN');
    for (const [from, to] of pairs(people)) assert.equal(await network.sent(from, to), 0, `${from} never speaks to ${to}`);
    const { all, telling } = await signals(people);
    assert.ok(all >= people.length, 'signals were heard');
    assert.deepEqual(telling, [], 'no message tells an address');
  },
});

/** In the page: keeps the longest time for which the match stood still, in milliseconds, as `longest`. */
function watchStalls() {
  let [last, since] = [-1, 0];
  window.longest = 0;
  const look = now => {
    const { tick, ended } = JSON.parse(window.coplay.report());
    if (tick === last && ended === null) window.longest = Math.max(window.longest, now - since);
    else [last, since] = [tick, now];
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

/** Takes the longest time so far for each page, and begins anew. */
const stalls = people => Promise.all(people.map(person => person.page.evaluate(() => {
  const { longest } = window;
  window.longest = 0;
  return longest;
})));

matches('the direct way closes in the middle', {
  settings: { delay_ms: 15 },
  async meanwhile(people) {
    await Promise.all(people.map(person => at(person, HZ / 2)));
    await Promise.all(people.map(person => person.page.evaluate(watchStalls)));
    await Promise.all(people.map(person => at(person, 3 * HZ)));
    await Promise.all(people.map(person => person.page.waitForFunction(
      () => JSON.parse(window.coplay.report()).link === 'direct', null, { timeout: SOON })));
    people.before = await stalls(people);
    for (const [from, to] of pairs(people)) await network.tell(`set ${from} ${to} pass=none`);
  },
  async then(people, _, t) {
    const after = await stalls(people);
    t.diagnostic(`longest standstill of each: ${people.before} ms before, ${after} ms after`);
    // What the machine stands still for by itself is no fault of the network.
    const longer = Math.max(...after) - Math.max(...people.before);
    assert.ok(longer < 500, `nobody stands still for long: ${people.before} ms before, ${after} ms after`);
  },
});

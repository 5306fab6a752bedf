// The figures that only a browser has, one JSON line each: {"name", "value", "unit"}.
// `cargo xtask bench` runs this; the first argument pair is `--module FILE.wasm`.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { timeModule } from './module_speed.mjs';
import { Participant, Server, SOON, launch, say, scratch, studyWith } from './harness.mjs';

const { values: options } = parseArgs({ options: { module: { type: 'string' } } });

const print = (name, value, unit) => console.log(JSON.stringify({ name, value: Number(value.toFixed(2)), unit }));
const median = list => [...list].sort((a, b) => a - b)[list.length >> 1];

/** Runs a server with a changed study for as long as `work` takes. */
async function serving(changes, work) {
  const folder = await scratch(cleanup);
  const server = await Server.start({ study: await studyWith(changes, folder), data: `${folder}/data` });
  try {
    return await work(server);
  } finally {
    await server.kill();
  }
}

const leftovers = [];
const cleanup = { after: work => leftovers.push(work) };

const browser = await launch();
try {
  await moduleSpeed();
  await firstContent();
  await firstLoad();
  for (const rtt of [0, 100, 300]) await keyToPixel(rtt);
  for (const hz of [10, 60]) await bytesOnTheWire(hz);
} finally {
  await browser.close();
  await Promise.all(leftovers.map(work => work()));
}

/** Step and ten-tick rollback of the module in the browser's own engine. */
async function moduleSpeed() {
  const page = await browser.newPage();
  const bytes = (await readFile(options.module)).toString('base64');
  const result = await page.evaluate(timeModule, bytes);
  await page.close();
  assert.equal(result.again, result.first, 'a rollback over the same inputs gives the same state');
  print('module: step', result.step_us, 'µs');
  print('module: rollback of ten ticks (one load, ten steps and saves)', result.rollback_us, 'µs');
}

/** When a participant sees something, with nothing in the cache and the server on the same machine. */
async function firstContent() {
  await serving({}, async server => {
    const painted = [];
    for (let visit = 0; visit < 9; visit += 1) {
      const context = await browser.newContext();
      const page = await context.newPage();
      await page.goto(server.links[0]);
      const paint = () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime;
      painted.push(await (await page.waitForFunction(paint, null, { timeout: SOON })).jsonValue());
      await context.close();
    }
    print('first_content_p50', median(painted), 'ms');
  });
}

/** Bytes and time of the first load, with nothing in the cache; and of what a match loads on top. */
async function firstLoad() {
  await serving({ timeout_s: 5 }, async server => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.addInitScript(() => {
      const noting = new MutationObserver(() => {
        if (!document.querySelector('section.play')) return;
        performance.mark('matched');
        noting.disconnect();
      });
      noting.observe(document, { childList: true, subtree: true });
    });
    const cdp = await context.newCDPSession(page);
    const files = new Map();
    await cdp.send('Network.enable');
    cdp.on('Network.requestWillBeSent', ({ requestId, request }) => files.set(requestId, { url: request.url, bytes: 0 }));
    cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
      const file = files.get(requestId);
      if (file) file.bytes = encodedDataLength;
    });
    const reached = async mark => {
      const wait = mark => performance.getEntriesByName(mark)[0]?.startTime;
      return (await page.waitForFunction(wait, mark, { timeout: SOON })).jsonValue();
    };
    await page.goto(server.links[0]);
    const ready = await reached('coplay-ready');
    const before = new Set(files.keys());
    // One person alone: the waiting room ends, the match with the AI partner loads the module.
    const person = Object.assign(new Participant(), { page, context, name: 'first load', errors: [] });
    await person.read();
    const playable = await reached('coplay-playable');
    assert.ok([...files.values()].some(file => file.url.includes('/modules/')), 'the module was loaded');
    const listed = await page.evaluate(() => Object.fromEntries(
      performance.getEntriesByType('resource').map(entry => [entry.name, entry.transferSize])));
    const loaded = new Map();
    for (const [id, { url, bytes }] of files) {
      // Pictures that the page made itself never were on the wire.
      if (url.startsWith('blob:') || url.startsWith('data:')) continue;
      assert.ok(url.startsWith(server.url), `the page asks nobody else for anything, such as ${url}`);
      const name = (before.has(id) ? '' : 'after the first stage, ') + new URL(url).pathname.replace(/[0-9a-f]{64}/, '(hash)');
      // A worker's script is loaded by the worker, of whose requests only the page's own list knows.
      loaded.set(name, (loaded.get(name) ?? 0) + (bytes || (listed[url] ?? 0)));
    }
    for (const [name, bytes] of loaded) if (bytes > 0) print(`first load: ${name}`, bytes, 'B');
    const total = [...loaded.values()].reduce((sum, bytes) => sum + bytes, 0);
    const match = playable - await reached('matched');
    print('first load: all files', total, 'B');
    print('first load: from navigation to the first stage', ready, 'ms');
    print('first load: from the match to its first picture', match, 'ms');
    print('first load: until playable, instructions and waiting room apart', ready + match, 'ms');
    await context.close();
  });
}

/** Two participants in a running match, still. */
async function pair(server, network) {
  const people = await Promise.all([0, 1].map(seat =>
    Participant.open(browser, server.links[seat], { name: `page ${seat}`, network: seat === 0 ? network : undefined })));
  await Promise.all(people.map(person => person.read()));
  await Promise.all(people.map(person => person.page.waitForFunction(
    () => JSON.parse(window.coplay.report()).tick > 3, null, { timeout: SOON })));
  return people;
}

/** Frames from a real key press to the first frame whose canvas differs, at a round trip to the partner. */
async function keyToPixel(rtt) {
  const network = rtt > 0 ? { latency_ms: rtt / 2 } : undefined;
  await serving({ horizon: 900 }, async server => {
    const [person, partner] = await pair(server, network);
    await person.page.evaluate(watchCanvas);
    // Whichever way the chef looked before, from here on every second press turns it.
    await person.page.keyboard.press('ArrowLeft');
    const frames = [];
    for (let press = 0; press < 20; press++) {
      const answer = person.page.evaluate(() => window.watch());
      await person.page.waitForFunction(() => window.isStill);
      await person.page.keyboard.press(press % 2 ? 'ArrowLeft' : 'ArrowRight');
      frames.push(await answer);
    }
    const report = await person.report();
    say(`round trip ${report.rtt_ms} ms, input delay ${report.input_delay} ticks: frames ${frames.join(' ')}`);
    assert.ok(report.rtt_ms >= rtt * 0.9, 'the round trip is what it should be');
    print(`key press to changed pixel, round trip ${rtt} ms, median`, median(frames), 'frames');
    print(`key press to changed pixel, round trip ${rtt} ms, worst of ${frames.length}`, Math.max(...frames), 'frames');
    await Promise.all([person, partner].map(each => each.context.close()));
  });
}

/** In the page: `watch` counts frames from the next key press until the picture differs from the one before it. */
function watchCanvas() {
  const small = document.createElement('canvas');
  [small.width, small.height] = [160, 128];
  const context = small.getContext('2d', { willReadFrequently: true });
  const look = () => {
    context.drawImage(document.querySelector('canvas#stage'), 0, 0, small.width, small.height);
    return context.getImageData(0, 0, small.width, small.height).data;
  };
  const same = (a, b) => a.every((value, at) => value === b[at]);
  // A message that is posted in a frame is heard after that frame was painted.
  const painted = () => new Promise(resolve => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = resolve;
    channel.port2.postMessage(0);
  }));
  window.watch = async () => {
    window.isStill = false;
    let last = look();
    // What glides comes to rest first; a world at 10 ticks a second rests for six frames between two of them.
    for (let still = 0; still < 20;) {
      await painted();
      const now = look();
      still = same(last, now) ? still + 1 : 0;
      last = now;
    }
    let pressed = false;
    addEventListener('keydown', () => { pressed = true; }, { capture: true, once: true });
    window.isStill = true;
    for (let frames = 0; ;) {
      await painted();
      if (pressed) frames += 1;
      if (!same(last, look())) return frames;
      if (frames === 120) throw new Error('no frame answered the key');
    }
  };
}

/** Bytes per second that a page sends to its partner, over a match in which both play. */
async function bytesOnTheWire(hz) {
  await serving({ tick_hz: hz, horizon: hz * 20 }, async server => {
    const people = await pair(server);
    const reports = await Promise.all(people.map(person => person.play()));
    const rates = reports.map(report => report.bytes_sent / (report.ended / hz));
    const packets = reports.map(report => report.datagrams_sent / (report.ended / hz));
    print(`wire: bytes per second and peer at ${hz} Hz`, Math.max(...rates), 'B/s');
    print(`wire: datagrams per second and peer at ${hz} Hz`, Math.max(...packets), '1/s');
    await Promise.all(people.map(person => person.context.close()));
  });
}

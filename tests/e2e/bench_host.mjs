// The figures of hosts that only a page has, one JSON line for each: from key to picture over a slow network, and bytes.
//
//     node bench_host.mjs [--heavy]
//
// --heavy   also Atari and Craftax, from a Python that has them (COPLAY_PYTHON)

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { ROOT, launch, say } from './harness.mjs';
import { COMPILED, playAlone } from './hosted.mjs';
import { exported } from './match.mjs';

const { values: options } = parseArgs({ options: { heavy: { type: 'boolean', default: false } } });

const KITCHEN = 'overcooked@2.0.0';
const PRESSES = 30;

const print = (name, value, unit) => console.log(JSON.stringify({ name, value: Number(value.toPrecision(3)), unit }));
const quantile = (list, part) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(list.length * part))];

const browser = await launch();
try {
  for (const delay of [0, 50, 150]) await keyToPicture(delay, 'turns');
  for (const delay of [0, 50, 150]) await keyToPicture(delay, 'ticks');
  await bytesPerSecond('Overcooked as shapes, 10 ticks a second', {
    env: KITCHEN, players: '[self, {policy: cook}]', more: ', run: host, config: {horizon: 300, tick_hz: 10}',
  }, 10);
  if (options.heavy) {
    await bytesPerSecond('Atari (Pong), 60 frames a second', {
      env: '{gymnasium: ALE/Pong-v5, tick_hz: 60, horizon: 1800, kwargs: {frameskip: 1, repeat_action_probability: 0.25}}', players: '[self]',
    }, 60);
    await bytesPerKey();
  } else {
    say('Atari and Craftax are not measured: `cargo xtask hosts` installs their packages');
  }
} finally {
  await browser.close();
}

/** Does work with a place for what is to be closed after it. */
async function cleanly(work) {
  const closing = [];
  try {
    return await work({ after: step => closing.unshift(step) });
  } finally {
    for (const step of closing) await step();
  }
}

/** An address in front of a server: what passes there takes `delay` milliseconds in each direction. */
async function slow(t, server, delay) {
  const sockets = new Set();
  const pass = (from, to) => {
    from.on('data', bytes => setTimeout(() => to.writable && to.write(bytes), delay));
    from.on('end', () => setTimeout(() => to.end(), delay));
    from.on('error', () => to.destroy());
  };
  const listener = createServer(near => {
    const far = connect(server.port, '127.0.0.1');
    for (const socket of [near, far]) {
      socket.setNoDelay(true);
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    }
    pass(near, far);
    pass(far, near);
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  t.after(() => {
    sockets.forEach(socket => socket.destroy());
    listener.close();
  });
  return `http://127.0.0.1:${listener.address().port}/`;
}

/** Time from a real key press to the frame that answers it, as the page itself measures it for the data. */
async function keyToPicture(rtt, mode) {
  await cleanly(async t => {
    const isInTurns = mode === 'turns';
    const { server, person } = await playAlone(t, browser, {
      env: KITCHEN,
      players: '[self, {policy: random}]',
      more: `, run: host${isInTurns ? ', mode: turns' : ''}, config: {horizon: ${isInTurns ? PRESSES : 500}, tick_hz: 20}`,
      through: rtt > 0 ? of => slow(t, of, rtt / 2) : undefined,
    });
    for (let press = 0; press < PRESSES; press += 1) {
      const { tick } = await person.report();
      await person.page.keyboard.press(press % 2 ? 'ArrowLeft' : 'ArrowRight');
      // At 20 ticks a second: no multiple of the period, so that keys fall anywhere between two ticks.
      const next = isInTurns ? tick + 1 : tick + 7;
      await person.knows(report => report.status !== 'playing' || report.tick >= next, COMPILED);
      if (!isInTurns) await new Promise(resolve => { setTimeout(resolve, (press * 17) % 50); });
    }
    await person.shows(['outcome', 'end'], COMPILED);
    const keys = await readKeys(server, person);
    assert.ok(keys.length >= PRESSES - 2, `${keys.length} keys were answered by a frame`);
    const where = isInTurns ? 'in turns' : 'at 20 ticks a second';
    print(`key to picture ${where}, round trip ${rtt} ms, median`, quantile(keys, 0.5), 'ms');
    print(`key to picture ${where}, round trip ${rtt} ms, 95 %`, quantile(keys, 0.95), 'ms');
  });
}

/** Milliseconds of each key, once the person has read that the episode is over. */
async function readKeys(server, person) {
  await person.goOn();
  await person.shows('end');
  const { keys } = await exported(server.data, ['keys']);
  const answered = keys.filter(row => row.down === 'true' && row.shown_unix_us !== '');
  return answered.map(row => (row.shown_unix_us - row.at_unix_us) / 1_000);
}

/** Bytes that a page receives in a second of play. */
async function bytesPerSecond(name, stage, hz) {
  await cleanly(async t => {
    const { person, received } = await playAlone(t, browser, stage);
    await person.knows(({ tick }) => tick > hz, COMPILED);
    const begin = { bytes: received.bytes, tick: (await person.report()).tick };
    await person.page.keyboard.down('ArrowRight');
    await person.knows(({ tick }) => tick >= begin.tick + 10 * hz, COMPILED);
    const { tick } = await person.report();
    const speed = (received.bytes - begin.bytes) / ((tick - begin.tick) / hz);
    print(`${name}: received`, speed / 1_000, 'kB a second');
    print(`${name}: received`, speed * 60 / 1e6, 'MB a minute');
  });
}

/** Bytes that a page receives for each key of Craftax, in turns. */
async function bytesPerKey() {
  const worlds = await readFile(path.join(ROOT, 'python/heavy/jax_worlds.py'), 'utf8');
  await cleanly(async t => {
    const { person, received } = await playAlone(t, browser, {
      env: '{python: "jax_worlds.py:craftax_classic", picture: "jax_worlds.py:craftax_classic_picture", tick_hz: 0, horizon: 20}',
      players: '[self]',
      more: ', mode: turns',
      files: { 'jax_worlds.py': worlds },
    });
    await person.knows(report => report.views > 0, COMPILED);
    const begin = received.bytes;
    for (let tick = 0; tick < 15; tick += 1) {
      await person.knows(report => report.tick === tick, COMPILED);
      const key = await person.page.evaluate(action => window.coplay.key_for(action), 1 + tick % 4);
      await person.page.keyboard.press(key ?? 'Digit2');
    }
    await person.knows(report => report.tick === 15, COMPILED);
    print('Craftax (classic): received', (received.bytes - begin) / 15 / 1_000, 'kB a key');
  });
}

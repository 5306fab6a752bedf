// A page whose code has failed: the person and the server are informed, and nothing of the page continues.
// The failure is a real one: the browser refuses to make an element, which the client counts on.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Participant, SOON, Server, launch, reachable, scratch, studyWith } from './harness.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** In the page, before its own scripts: counts what it listens to, waits for and connects, and what of it still runs. */
function watched() {
  const seen = { calls: 0, frames: new Set(), intervals: new Set(), workers: 0, sockets: [], memory: null };
  window.seen = seen;
  const counted = call => function (...given) {
    seen.calls += 1;
    return call.apply(this, given);
  };
  const around = new WeakMap();
  const { addEventListener } = EventTarget.prototype;
  EventTarget.prototype.addEventListener = function (name, listener, options) {
    if (typeof listener === 'function' && !around.has(listener)) around.set(listener, counted(listener));
    return addEventListener.call(this, name, around.get(listener) ?? listener, options);
  };
  const { requestAnimationFrame, cancelAnimationFrame, setInterval, clearInterval } = window;
  window.requestAnimationFrame = call => {
    const number = requestAnimationFrame.call(window, at => {
      seen.frames.delete(number);
      seen.calls += 1;
      call(at);
    });
    seen.frames.add(number);
    return number;
  };
  window.cancelAnimationFrame = number => {
    seen.frames.delete(number);
    cancelAnimationFrame.call(window, number);
  };
  window.setInterval = (call, ...rest) => {
    const number = setInterval.call(window, counted(call), ...rest);
    seen.intervals.add(number);
    return number;
  };
  window.clearInterval = number => {
    seen.intervals.delete(number);
    clearInterval.call(window, number);
  };
  window.Worker = class extends Worker {
    constructor(...given) {
      super(...given);
      seen.workers += 1;
    }

    terminate() {
      seen.workers -= 1;
      super.terminate();
    }
  };
  window.WebSocket = class extends WebSocket {
    constructor(...given) {
      super(...given);
      seen.sockets.push(this);
    }
  };
  const { instantiateStreaming } = WebAssembly;
  WebAssembly.instantiateStreaming = async (...given) => {
    const made = await instantiateStreaming.apply(WebAssembly, given);
    seen.memory ??= made.instance.exports.memory;
    return made;
  };
  /** Has the browser refuse to make the next element of this tag. */
  window.refuse = tag => {
    const { createElement } = document;
    document.createElement = function (name, ...rest) {
      if (name !== tag) return createElement.call(this, name, ...rest);
      document.createElement = createElement;
      throw new Error(`no ${tag} today`);
    };
  };
  /** Has the browser throw as the next text is set, which nobody catches. */
  window.refuseText = () => {
    const whole = Object.getOwnPropertyDescriptor(Node.prototype, 'textContent');
    Object.defineProperty(Node.prototype, 'textContent', {
      ...whole,
      set() {
        Object.defineProperty(Node.prototype, 'textContent', whole);
        throw new Error('no text today');
      },
    });
  };
}

/** In the page: everything that still runs. */
const alive = () => ({
  frames: window.seen.frames.size,
  intervals: window.seen.intervals.size,
  workers: window.seen.workers,
  sockets: window.seen.sockets.filter(socket => socket.readyState < WebSocket.CLOSING).length,
  connections: window.connections.filter(connection => connection.connectionState !== 'closed').length,
});

/** In the page: does what a person and a browser do, thousands of times, and says what came of it. */
async function bustle() {
  const before = window.seen.calls;
  const bytes = window.seen.memory.buffer.byteLength;
  const all = [window, document, ...document.querySelectorAll('body, body *')];
  for (let round = 0; round < 20_000; round += 1) {
    const target = all[round % all.length];
    target.dispatchEvent(new PointerEvent('pointermove'));
    window.dispatchEvent(new KeyboardEvent(round % 2 ? 'keyup' : 'keydown', { code: 'ArrowUp', key: 'ArrowUp' }));
    if (round % 100 === 0) for (const name of ['blur', 'pagehide', 'focusin']) window.dispatchEvent(new Event(name));
    if (round % 100 === 0) document.dispatchEvent(new Event('visibilitychange'));
  }
  // Whatever beats, beats many times in this while.
  await new Promise(done => setTimeout(done, 200));
  return { calls: window.seen.calls - before, bytes: window.seen.memory.buffer.byteLength - bytes };
}

const NOTHING = { frames: 0, intervals: 0, workers: 0, sockets: 0, connections: 0 };

/** Two people in the middle of their match. */
async function pair(t) {
  const folder = await scratch(t);
  const study = await studyWith({ grace_s: 60 }, folder);
  const server = await Server.start({ study, data: `${folder}/data` });
  t.after(() => server.kill());
  const people = await Promise.all(server.links.slice(0, 2).map((link, seat) =>
    Participant.open(browser, link, { name: `page ${seat}`, before: [watched, reachable] })));
  t.after(() => Promise.all(people.map(person => person.context.close())));
  await Promise.all(people.map(person => person.read()));
  await Promise.all(people.map(person => person.play(turn => turn.report.confirmed > 10)));
  return people;
}

/** In the page: its partner's page goes out of sight. */
function hide() {
  Object.defineProperty(document, 'hidden', { value: true, configurable: true });
  document.dispatchEvent(new Event('visibilitychange'));
}

/** How code of the page fails, each in a place of its own. */
const FAILURES = {
  // A paragraph says what the partner does; it is made while an input of the page is handled.
  'a panic while an input is handled': async (failed, partner) => {
    await failed.page.evaluate(() => window.refuse('p'));
    await partner.page.evaluate(hide);
  },
  'a panic in the listener of a button': async failed => {
    await failed.page.evaluate(() => window.refuse('section'));
    await failed.page.click('button.leave');
  },
  'an exception that leaves the page in the midst of an input': failed =>
    failed.page.evaluate(() => window.refuseText()),
};

for (const [failure, fail] of Object.entries(FAILURES)) {
  test(`after ${failure} no listener fires, nothing of the page goes on, and loading it again does`, async t => {
    const [failed, partner] = await pair(t);
    const before = await failed.page.evaluate(alive);
    for (const kind of ['workers', 'intervals', 'sockets', 'connections']) assert.ok(before[kind] > 0, kind);
    await fail(failed, partner);
    const notice = failed.page.locator('main > .notice[role=alert]:has(button)');
    await notice.waitFor({ timeout: SOON });
    await failed.page.waitForFunction(() => window.seen.workers === 0, null, { timeout: SOON });
    assert.deepEqual(await failed.page.evaluate(alive), NOTHING);
    assert.deepEqual(await failed.page.evaluate(bustle), { calls: 0, bytes: 0 });
    assert.deepEqual(await failed.page.evaluate(alive), NOTHING);
    await partner.knows(report => report.presence.includes('Gone'));
    await notice.locator('button').click();
    await failed.knows(report => report.playing && report.returns > 0);
  });
}

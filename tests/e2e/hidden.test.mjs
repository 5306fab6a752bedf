// A page whose timers come once a second, as those of a hidden tab do, keeps the tick rate: the Worker beats for it.
// Once by throttling the page's own timers, and once by hiding a real tab behind another one.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { Participant, SOON, Server, launch, noFirefox, scratch, sideBySide, within } from './harness.mjs';
import { verified } from './match.mjs';
import { TabBrowser, noScreen } from './tabs.mjs';

const HZ = 10;
const HORIZON = 80;

// Nobody else is in the match: another page's packets would wake this one as well as its Worker.
const STUDY = `format: 1
study: {id: hidden, version: 1.0.0, title: Hidden, contact: lab@example.edu}
timeline:
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, {policy: cook}]
    config: {layout: cramped_room, horizon: ${HORIZON}, tick_hz: ${HZ}}
`;

async function serve(t) {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await mkdir(study);
  await writeFile(path.join(study, 'study.yaml'), STUDY);
  const server = await Server.start({ study, data: `${folder}/data` });
  t.after(() => server.kill());
  return server;
}

/** In the page, before its own scripts: callbacks of timers and frames come once a second. Workers are as they were. */
function throttle() {
  const { setInterval: every } = window;
  const due = new Map();
  let last = 0;
  window.beats = 0;
  const add = (work, args, again) => {
    last += 1;
    due.set(last, { work, args, again });
    return last;
  };
  every(() => {
    window.beats += 1;
    for (const [id, { work, args, again }] of [...due]) {
      if (!again) due.delete(id);
      work(...args);
    }
  }, 1_000);
  window.setTimeout = (work, ms, ...args) => add(work, args, false);
  window.setInterval = (work, ms, ...args) => add(work, args, true);
  window.requestAnimationFrame = work => add(() => work(performance.now()), [], false);
  for (const cancel of ['clearTimeout', 'clearInterval', 'cancelAnimationFrame']) window[cancel] = id => due.delete(id);
}

/** In the page: how its match and its own timers are. */
const state = () => {
  const { status, tick, verdict } = JSON.parse(window.coplay?.report() ?? '{}');
  return { status, tick, verdict, hidden: document.hidden, beats: window.beats, at_ms: performance.now() };
};

/**
 * Whether the world ran at its rate between two states although the page's own timers came once a second: without the
 * Worker, each of them is one tick. A machine with too much to do may slow both down by half.
 */
function isKept(t, from, to) {
  const [ticks, beats, s] = [to.tick - from.tick, to.beats - from.beats, (to.at_ms - from.at_ms) / 1_000];
  t.diagnostic(`${ticks} ticks in ${s.toFixed(1)} s, ${(ticks / s).toFixed(1)} a second, with ${beats} beats of the page's timers`);
  assert.ok(beats >= 1, 'the timers of the page come');
  return ticks > HZ / 2 * beats;
}

/** In the page, before its own scripts: no Worker ever says anything. */
function silenceWorkers() {
  window.Worker = class extends EventTarget {
    postMessage() {}

    terminate() {}
  };
}

async function stored(server) {
  await server.stop();
  const { code, episodes } = await verified(server.data);
  assert.equal(code, 0, 'coplay verify finds nothing wrong');
  assert.deepEqual(episodes.map(({ ticks }) => ticks), [HORIZON]);
}

/** A page with slow timers in the match, and what waits in it until something is so. */
async function enter(t, engine, before) {
  const server = await serve(t);
  const browser = await launch(engine);
  t.after(() => browser.close());
  const { page } = await Participant.open(browser, server.links[0], { before });
  const until = async holds => {
    for (;;) {
      const found = await page.evaluate(state);
      if (holds(found)) return found;
      await new Promise(resolve => setTimeout(resolve, 20));
    }
  };
  return { server, until: holds => within(SOON, `${holds}`, until(holds)) };
}

/** A tab in the match behind another one, from a beat of its slow timers on: the state then, and the tabs. */
async function hide(t, head, before) {
  const server = await serve(t);
  const browser = await TabBrowser.start(t, { head });
  const tab = await browser.open(server.links[0], { before });
  await tab.waitFor(state, ({ status, tick }) => status === 'playing' && tick >= 2);
  const other = await browser.open('about:blank');
  await tab.waitFor(state, ({ hidden }) => hidden);
  await tab.evaluate(() => {
    window.beats = 0;
    setInterval(() => { window.beats += 1; }, 100);
  });
  return { server, tab, other, from: await tab.waitFor(state, ({ beats }) => beats >= 1) };
}

sideBySide(3, () => {
  for (const engine of ['chromium', 'firefox']) {
    test(`a page whose timers come once a second keeps the tick rate: ${engine}`, { skip: engine === 'firefox' && noFirefox }, async t => {
      const { server, until } = await enter(t, engine, throttle);
      const from = await until(({ tick }) => tick >= 2);
      assert.ok(isKept(t, from, await until(({ tick }) => tick >= HORIZON - 20)));
      await until(({ verdict }) => verdict);
      await stored(server);
    });
  }

  for (const [name, head] of [['of a browser without a head', false], ['on a screen', true]]) {
    test(`a tab that is really hidden keeps the tick rate: ${name}`, { skip: head && noScreen }, async t => {
      const { server, tab, other, from } = await hide(t, head);
      assert.ok(isKept(t, from, await tab.waitFor(state, ({ tick }) => tick >= HORIZON - 20)));
      assert.equal((await tab.evaluate(state)).hidden, true, 'nobody has looked at it meanwhile');
      await tab.activate();
      await tab.waitFor(state, ({ hidden }) => !hidden);
      assert.equal(await other.evaluate(() => document.hidden), true, 'one tab hides the other');
      await tab.waitFor(state, ({ verdict }) => verdict);
      await stored(server);
    });
  }

  test('without its Worker a page with slow timers falls behind, and so does a hidden tab: the tests above would show it', async t => {
    const { until } = await enter(t, 'chromium', [throttle, silenceWorkers]);
    const begun = await until(({ tick }) => tick >= 2);
    const { tab, from } = await hide(t, false, silenceWorkers);
    const pages = [[begun, until], [from, holds => tab.waitFor(state, holds)]];
    for (const [before, until] of pages) {
      assert.equal(isKept(t, before, await until(({ beats }) => beats >= before.beats + 5)), false);
    }
  });
});

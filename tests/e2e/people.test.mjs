// People whose pages die, are reloaded or go out of sight in the middle of a match: the others play on, whoever
// comes back has the seat again, and all of it is one recorded state.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { SOON, launch, noFirefox } from './harness.mjs';
import { agreed, enter, finish, serve } from './rounds.mjs';

const HZ = 30;

const browsers = {};
before(async () => {
  const engines = noFirefox ? ['chromium'] : ['chromium', 'firefox'];
  await Promise.all(engines.map(async engine => { browsers[engine] = await launch(engine); }));
});
after(() => Promise.all(Object.values(browsers).map(browser => browser.close())));

/** Chromium and Firefox where there is one, two Chromium pages otherwise. */
const mixed = () => [browsers.chromium, browsers.firefox ?? browsers.chromium];

/** Plays until a tick is confirmed. */
const until = (person, tick) => person.play(({ report }) => report.confirmed >= tick);

test('a tab that is killed at tick 300 is played on by an AI partner', async t => {
  const server = await serve(t, {
    horizon: 540, tick_hz: HZ, on_disconnect: '{grace_s: 2, meanwhile: bot, then: bot}',
  });
  const [killed, survivor] = await enter(t, server, mixed());
  const seen = until(killed, 300);
  const surviving = finish([survivor]);
  await seen;
  // No event runs in a page that crashes: nobody is told that it goes.
  const cdp = await killed.context.newCDPSession(killed.page);
  const crashed = new Promise(resolve => killed.page.once('crash', resolve));
  cdp.send('Page.crash').catch(() => {});
  await crashed;
  const reports = await surviving;
  const episode = await agreed(t, server, reports, 540);
  assert.ok(episode.changes > 0, 'the record says that the seat changed hands');
});

test('pages that are reloaded at any tick come back into their seats', async t => {
  const horizon = 600;
  const server = await serve(t, { horizon, tick_hz: HZ });
  const people = await enter(t, server, mixed());
  const ticks = Array.from({ length: 3 }, (_, nth) => 40 + 140 * nth + Math.floor(Math.random() * 60));
  t.diagnostic(`reloads at ticks ${ticks}`);
  const reports = await Promise.all(people.map(async (person, seat) => {
    for (const [nth, tick] of ticks.entries()) {
      if (nth % people.length !== seat) continue;
      await until(person, tick);
      await person.page.reload();
      await person.page.waitForFunction(
        () => JSON.parse(window.coplay?.report() ?? '{}').status === 'playing', null, { timeout: SOON });
    }
    return (await finish([person]))[0];
  }));
  const episode = await agreed(t, server, reports, horizon);
  assert.ok(episode.changes >= 2 * ticks.length, `each reload is in the record: ${JSON.stringify(episode)}`);
});

test('a tab that is out of sight for ten seconds plays on afterwards', async t => {
  const horizon = 480;
  const server = await serve(t, { horizon, tick_hz: HZ });
  const [hider, partner] = await enter(t, server, mixed());
  const away = partner.page.waitForFunction(
    () => JSON.parse(window.coplay.report()).presence?.includes('Hidden'), null, { timeout: SOON });
  const partnering = finish([partner]);
  await until(hider, 30);
  // A headless browser never hides a page, so the page is told what a hidden one is told.
  const show = hidden => hider.page.evaluate(hidden => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => (hidden ? 'hidden' : 'visible') });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
  const { tick } = await hider.report();
  await show(true);
  await away;
  await hider.page.waitForFunction(
    tick => JSON.parse(window.coplay.report()).tick >= tick, tick + 10 * HZ, { timeout: SOON });
  await show(false);
  const reports = [...await finish([hider]), ...await partnering];
  await agreed(t, server, reports, horizon);
});

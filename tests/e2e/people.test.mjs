// People whose pages die, are reloaded or go out of sight in the middle of a match: the others play on, whoever
// comes back has the seat again, and all of it is one recorded state. `COPLAY_NET_LONG=1` tries every pairing,
// and four people.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { SOON, launch, noFirefox } from './harness.mjs';
import { agreed, enter, finish, serve } from './rounds.mjs';

const HZ = 30;
const GROUPS = [['chromium', 'firefox']];
if (process.env.COPLAY_NET_LONG) {
  GROUPS.push(['chromium', 'chromium'], ['firefox', 'chromium'], ['firefox', 'firefox'], ['chromium', 'firefox', 'chromium', 'firefox']);
}

const browsers = {};
before(async () => {
  const engines = noFirefox ? ['chromium'] : ['chromium', 'firefox'];
  await Promise.all(engines.map(async engine => { browsers[engine] = await launch(engine); }));
});
after(() => Promise.all(Object.values(browsers).map(browser => browser.close())));

/** A match for each group: `study` is the study's, `play` what happens in it, in which seats change hands so often. */
function matches(title, study, [least, most], play) {
  for (const engines of GROUPS) {
    test(`${title}: ${engines.join(', ')}`, { skip: engines.includes('firefox') && noFirefox }, async t => {
      const server = await serve(t, study, { players: engines.length });
      const people = await enter(t, server, engines.map(engine => browsers[engine]));
      const reports = await play(t, people);
      const episode = await agreed(t, server, reports, study.horizon);
      const { changes } = episode;
      assert.ok(changes >= least && changes <= most, `the record says who played: ${JSON.stringify(episode)}`);
    });
  }
}

/** Plays until a tick is confirmed. */
const until = (person, tick) => person.play(({ report }) => report.confirmed >= tick);

const KILLED = { horizon: 480, tick_hz: 60, on_disconnect: '{grace_s: 2, meanwhile: bot, then: bot}' };

matches('a tab that is killed at tick 300 is played on by an AI partner', KILLED, [1, 1], async (t, people) => {
  const [killed, ...survivors] = people;
  const surviving = finish(survivors);
  await until(killed, 300);
  await crash(killed);
  const reports = await surviving;
  assert.ok(reports.every(report => report.ended === KILLED.horizon));
  return reports;
});

const RELOADED = { horizon: 600, tick_hz: HZ };

matches('pages that are reloaded at any tick come back into their seats', RELOADED, [6, Infinity], async (t, people) => {
  // Those of a failed run can be named: COPLAY_RELOADS=44,186,375.
  const ticks = process.env.COPLAY_RELOADS?.split(',').map(Number)
    ?? Array.from({ length: 3 }, (_, nth) => 40 + 140 * nth + Math.floor(Math.random() * 60));
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
  for (const [nth] of ticks.entries()) assert.ok(reports[nth % people.length].returns > 0, 'a reload ends in a return');
  return reports;
});

const HIDDEN = { horizon: 480, tick_hz: HZ };

matches('a tab that is out of sight for ten seconds plays on afterwards', HIDDEN, [0, 0], async (t, people) => {
  const [hider, ...partners] = people;
  const away = Promise.all(partners.map(partner => partner.page.waitForFunction(
    () => JSON.parse(window.coplay.report()).presence?.includes('Hidden'), null, { timeout: SOON })));
  const partnering = finish(partners);
  await until(hider, 30);
  const { tick } = await hider.report();
  await hider.page.evaluate(show, true);
  await away;
  await hider.page.waitForFunction(
    tick => JSON.parse(window.coplay.report()).tick >= tick, tick + 10 * HZ, { timeout: SOON });
  await hider.page.evaluate(show, false);
  return [...await finish([hider]), ...await partnering];
});

/** Ends a page's process: no event runs in it, so nobody is told that it goes. */
async function crash(person) {
  if (person.context.browser().engine === 'firefox') {
    // Firefox has no command for it. A page that is stopped for good is as silent.
    await person.page.evaluate(() => { setTimeout(() => { for (;;); }); });
    return;
  }
  const crashed = new Promise(resolve => person.page.once('crash', resolve));
  const cdp = await person.context.newCDPSession(person.page);
  cdp.send('Page.crash').catch(() => {});
  await crashed;
}

/** In the page: tells it what a hidden one is told. A headless browser never hides a page. */
function show(hidden) {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
  Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => (hidden ? 'hidden' : 'visible') });
  document.dispatchEvent(new Event('visibilitychange'));
}

// People whose pages die, are reloaded or go out of sight in the middle of a match: the others play on, whoever
// comes back has the seat again, and all of it is one recorded state. `COPLAY_NET_LONG=1` tries every pairing,
// and four people.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Participant, SOON, launch, noFirefox, sideBySide } from './harness.mjs';
import { exported } from './match.mjs';
import { agreed, enter, finish, serve, survive } from './rounds.mjs';

const HZ = 30;
const LONG = Boolean(process.env.COPLAY_NET_LONG);
const PAIRS = [['chromium', 'firefox']];
if (LONG) PAIRS.push(['chromium', 'chromium'], ['firefox', 'chromium'], ['firefox', 'firefox']);
const FOURS = LONG ? [['chromium', 'firefox', 'chromium', 'firefox']] : [];

const browsers = {};
before(async () => {
  const engines = noFirefox ? ['chromium'] : ['chromium', 'firefox'];
  await Promise.all(engines.map(async engine => { browsers[engine] = await launch(engine); }));
});
after(() => Promise.all(Object.values(browsers).map(browser => browser.close())));

/**
 * A match for each group: `study` is the study's, `play` what happens in it, in which seats change hands so often,
 * and `then` what its tables tell.
 */
const matchesOf = groups => (title, study, [least, most], play, then) => {
  for (const engines of groups) {
    test(`${title}: ${engines.join(', ')}`, { skip: engines.includes('firefox') && noFirefox }, async t => {
      const server = await serve(t, study, { players: engines.length });
      const people = await enter(t, server, engines.map(engine => browsers[engine]));
      const reports = await play(t, people, server);
      const episode = await agreed(t, server, reports, study.horizon);
      const { changes } = episode;
      assert.ok(changes >= least && changes <= most, `the record says who played: ${JSON.stringify(episode)}`);
      const tables = await exported(server.data);
      for (const seat of people.keys()) assert.deepEqual(controllers(tables, seat), lasting([['human', 0], ...changed(tables, seat)]));
      await then?.(tables, reports);
    });
  }
};

const of = (rows, seat, wanted = {}) => rows.filter(row =>
  Number(row.seat) === seat && Object.entries(wanted).every(([key, value]) => row[key] === value));

/** Who or what played a seat tick by tick: each controller with its first tick. */
function controllers(tables, seat) {
  const steps = of(tables.steps, seat);
  assert.deepEqual(steps.map(({ tick }) => Number(tick)), [...steps.keys()], `every tick of seat ${seat} once`);
  const first = steps.filter(({ controller }, at) => controller !== steps[at - 1]?.controller);
  return first.map(({ controller, tick }) => [controller, Number(tick)]);
}

/** The changes of a seat, as its log has them. */
const changed = (tables, seat) => of(tables.events, seat, { kind: 'change' })
  .map(({ controller, tick }) => [controller, Number(tick)]);

/** Of these controllers those that played a tick. If everybody is away, a seat can be given back in the same tick. */
const lasting = spans => spans
  .filter(([, tick], at) => tick !== spans[at + 1]?.[1])
  .filter(([controller], at, rest) => controller !== rest[at - 1]?.[0]);

const engine = person => person.context.browser().engine;

/** Plays until a tick is confirmed. */
const until = (person, tick) => person.play(({ report }) => report.confirmed >= tick);

const KILLED = { horizon: 600, tick_hz: 60, on_disconnect: '{grace_s: 10, meanwhile: bot, then: bot}' };

/** Every test, with the groups of `matches`. */
const testGroups = matches => {
  matches('a tab that is killed at tick 300 is played on by an AI partner', KILLED, [1, 1], async (t, people) => {
    const [killed, ...survivors] = people;
    const surviving = survive(t, survivors);
    await until(killed, 300);
    await crash(killed);
    const reports = await surviving;
    assert.ok(reports.every(report => report.ended === KILLED.horizon));
    return reports;
  });

  // At least twenty seconds are left after the last reload: on a busy machine, a page needs ten to be back in the match.
  const RELOADED = { horizon: 480, tick_hz: 15 };

  matches('pages that are reloaded at any tick come back into their seats', RELOADED, [6, Infinity], async (t, people) => {
    // Those of a failed run can be named: COPLAY_RELOADS=44,86,155.
    const ticks = process.env.COPLAY_RELOADS?.split(',').map(Number)
      ?? Array.from({ length: 3 }, (_, nth) => 25 + 50 * nth + Math.floor(Math.random() * 40));
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

  const SUPERSEDED = { horizon: 360, tick_hz: HZ };

  matches('a second tab plays the seat of the first, which says so', SUPERSEDED, [2, 2], async (t, people, server) => {
    const [first, ...partners] = people;
    const partnering = survive(t, partners);
    await until(first, 60);
    const { seat } = await first.report();
    const second = await Participant.open(first.context.browser(), server.links[0], { name: 'second tab', beside: first });
    await first.says(/now open in another tab or window/);
    const reports = [...await finish([second]), ...await partnering];
    assert.deepEqual([reports[0].seat, reports[0].returns], [seat, 1], 'the same seat');
    return reports;
  }, (tables, [{ seat }]) => {
    const [[taken], [given, since]] = changed(tables, seat);
    assert.deepEqual([taken, given], ['vacant', 'human']);
    for (const [rows, time] of [[tables.seen, 'at_unix_us'], [tables.keys, 'at_unix_us']]) {
      const [before, after] = ['0', '2'].map(life => of(rows, seat, { life }).map(row => Number(row[time])));
      assert.equal(before.length + after.length, of(rows, seat).length, 'no other page played');
      assert.ok(before.length > 0 && after.length > 0 && Math.max(...before) < Math.min(...after), 'one after the other');
    }
    const entered = of(tables.keys, seat, { life: '2' }).filter(({ tick }) => tick !== '');
    for (const { tick } of entered) assert.ok(Number(tick) >= since, `no key before its time: ${tick} and ${since}`);
  });

  const HIDDEN = { horizon: 480, tick_hz: HZ };

  matches('a tab that is out of sight for ten seconds plays on afterwards', HIDDEN, [0, 0], async (t, people) => {
    const [hider, ...partners] = people;
    const partnering = survive(t, partners);
    await until(hider, 30);
    const gone = await hide(hider, true);
    await Promise.all(partners.map(partner => partner.says(/has switched to another tab/)));
    await hider.page.keyboard.press('KeyW');
    await hider.knows(({ tick }) => tick >= gone + 10 * HZ);
    const back = await hide(hider, false);
    return [Object.assign(...await finish([hider]), { gone, back }), ...await partnering];
  }, (tables, reports) => {
    const [first, last] = outOfSight(tables, reports);
    const [{ seat, gone, back }] = reports;
    assert.ok(first <= gone && gone + 10 * HZ <= last + 1 && last <= back, `${first}-${last}, and not ${gone}-${back}`);
    assert.deepEqual(stays(tables, seat), ['hidden', 'here']);
  });

  const DROPPED = { horizon: 480, tick_hz: HZ, on_disconnect: '{grace_s: 15, then: bot}\n    hidden_tab: {warn_s: 1, drop_s: 2}' };

  matches('a tab that is out of sight too long gives its seat to an AI partner and takes it back', DROPPED, [2, 2], async (t, people) => {
    const [hider, ...partners] = people;
    const everybody = words => Promise.all(partners.map(partner => partner.says(words)));
    const partnering = survive(t, partners);
    await until(hider, 30);
    const gone = await hide(hider, true);
    await everybody(/has switched to another tab/);
    await everybody(/An AI partner is playing for/);
    await hider.knows(({ status }) => status === 'lost');
    await hide(hider, false);
    await Promise.all([everybody(/is back\./), hider.says(/You are back\. An AI partner played for you in the meantime\./)]);
    return [Object.assign(...await finish([hider]), { gone }), ...await partnering];
  }, (tables, reports) => {
    const [{ seat, gone }] = reports;
    const [[taken, cut], [given]] = changed(tables, seat);
    assert.deepEqual([taken, given], ['cook', 'human']);
    const [first, last] = outOfSight(tables, reports);
    assert.ok(first <= gone && Math.abs(last - cut) < HZ / 2, `hidden by ${gone} until the seat is lost at ${cut}, and not ${first}-${last}`);
    assert.deepEqual(stays(tables, seat), ['hidden', 'gone', 'returning', 'here']);
    const t0_us = Number(of(tables.seats, seat)[0].t0_unix_us);
    const [told, lost] = of(tables.presence, seat).map(row => (Number(row.at_unix_us) - t0_us) / 1_000);
    // The first tick that was not shown is ahead of what the server had by then.
    const hidden = (first - 2) * 1_000 / HZ;
    assert.ok(told >= hidden + 1_000 && told < hidden + 2_500, `told after one second: hidden at ${hidden} ms, told at ${told} ms`);
    assert.ok(lost >= hidden + 2_000 && lost > told && lost < hidden + 3_500, `lost after two: hidden at ${hidden} ms, lost at ${lost} ms`);
    assert.ok(cut < first + 4 * HZ, `hidden at ${first}, lost at ${cut}`);
  });

  /** How the person of a seat was, one after the other. */
  const stays = (tables, seat) => of(tables.presence, seat).map(({ presence }) => presence);

  /**
   * The ticks, first and last, in which one person alone was out of sight. All tables agree on it: that page showed
   * nothing, took no keys and played the no-op; the other people played on.
   */
  function outOfSight(tables, [{ seat }, ...others]) {
    const spans = of(tables.events, seat, { kind: 'hidden' });
    assert.equal(spans.length, 1, 'one span');
    const { life } = spans[0];
    const first = Number(spans[0].tick);
    const last = first + Number(spans[0].count) - 1;
    const [vanished, ...more] = of(tables.seen, seat, { hidden: 'true' });
    assert.ok(vanished && more.length === 0, 'one frame that is not seen stands for all');
    const played = tick => tick > first && tick < last;
    const seen = of(tables.seen, seat, { life });
    assert.deepEqual(seen.filter(({ tick }) => played(tick)), [], 'nothing was shown');
    // What was pressed just before may enter some ticks later.
    const asleep = ({ tick }) => played(tick - 5) && played(tick);
    assert.deepEqual(of(tables.keys, seat, { life }).filter(asleep), [], 'no key was taken');
    const steps = of(tables.steps, seat, { controller: 'human' }).filter(asleep);
    assert.deepEqual(new Set(steps.map(step => step.action_name)), new Set(['noop']));
    for (const other of others) {
      assert.deepEqual(of(tables.events, other.seat, { kind: 'hidden' }), []);
      assert.deepEqual(of(tables.seen, other.seat, { hidden: 'true' }), []);
      assert.deepEqual(of(tables.presence, other.seat), []);
      for (const rows of [tables.seen, tables.keys]) assert.ok(of(rows, other.seat).some(({ tick }) => played(tick)));
    }
    return [first, last];
  }

  /** Hides a page or shows it again, and gives its tick. */
  async function hide(person, hidden) {
    await person.page.evaluate(show, hidden);
    return (await person.report()).tick;
  }

  /** Ends a page's process: no event runs in it, so nobody is told that it goes. */
  async function crash(person) {
    if (engine(person) === 'firefox') {
      // Firefox has no command for it. A page that is stopped permanently is equally silent.
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
};

// Four pages fill two cores by themselves.
sideBySide(2, () => testGroups(matchesOf(PAIRS)));
if (LONG) sideBySide(1, () => testGroups(matchesOf(FOURS)));

// Chromium and Firefox in every pairing, and four people at the same time: both engines compute the same.

import { after, before, test } from 'node:test';
import { drawLess, launch, noFirefox, sideBySide } from './harness.mjs';
import { agreed, enter, finish, serve } from './rounds.mjs';

const HORIZON = 150;

const browsers = {};
before(async () => {
  const engines = noFirefox ? ['chromium'] : ['chromium', 'firefox'];
  await Promise.all(engines.map(async engine => { browsers[engine] = await launch(engine); }));
});
after(() => Promise.all(Object.values(browsers).map(browser => browser.close())));

sideBySide(3, () => {
  for (const engines of [
    ['firefox', 'chromium'],
    ['firefox', 'firefox'],
    ['chromium', 'firefox', 'chromium', 'firefox'],
  ]) {
    test(`${engines.join(', ')} play one match`, { skip: noFirefox }, async t => {
      const server = await serve(t, { horizon: HORIZON, tick_hz: 30 }, { players: engines.length });
      const people = await enter(t, server, engines.map(engine => browsers[engine]), { before: drawLess });
      const reports = await finish(people);
      await agreed(t, server, reports, HORIZON);
    });
  }
});

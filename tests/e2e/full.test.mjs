// A full server: people read why they cannot enter, and have a button that lets them in later.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PHONE, Participant, SOON, Server, drawLess, launch, scratch, studyWith } from './harness.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const LOOKS = [
  ['desktop-light', {}],
  ['phone-dark', { ...PHONE, colorScheme: 'dark' }],
];

for (const [look, device] of LOOKS) {
  test(`a page for which there is no place says so, and its button lets it in later: ${look}`, async t => {
    const folder = await scratch(t);
    const study = await studyWith({ horizon: 6_000, tick_hz: 20, grace_s: 1 }, folder);
    const server = await Server.start({
      study, data: `${folder}/data`, serve: true, args: ['--max-pages', '2', '--links', '3'],
    });
    t.after(() => server.kill());
    const open = (seat, options) => Participant.open(browser, server.links[seat], { before: drawLess, ...options });
    const [leaver, stayer] = await Promise.all([0, 1].map(seat => open(seat, { name: `page ${seat}` })));
    await Promise.all([leaver, stayer].map(person => person.read()));
    await Promise.all([leaver, stayer].map(person => person.shows('play')));

    const late = await open(2, { name: 'the one who comes late', device });
    t.after(() => Promise.all([stayer, late].map(person => person.context.close())));
    await late.says(/no free place/);
    if (process.env.COPLAY_SHOTS) await late.page.screenshot({ path: `${process.env.COPLAY_SHOTS}/full-${look}.png` });
    const button = late.page.getByRole('button', { name: 'Reload' });
    assert.equal(await button.count(), 1);
    await button.click();
    await late.says(/no free place/);

    await leaver.context.close();
    // The server notices after a moment that there is room.
    for (const until = Date.now() + SOON; ;) {
      await button.click();
      await late.page.waitForLoadState();
      const label = await late.page.waitForFunction(() => {
        const shown = [...document.querySelectorAll('button.primary')].find(it => it.checkVisibility());
        return shown?.textContent;
      }, null, { timeout: SOON });
      if (await label.jsonValue() !== 'Reload') break;
      assert.ok(Date.now() < until, 'the place that became free is given away');
    }
    assert.deepEqual(late.errors, []);
  });
}

// Pictures of every kind of page, on a phone and at a desk, in light and dark.
// node tests/e2e/shots.mjs --out DIR [--language de] [--only phone]

import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Mouse, Touch, everything, walk } from './everything.mjs';
import { PHONE, Participant, Server, launch, say, scratch } from './harness.mjs';

const { values: options } = parseArgs({
  options: { out: { type: 'string' }, language: { type: 'string', default: 'en' }, only: { type: 'string' } },
});
if (!options.out) throw new Error('--out names the folder for the pictures');

const DEVICES = { desk: [Mouse, { viewport: { width: 1280, height: 800 } }], phone: [Touch, PHONE] };

const leftovers = [];
const folder = await scratch({ after: work => leftovers.push(work) });
await mkdir(options.out, { recursive: true });
const server = await Server.start({ study: await everything(folder), data: `${folder}/data` });
const browser = await launch();
try {
  let link = 0;
  for (const [device, [Hands, context]] of Object.entries(DEVICES)) {
    if (options.only && options.only !== device) continue;
    const person = await Participant.open(browser, server.links[link], { device: { ...context, locale: options.language } });
    link += 1;
    let number = 0;
    await walk(person, new Hands(person), async name => {
      number += 1;
      for (const colorScheme of ['light', 'dark']) {
        await person.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        const file = `${device}-${String(number).padStart(2, '0')}-${name}-${colorScheme}.png`;
        await person.page.screenshot({ path: path.join(options.out, file), fullPage: true });
      }
      say(`${device}: ${name}`);
    });
    await person.context.close();
  }
} finally {
  await browser.close();
  await server.kill();
  for (const work of leftovers) await work();
}

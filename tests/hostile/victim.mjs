// An honest participant in a real browser: opens a link, waits, plays with real key presses, and goes to the last page.
// Says one line of JSON when it waits for its partner, and one when it is done or cannot go on. It ends with its input.

import { Participant, launch } from '../e2e/harness.mjs';

const tell = said => process.stdout.write(`${JSON.stringify(said)}\n`);
const browser = await launch();
process.stdin.resume();
process.stdin.once('end', async () => {
  await browser.close();
  process.exit(0);
});
try {
  const person = await Participant.open(browser, process.argv[2]);
  await person.shows(['lobby', 'play']);
  tell({});
  await person.play();
  if (await person.shows(['end', 'outcome']) === 'outcome') await person.goOn();
  await person.shows('end');
  const text = await person.page.evaluate(() => document.body.innerText);
  const [pay = ''] = text.match(/(GBP|£) ?[\d.]+/) ?? [];
  tell({ outcome: 'its last page', pay });
} catch (error) {
  tell({ stuck: error.message });
}

// A person shares a seat with an AI, with real keys and clicks: hands over and takes back, corrects, chooses among
// proposals. The tables say who decided in every tick, the log is verified, and the replay shows it.

import assert from 'node:assert/strict';
import { cp, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { inflateSync } from 'node:zlib';
import { PHONE, Participant, ROOT, SOON, Server, coplay, launch, scratch } from './harness.mjs';
import { exported, verified } from './match.mjs';

const { source: AXE } = createRequire(import.meta.url)('axe-core');

/** Turns of the last stage. */
const TURNS = 30;

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** A server of the example, and a person who has come to its first round. */
async function arrived(t, device) {
  const place = await scratch(t);
  const study = path.join(place, 'study');
  await cp(path.join(ROOT, 'examples/shared-seat'), study, { recursive: true });
  const data = path.join(place, 'data');
  const server = await Server.start({ study, data });
  t.after(() => server.kill());
  const person = await Participant.open(browser, server.links[0], { device });
  t.after(() => person.context.close());
  await person.read();
  return { data, server, person, page: person.page };
}

const who = page => page.textContent('.seat .who');
const tick = async person => (await person.report()).tick;
/** Waits until so many ticks have gone by. */
const later = async (person, ticks) => {
  const from = await tick(person);
  await person.knows(report => report.tick >= from + ticks);
};
/** Leaves the outcome, and reads on to the next round. */
const goOn = async person => {
  await person.shows('outcome', 2 * SOON);
  await person.press('section.play .overlay button.primary');
  await person.page.waitForSelector('section.play', { state: 'detached' });
};

/** What the checker finds wrong, in light and dark; and pictures, if somebody wants them. */
async function faults(page, name) {
  const found = [];
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    if (process.env.COPLAY_SHOTS) await page.screenshot({ path: `${process.env.COPLAY_SHOTS}/${name}-${colorScheme}.png` });
    if (!await page.evaluate(() => 'axe' in window)) await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => window.axe.run('.seat', { preload: false, resultTypes: ['violations'] }));
    for (const { id, nodes } of violations) found.push(`${name}, ${colorScheme}: ${id}: ${nodes[0].html.slice(0, 120)}`);
  }
  return found;
}

/** Gives the seat away and takes it back, by key and by button. */
async function handOver({ person, page }) {
  await person.knows(report => report.tick > 3);
  assert.match(await who(page), /you are playing/i);
  await page.keyboard.press('ArrowLeft');
  await later(person, 4);
  await page.keyboard.press('h');
  await person.says(/AI is playing for you/i);
  await later(person, 10);
  assert.deepEqual(await faults(page, 'seat-given'), []);
  // The partner plays: other keys are noted, and have no effect.
  await page.keyboard.press('ArrowDown');
  await later(person, 25);
  await page.keyboard.press('h');
  await person.says(/you are playing/i);
  await later(person, 8);
  await page.click('.seat button');
  await person.says(/AI is playing for you/i);
  // Keys belong to the world after a click, too.
  await later(person, 12);
  await page.keyboard.press('h');
  await person.says(/you are playing/i);
}

/** Corrects the partner, and takes the seat for a while. */
async function correct({ person, page }) {
  await person.knows(report => report.tick > 8);
  assert.match(await who(page), /your keys correct it/i);
  await page.keyboard.down('ArrowRight');
  await later(person, 5);
  await page.keyboard.up('ArrowRight');
  await later(person, 10);
  await page.keyboard.press('Space');
  await later(person, 10);
  await page.keyboard.press('h');
  await person.says(/you are playing/i);
  await later(person, 10);
  await page.keyboard.press('h');
  await person.says(/AI is playing for you/i);
}

/** Chooses among proposals, by key and by button; gives what was read on the chosen buttons. */
async function choose({ person, page }) {
  const chosen = [];
  for (let turn = 0; turn < TURNS; turn++) {
    await person.knows(report => report.tick === turn);
    await page.waitForSelector('.seat button:enabled');
    if (turn === 0) assert.deepEqual(await faults(page, 'seat-choose'), []);
    const at = turn % 2;
    const texts = await page.locator('.seat button > span').allTextContents();
    const name = texts[at] === 'Do nothing' ? 'noop' : texts[at].toLowerCase().replaceAll(' ', '_');
    chosen.push({ number: String(at + 1), name });
    if (turn % 3 === 0) await page.locator('.seat button').nth(at).click();
    else await page.keyboard.press(`Digit${at + 1}`);
  }
  return chosen;
}

const ofStage = (rows, stage) => rows.filter(row => row.stage_id === stage && row.seat === '0');

/** Every tick of a stage's steps is said to be played by whom `seat_control` says. */
function agree(tables, stage) {
  const control = ofStage(tables.seat_control, stage);
  const steps = ofStage(tables.steps, stage);
  assert.equal(control[0].tick, '0');
  assert.equal(control.at(-1).until_tick, String(steps.length));
  const delay = Number(control[0].until_tick) > 3 ? 3 : 0;
  for (const step of steps.slice(delay)) {
    const at = Number(step.tick);
    const stretch = control.find(row => Number(row.tick) <= at && at < Number(row.until_tick));
    assert.deepEqual([step.controller, step.is_bot], [stretch.controller, stretch.is_bot], `${stage}, tick ${at}`);
  }
  return control.map(row => row.reason);
}

test('a person hands over, takes back, corrects and chooses; tables, log and replay agree', async t => {
  const { data, server, person, page } = await arrived(t);
  await person.play();
  await goOn(person);
  for (const part of [handOver, correct]) {
    await person.read();
    await part({ person, page });
    await goOn(person);
  }
  await person.read();
  const chosen = await choose({ person, page });
  await person.goOn();
  await person.shows('end');
  assert.deepEqual(person.errors, []);
  await server.stop();

  const { code, episodes } = await verified(data);
  assert.equal(code, 0);
  assert.equal(episodes.length, 4);
  const tables = await exported(data, ['seat_control', 'proposals', 'steps', 'keys', 'seats']);

  const demonstrations = tables.seats.filter(row => row.demonstration === 'true');
  assert.deepEqual([...new Set(demonstrations.map(row => row.stage_id))], ['show']);

  assert.deepEqual(agree(tables, 'hand_over'), ['start', 'handed_over', 'taken_back', 'handed_over', 'taken_back']);
  const given = ofStage(tables.seat_control, 'hand_over')[1];
  assert.ok(Number(given.until_tick) - Number(given.tick) > 30);
  assert.match(given.controller, /^cook~d2n100$/);
  const did = ofStage(tables.steps, 'hand_over').slice(Number(given.tick), Number(given.until_tick));
  assert.ok(new Set(did.map(row => row.action_name)).size > 1, 'the partner does something');
  const useless = ofStage(tables.keys, 'hand_over').filter(row => row.action_name === 'move_down' && row.down === 'true');
  assert.deepEqual(useless.map(row => row.tick), [''], 'a key that does not count has no tick');

  const reasons = agree(tables, 'correct');
  assert.equal(reasons[0], 'start');
  assert.equal(ofStage(tables.seat_control, 'correct')[0].is_bot, 'true');
  assert.deepEqual(
    reasons.slice(1), ['override', 'override_end', 'override', 'override_end', 'taken_back', 'handed_over'],
  );
  const corrected = ofStage(tables.proposals, 'correct');
  assert.ok(corrected.length >= 6 && corrected.every(row => row.is_chosen === 'false'));
  assert.ok(corrected.some(row => row.action_name === 'move_right'));

  const proposals = ofStage(tables.proposals, 'choose');
  assert.equal(proposals.length, 2 * TURNS);
  const taken = proposals.filter(row => row.is_chosen === 'true');
  assert.deepEqual(taken.map(row => ({ number: row.number, name: row.proposed_name })), chosen);
  for (const row of taken) assert.equal(row.action, row.proposed);

  const episode = ofStage(tables.steps, 'hand_over')[0].episode_id;
  const file = path.join(data, 'replay.html');
  const replayed = await coplay('replay', episode, '--data', data, '--html', file);
  assert.equal(replayed.code, 0, replayed.stderr);
  const [, packed] = /id="data">([^<]*)</.exec(await readFile(file, 'utf8'));
  assert.match(inflateSync(Buffer.from(packed, 'base64')).toString(), /cook~d2n100 for the person/);
});

test('on a phone the line and its button are in sight, and nothing is cut off', async t => {
  const { person, page } = await arrived(t, PHONE);
  await person.play();
  await goOn(person);
  await person.read();
  await person.knows(report => report.tick > 3);
  await page.tap('.seat button');
  await person.says(/AI is playing for you/i);
  assert.deepEqual(await faults(page, 'seat-phone'), []);
  const box = await page.locator('.seat').boundingBox();
  assert.ok(box.x >= 0 && box.x + box.width <= PHONE.viewport.width, JSON.stringify(box));
  const button = await page.locator('.seat button').boundingBox();
  assert.ok(button.height >= 44 && button.width >= 44, JSON.stringify(button));
  const canvas = await page.locator('#stage').boundingBox();
  assert.ok(canvas.height > 200, `the world keeps its room: ${canvas.height}`);
});

// A person watches rounds again: rates while it plays, marks a moment, compares two clips, by keys and by mouse, with a
// reload in between; a checker of accessibility looks at it in light and dark, and the data have all of it with ticks.

import assert from 'node:assert/strict';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { PHONE, Participant, ROOT, SOON, Server, launch, scratch } from './harness.mjs';
import { exported } from './match.mjs';

const { source: AXE } = createRequire(import.meta.url)('axe-core');

/** Ticks of a round, 10 a second. */
const TICKS = 60;
/** Ticks from sample to sample: 500 ms. */
const EVERY = 5;

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** A server of the example with short rounds, and a person who has played both. */
async function watching(t, device) {
  const place = await scratch(t);
  const study = path.join(place, 'study');
  await cp(path.join(ROOT, 'examples/looking-back'), study, { recursive: true });
  const file = path.join(study, 'study.yaml');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace('horizon: 300', `horizon: ${TICKS}`).replaceAll('to_s: 15', 'to_s: 3'));
  const data = path.join(place, 'data');
  const server = await Server.start({ study, data });
  t.after(() => server.kill());
  const person = await Participant.open(browser, server.links[0], { device });
  t.after(() => person.context.close());
  await person.read();
  for (let round = 0; round < 2; round++) {
    await person.play();
    await person.press('section.play .overlay button.primary');
  }
  // A page that has played tells of its last round, and not of its drafts.
  await person.page.waitForSelector('section.watch .clip canvas', { timeout: SOON });
  await person.page.reload();
  await person.page.waitForSelector('section.watch .clip canvas', { timeout: SOON });
  return { data, server, person, page: person.page };
}

/** What the checker finds wrong, in light and dark; and pictures, if somebody wants them. */
async function faults(page, name) {
  const found = [];
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    if (process.env.COPLAY_SHOTS) {
      await page.screenshot({ path: `${process.env.COPLAY_SHOTS}/${name}-${colorScheme}.png`, fullPage: true });
    }
    if (!await page.evaluate(() => 'axe' in window)) await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => window.axe.run(document, { preload: false, resultTypes: ['violations'] }));
    for (const { id, nodes } of violations) found.push(`${name}, ${colorScheme}: ${id}: ${nodes[0].html.slice(0, 120)}`);
  }
  return found;
}

const stage = (page, ask) => page.evaluate(ask, null);
const annotator = page => stage(page, () => {
  const { annotator } = document.querySelector('.film').stage;
  return { values: annotator.values, spans: annotator.spans, tick: annotator.player.tick, isRated: annotator.isRated() };
});
const plays = (page, at = 0) => page.waitForFunction(at => document.querySelector('.film').stage.players[at].isPlaying, at);
const stops = (page, at = 0) => page.waitForFunction(
  at => !document.querySelector('.film').stage.players[at].isPlaying, at, { timeout: 3 * SOON });
// The button says what is missing, so it is pressed while it is not enabled, too.
const goesOn = page => page.click('section.watch .actions button.primary', { force: true });

test('a round is rated while it plays, a moment is marked, two clips are compared, and the data have it with ticks', async t => {
  const { data, server, person, page } = await watching(t);
  assert.deepEqual(await faults(page, 'watch-rate'), []);
  assert.ok(await page.locator('.row input').isDisabled(), 'nobody moves before the rating');
  await goesOn(page);
  await person.says(/watch and rate the recording to the end/);

  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('Space');
  await plays(page);
  await page.waitForFunction(() => document.querySelector('.film').stage.players[0].tick > 15);
  for (let press = 0; press < 4; press++) await page.keyboard.press('ArrowUp');
  assert.equal(await page.inputValue('#film-rating'), '70');
  await page.waitForFunction(() => document.querySelector('.film').stage.players[0].tick > 30);
  await page.keyboard.press('Space');
  await stops(page);
  const half = await annotator(page);
  assert.equal(half.values[0], null, 'nothing before the first touch');
  assert.equal(half.values.at(-1), 70);
  assert.equal(half.isRated, false);

  await person.knows(report => report.unsaved === false);
  await page.reload();
  await page.waitForSelector('section.watch .clip canvas', { timeout: SOON });
  const again = await annotator(page);
  assert.deepEqual(again.values, half.values);
  assert.ok(again.tick >= (half.values.length - 1) * EVERY, `goes on at ${again.tick}`);
  await page.keyboard.press('Space');
  await plays(page);
  await page.keyboard.press('ArrowDown');
  await stops(page);
  const whole = await annotator(page);
  assert.equal(whole.values.length, Math.floor(TICKS / EVERY) + 1);
  assert.equal(whole.values.at(-1), 65);
  assert.deepEqual(whole.values.slice(0, half.values.length), half.values);
  assert.ok(whole.isRated && await page.isDisabled('#film-rating'), 'the rating stays');

  await goesOn(page);
  await person.says(/mark at least 1/);
  await page.locator('.row input').press('Home');
  for (let step = 0; step < 10; step++) await page.keyboard.press('ArrowRight');
  // A key that is held down begins one span, and does not end it.
  for (let press = 0; press < 3; press++) await page.keyboard.down('m');
  await page.keyboard.up('m');
  assert.deepEqual((await annotator(page)).spans, []);
  for (let step = 0; step < 12; step++) await page.locator('.row input').press('ArrowRight');
  await page.click('button.mark');
  await page.getByLabel('Kind of moment').selectOption('A problem');
  await page.locator('.spans textarea').fill('We both went for “the” plate, m and all.');
  const [span] = (await annotator(page)).spans;
  assert.deepEqual([span.first, span.end, span.label], [10, 22, 'A problem']);
  assert.deepEqual(await faults(page, 'watch-mark'), []);
  await goesOn(page);

  await page.waitForSelector('section.watch .films.pair', { timeout: SOON });
  await goesOn(page);
  await person.says(/choose one answer/);
  for (const at of [0, 1]) {
    await page.locator('.film-play').nth(at).click();
    await stops(page, at);
  }
  const [left] = await stage(page, () => document.querySelector('.film').stage.task.order);
  await page.getByRole('radio', { name: 'Right' }).press('Space');
  assert.deepEqual(await faults(page, 'watch-compare'), []);
  await goesOn(page);
  await person.shows('end');
  assert.deepEqual(person.errors, []);

  const refused = await page.request.post(new URL('/film', server.url).href, { data: { session: 'x', stage: 'compare', clip: 1 } });
  assert.equal(refused.status(), 404);
  await server.stop();
  const { annotations, episodes } = await exported(data, ['annotations', 'episodes']);
  const of = kind => annotations.filter(row => row.kind === kind);
  const wanted = whole.values.map((value, at) => [String(at * EVERY), String(value)]).filter(([, value]) => value !== 'null');
  assert.deepEqual(of('rating').map(row => [row.first_tick, row.value]), wanted);
  const [mark] = of('mark');
  assert.deepEqual([mark.first_tick, mark.end_tick, mark.label], ['10', '22', 'A problem']);
  const last = episodes.at(-1).episode_id;
  assert.ok(annotations.filter(row => row.stage_id === 'look_back').every(row => row.clip_episode_id === last && row.clip_seat === '0'));
  const [choice] = of('choice');
  assert.deepEqual([choice.left, choice.clip], [String(left), String(3 - left)]);
});

test('a phone shows all of a recording side to side, and it is rated by touch', async t => {
  const { page } = await watching(t, PHONE);
  assert.deepEqual(await faults(page, 'watch-phone'), []);
  const wide = await page.evaluate(() => {
    const room = document.documentElement.clientWidth;
    const all = [...document.querySelectorAll('section.watch, section.watch *')];
    return all.filter(element => element.getBoundingClientRect().right > room).map(element => element.outerHTML.slice(0, 120));
  });
  assert.deepEqual(wide, []);
  await page.tap('.film-play');
  await plays(page);
  await page.locator('#film-rating').fill('20');
  await stops(page);
  assert.equal((await annotator(page)).values.at(-1), 20);
});

test('the recordings of a site come from its server, and keep the path of one that is below a path', async t => {
  const page = await browser.newPage();
  t.after(() => page.close());
  const asked = [];
  await page.route('**/*', route => {
    const { href, pathname } = new URL(route.request().url());
    if (pathname === '/') return route.fulfill({ contentType: 'text/html', body: '<meta name="coplay-server" content="wss://lab.example/one">' });
    if (pathname.endsWith('.js')) return route.fulfill({ path: path.join(ROOT, 'replay/page', path.basename(pathname)), contentType: 'text/javascript' });
    asked.push(href);
    return route.fulfill({ status: 404, headers: { 'access-control-allow-origin': '*' } });
  });
  await page.goto('https://site.example/');
  const told = await page.evaluate(async () => {
    const { openFilm } = await import('/film.js');
    return openFilm(document.body, JSON.stringify({ session: 's', stage: 'look', task: { order: [0] } })).catch(String);
  });
  assert.match(told, /film: 404/);
  assert.deepEqual(asked.filter(url => url.endsWith('/film')), ['https://lab.example/one/film']);
});

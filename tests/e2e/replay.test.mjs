// Replays of a rehearsed episode: one file from the disk, two episodes on one clock, by mouse, keyboard and address.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { inflateSync } from 'node:zlib';
import { PHONE, ROOT, SOON, coplay, launch, noFirefox, scratch, studyWith, within } from './harness.mjs';

const { source: AXE } = createRequire(import.meta.url)('axe-core');

const TICKS = 600;
const cleanup = [];
const folder = { after: deed => cleanup.push(deed) };
let data, episodes, file, written;

before(async () => {
  const place = await scratch(folder);
  const study = await studyWith({ horizon: String(TICKS) }, place);
  data = path.join(place, 'data');
  const rehearsed = await coplay('rehearse', study, '--sessions', '4', '--faults', 'slow-network', '--data', data);
  assert.equal(rehearsed.code, 0, rehearsed.stderr);
  const names = await readdir(path.join(data, 'episodes'));
  episodes = names.map(name => path.basename(name, '.coplay'));
  file = path.join(place, 'replay.html');
  const replayed = await coplay('replay', episodes[0], '--data', data, '--html', file, '--json');
  assert.equal(replayed.code, 0, replayed.stderr);
  written = JSON.parse(replayed.stdout);
});
after(() => Promise.all(cleanup.map(deed => deed())));

/** Opens a replay, and notes everything that its page asks a network for. */
async function opened(browser, url, options = {}) {
  const page = await (await browser.newContext(options)).newPage();
  page.asked = [];
  page.on('request', request => page.asked.push(request.url()));
  page.on('pageerror', error => { throw error; });
  await page.goto(url);
  await page.waitForSelector('#replay[aria-busy=false]', { timeout: SOON });
  page.openMs = await page.evaluate(() => window.viewer.openedMs);
  return page;
}

const address = (tick, seat) => `${pathToFileURL(file).href}#t=${tick}&seat=${seat}`;
const where = page => page.textContent('#where');
const tickOf = page => page.evaluate(() => window.viewer.tick);
/** The pixels of both pictures, as texts to compare. */
const pictures = page => page.$$eval('.stage canvas', all => all.map(canvas => canvas.toDataURL()));

test('one file has everything, names nobody, and is small', async () => {
  assert.deepEqual(written.ticks, [TICKS]);
  const page = await readFile(file, 'utf8');
  assert.equal(Buffer.byteLength(page), written.bytes);
  assert.ok(written.bytes < 500_000, `${written.bytes} bytes`);
  const [, packed] = /id="data">([^<]*)</.exec(page);
  const content = page.replace(packed, '') + inflateSync(Buffer.from(packed, 'base64'));
  const log = await readFile(path.join(data, 'episodes', `${episodes[0]}.coplay`), 'latin1');
  const people = log.match(/\b[PG]-[0-9A-Z]{8}\b/g);
  assert.ok(people?.length >= 2, 'the log names people');
  for (const name of [episodes[0], ...people]) assert.ok(!content.includes(name), name);
});

for (const engine of ['chromium', 'firefox']) {
  test(`${engine} opens it from the disk at a tick, and keys lead on`, { skip: engine === 'firefox' && noFirefox }, async t => {
    const browser = await launch(engine);
    t.after(() => browser.close());
    const page = await opened(browser, address(412, 1));
    assert.equal(await where(page), `Tick 412 of ${TICKS} · 41.2 s`);
    assert.equal(await page.inputValue('#seat'), '1');
    await page.keyboard.press('ArrowRight');
    assert.equal(await tickOf(page), 413);
    await page.keyboard.press('Shift+ArrowLeft');
    assert.equal(await tickOf(page), 403);
    await page.keyboard.press('0');
    assert.match(page.url(), /#t=403&seat=0$/);
    await page.keyboard.press('End');
    assert.equal(await tickOf(page), TICKS);
    await page.keyboard.press('Home');
    await page.keyboard.press('+');
    await page.keyboard.press('+');
    assert.equal(await page.inputValue('#speed'), '4');
    await page.keyboard.press('Space');
    await page.waitForFunction(() => window.viewer.tick > 20, null, { timeout: SOON });
    await page.keyboard.press('Space');
    const stopped = await tickOf(page);
    await page.evaluate(() => { location.hash = '#t=77&seat=1'; });
    await page.waitForFunction(() => window.viewer.tick === 77);
    assert.ok(stopped < TICKS && await page.inputValue('#scrub') === '77');
    const foreign = page.asked.filter(url => !/^(blob|data):/.test(url) && url.split('#')[0] !== pathToFileURL(file).href);
    assert.deepEqual(foreign, []);
  });
}

test('it opens soon, and seeks without a pause', async t => {
  const browser = await launch();
  t.after(() => browser.close());
  const openings = [];
  // Other tests run beside this one, so the bounds are wide; docs/replay.md has the figures of a quiet machine.
  for (let round = 0; round < 4; round++) openings.push((await opened(browser, address(0, 0))).openMs);
  assert.ok(Math.min(...openings) < 5_000, `${openings} ms`);
  const page = await opened(browser, address(0, 0));
  const seeks = await page.evaluate(last => Array.from({ length: 40 }, (_, at) => {
    const start = performance.now();
    window.viewer.seek((at * 337) % last);
    return performance.now() - start;
  }), TICKS);
  seeks.sort((one, other) => one - other);
  t.diagnostic(`opened after ${Math.min(...openings)} ms, median seek ${seeks[20]} ms`);
  assert.ok(seeks[20] < 500, `${seeks} ms`);
});

test('a wrong prediction is marked, and what was right is equal to the last pixel', async t => {
  const browser = await launch();
  t.after(() => browser.close());
  const page = await opened(browser, address(0, 0));
  await page.keyboard.press('n');
  const differing = await tickOf(page);
  assert.ok(differing > 0);
  assert.match(await page.textContent('.stage figure:last-child .words'), /differs/);
  await page.keyboard.press('d');
  const [truth, seen] = await pictures(page);
  assert.notEqual(truth, seen);
  await page.keyboard.press('d');
  const marked = await pictures(page);
  assert.ok(marked[0] !== truth || marked[1] !== seen, 'marks are painted');
  const equal = await page.evaluate(() => {
    const [episode] = window.viewer.episodes;
    return episode.seats[0].byTick.findIndex((frames, tick) => frames.length && !episode.differences(0).includes(tick));
  });
  await page.evaluate(tick => window.viewer.seek(tick), equal);
  const same = await pictures(page);
  assert.equal(same[0], same[1]);
  assert.match(await page.textContent('.stage figure:last-child .words'), /equal$/);
});

test('tables follow the tick, and lead to one', async t => {
  const browser = await launch();
  t.after(() => browser.close());
  const page = await opened(browser, address(300, 0));
  assert.deepEqual(await page.$$eval('[role=tab]', tabs => tabs.map(tab => tab.textContent).filter(name => name !== 'Events')),
    ['Keys', 'Network', 'Controllers', 'Facts']);
  await page.click('[role=tab]:text("Keys")');
  const row = await page.$eval('#panel tbody tr.now, #panel tbody tr', found => found.textContent);
  assert.match(row, / s/);
  const button = page.locator('#panel tbody button').first();
  const tick = Number(await button.textContent());
  await button.click();
  assert.equal(await tickOf(page), tick);
  await page.click('[role=tab]:text("Network")');
  assert.match(await page.textContent('#panel'), /misprediction|rollback/);
});

test('a checker of accessibility finds nothing, in light and dark', async t => {
  const browser = await launch();
  t.after(() => browser.close());
  for (const colorScheme of ['light', 'dark']) {
    const page = await opened(browser, address(300, 0), { colorScheme });
    for (const summary of await page.$$('summary')) await summary.click();
    // The page's own policy lets no script in; the checker comes past it, through the protocol of the browser.
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => window.axe.run(document, { preload: false, resultTypes: ['violations'] }));
    const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map(node => node.html.slice(0, 90)).join(' | ')}`);
    assert.deepEqual(told, [], colorScheme);
  }
});

test('a phone shows both pictures without scrolling sideways', async t => {
  const browser = await launch();
  t.after(() => browser.close());
  const page = await opened(browser, address(300, 0), PHONE);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(wide, 0);
  const boxes = await Promise.all((await page.$$('.stage canvas')).map(canvas => canvas.boundingBox()));
  assert.ok(boxes.every(box => box.width > 120 && box.x >= 0 && box.x + box.width <= 390), JSON.stringify(boxes));
});

test('two episodes play side by side on one clock', async t => {
  const program = process.env.COPLAY_BIN ?? path.join(ROOT, 'target/release/coplay');
  const server = spawn(program, ['replay', ...episodes, '--data', data, '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => server.kill('SIGKILL'));
  const [line] = await within(SOON, 'the link', once(createInterface({ input: server.stdout }), 'line'));
  const { link } = JSON.parse(line);
  const browser = await launch();
  t.after(() => browser.close());
  const page = await opened(browser, `${link}#t=200&seat=0`);
  assert.equal(await page.locator('.stage').count(), 2);
  assert.deepEqual(await page.$$eval('.stage h2', all => all.map(heading => heading.textContent)),
    episodes.map((episode, at) => `${'AB'[at]} · ${episode}`));
  const ticks = await page.evaluate(() => window.viewer.episodes.map(episode => window.viewer.tickOf(episode)));
  assert.deepEqual(ticks, [200, 200]);
  const elsewhere = await page.request.get(new URL('/replay/0', link).href);
  assert.equal(elsewhere.status(), 404);
});

test('a researcher rates while it plays and marks a span, and saves a table with ticks', async t => {
  const browser = await launch();
  t.after(() => browser.close());
  const page = await opened(browser, address(30, 0));
  await page.click('#annotate summary');
  await page.fill('#annotate-name', 'Ann');
  await page.fill('#annotate-labels', 'collision, waiting');
  await page.locator('#annotate-labels').press('Tab');
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Space');
  await page.waitForFunction(() => window.viewer.tick >= 45, null, { timeout: SOON });
  await page.keyboard.press('Space');
  await page.evaluate(() => window.viewer.seek(100));
  await page.keyboard.press('m');
  for (let step = 0; step < 4; step++) await page.keyboard.press('ArrowRight');
  await page.keyboard.press('m');
  await page.getByLabel('Label', { exact: true }).selectOption('waiting');
  await page.locator('.spans textarea').fill('=1+1, "both" wait');
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#annotate-save')]);
  const [columns, ...rows] = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n');
  assert.equal(columns, 'episode,stage_id,annotator,kind,first_tick,end_tick,value,label,text');
  assert.deepEqual(rows.slice(0, 3).map(row => row.split(',').slice(2, 7)), [30, 35, 40].map(tick => ['Ann', 'rating', `${tick}`, `${tick + 4}`, '55']));
  assert.match(rows.at(-1), /,Ann,mark,100,104,,waiting,"'=1\+1, ""both"" wait"$/);
});

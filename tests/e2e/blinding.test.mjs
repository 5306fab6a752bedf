// An AI partner that the study does not disclose, beside people: the same words, the same pictures beside the world, the
// same requests, and the same times, from the waiting room to the end. And the moment in which one takes over the seat of
// somebody who does not come back, beside the same moment of somebody who does.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { SOON, Server, drawLess, launch, scratch } from './harness.mjs';
import { exported } from './match.mjs';
import { enter } from './visits.mjs';

const STUDY = `format: 1
study: {id: blind, version: 1.0.0, title: Blind, contact: lab@example.edu}
timeline:
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 9, on_timeout: bot, bot: {policy: cook, disclose: false}}
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, partner]
    config: {layout: cramped_room, horizon: 40, tick_hz: 10}
    episodes: 3
    rest: {file: rest.md, max_s: 3}
  - {id: thanks, type: end, file: thanks.md}
`;

/** In the page, before its own scripts: notes what can be read and when, each state of it once, however short. */
function watch() {
  window.watched = [];
  let last = '';
  const note = () => {
    const root = document.querySelector('#app');
    if (!root || !window.coplay) return;
    const stage = ['lobby', 'play', 'rest', 'end'].find(name => root.querySelector(`section.${name}`)) ?? '';
    const { tick } = JSON.parse(window.coplay.report());
    // The world in words is about what the partner does, and that is theirs.
    const seen = [...root.querySelectorAll('.sr-only')].reduce((words, { innerText }) => words.replace(innerText, ''), root.innerText);
    const words = seen.replaceAll(/\d+/g, '#').replaceAll(/\s+/g, ' ').trim();
    const runs = stage === 'play' && tick > 0;
    const now = JSON.stringify([stage, runs, words, document.title]);
    if (now !== last) window.watched.push({ stage, runs, words, title: document.title, tick, at_ms: performance.now() });
    last = now;
  };
  setInterval(note, 20);
  new MutationObserver(note).observe(document, { childList: true, subtree: true });
}

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** In the page, before its own scripts: counts tones and vibrations. */
function listen() {
  window.tones = 0;
  const { start } = OscillatorNode.prototype;
  OscillatorNode.prototype.start = function (...given) {
    window.tones += 1;
    start.apply(this, given);
  };
  navigator.vibrate = () => { window.tones += 1; };
}

const BROWSER = { viewport: { width: 900, height: 700 }, reducedMotion: 'reduce' };

/**
 * A picture of the page without its world, which is about what the partner does, and figures that pass. The page is painted
 * on a new layer for it: where a browser paints only what has changed, it smooths round edges twice.
 */
async function look({ page }) {
  await page.evaluate(() => new Promise(resolve => {
    document.body.style.willChange = 'transform';
    requestAnimationFrame(() => requestAnimationFrame(resolve));
  }));
  const picture = await page.screenshot({ mask: [page.locator('canvas'), page.locator('.figure .value'), page.locator('.overlay')], animations: 'disabled' });
  await page.evaluate(() => { document.body.style.willChange = ''; });
  return picture;
}

/**
 * How the two pictures differ that are most alike: how many points have a colour that is more than `TINT` levels away, and
 * where. A busy browser may smooth round edges twice, which moves a colour by one level.
 */
async function differ(t, some, others) {
  const page = await browser.newPage();
  t.after(() => page.close());
  const sources = [some, others].map(looks => looks.map(png => `data:image/png;base64,${png.toString('base64')}`));
  return page.evaluate(async ([[some, others], tint]) => {
    const read = async source => {
      const image = new Image();
      image.src = source;
      await image.decode();
      const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
      canvas.drawImage(image, 0, 0);
      return { width: image.width, levels: canvas.getImageData(0, 0, image.width, image.height).data };
    };
    const compare = (one, other) => {
      if (one.width !== other.width || one.levels.length !== other.levels.length) return { points: Infinity, where: 'another size' };
      const points = new Set();
      let most = 0;
      one.levels.forEach((level, at) => {
        const apart = Math.abs(level - other.levels[at]);
        if (apart > tint) points.add(at >> 2);
        most = Math.max(most, apart);
      });
      const range = found => `${found.reduce((least, at) => Math.min(least, at), Infinity)} to ${found.reduce((most, at) => Math.max(most, at), 0)}`;
      const [x, y] = [at => at % one.width, at => Math.floor(at / one.width)].map(axis => range([...points].map(axis)));
      return { points: points.size, where: `x ${x}, y ${y}, up to ${most} levels` };
    };
    const [these, those] = await Promise.all([some, others].map(sources => Promise.all(sources.map(read))));
    return these.flatMap(one => those.map(other => compare(one, other))).reduce((best, found) => found.points < best.points ? found : best);
  }, [sources, TINT]);
}
const TINT = 1;

/** The addresses that a page asked for, without what is other in every session. */
const addresses = asked => asked.filter(address => !address.startsWith('blob:')).map(address => new URL(address).pathname.replaceAll(/[0-9a-f]{64}/g, '#'));

/** What is there for less than a look depends on when the page is drawn. */
const readable = watched => watched.filter(({ at_ms }, at) => (watched[at + 1]?.at_ms ?? Infinity) - at_ms > 150);

/** Somebody who waits, plays and ends: what they could read, their pictures, their requests, and how long they waited for each first tick. */
async function takePart(person) {
  const { page } = person;
  await page.locator('section.play').waitFor({ timeout: 2 * SOON });
  const plays = ({ status, tick }) => status === 'playing' && tick > 5 && tick < 35;
  await person.knows(plays);
  // Several: some looks pass, such as that of a slow machine before everything is drawn.
  const looks = [];
  for (let shots = 0; looks.length === 0 || shots < 4 && plays(await person.report()); shots += 1) {
    const picture = await look(person);
    if ((await person.report()).status === 'playing') looks.push(picture);
  }
  await page.locator('section.end').waitFor({ timeout: 4 * SOON });
  const watched = await page.evaluate(() => window.watched);
  const requests = addresses(person.asked);
  const starts_ms = watched.flatMap(({ stage, runs, at_ms }, at) => {
    const begun = watched.findLast((state, before) => before < at && state.stage !== 'play');
    const first = runs && !watched[at - 1].runs;
    const match = begun && watched.find(state => state.stage === 'play' && state.at_ms > begun.at_ms);
    return stage === 'play' && first && match ? [at_ms - match.at_ms] : [];
  });
  const [words, flashes] = [readable(watched), watched].map(states => [...new Set(states.map(({ stage, words }) => `${stage}: ${words}`))].sort());
  return { words, flashes, looks, requests: [...new Set(requests)].sort(), starts_ms };
}

test('an AI partner that is not disclosed is not told from a person by words, pictures, requests or times', async t => {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await mkdir(study);
  await writeFile(path.join(study, 'study.yaml'), STUDY);
  await writeFile(path.join(study, 'rest.md'), '# A short rest\n');
  await writeFile(path.join(study, 'thanks.md'), '# Thank you\n');
  const server = await Server.start({ study, data: `${folder}/data`, args: ['--links', '5'] });
  t.after(() => server.kill());
  const open = (link, name) => enter(t, browser, server.links[link], { name, before: watch, device: BROWSER });

  // Two pairs, one after the other: their six starts are what the server takes for usual.
  const humans = [];
  for (const pair of [0, 1]) {
    const people = [await open(2 * pair, 'first'), null];
    await people[0].page.locator('section.lobby').waitFor({ timeout: SOON });
    people[1] = await open(2 * pair + 1, 'second');
    humans.push(...await Promise.all(people.map(takePart)));
    await Promise.all(people.map(({ context }) => context.close()));
  }
  const alone = await takePart(await open(4, 'alone'));

  // A machine that is too busy holds the world, which an AI partner never does; and it may show a waiting room for a moment
  // before the server's first word about the wait, which has figures.
  const isBusy = sentence => /One moment|^lobby: .* match you with… Questions/.test(sentence);
  // How long it takes to get the game ready is the machine's matter: below, the times are compared.
  const known = new Set(humans.flatMap(({ flashes }) => flashes));
  const news = alone.words.filter(sentence => !isBusy(sentence) && !known.has(sentence));
  assert.deepEqual(news, [], 'nothing is said that is not said beside people');
  const first = humans[0];
  for (const stage of ['lobby', 'play', 'rest', 'end']) {
    assert.ok(alone.words.some(sentence => sentence.startsWith(stage)), `${stage} was seen`);
  }
  assert.deepEqual(alone.requests, first.requests);
  const { points, where } = await differ(t, alone.looks, humans.flatMap(({ looks }) => looks));
  assert.equal(points, 0, `the page around the world looks the same, but for ${where}`);

  const beside = humans.flatMap(({ starts_ms }) => starts_ms);
  t.diagnostic(`first ticks beside people: ${beside.map(Math.round)} ms; beside the AI partner: ${alone.starts_ms.map(Math.round)} ms`);
  assert.equal(alone.starts_ms.length, 3);
  const [least, most] = [Math.min(...beside) - 600, Math.max(...beside) + 600];
  for (const start_ms of alone.starts_ms) assert.ok(start_ms > least && start_ms < most, `${start_ms} of ${least} to ${most} ms`);
});

/** Ticks of the episode in which somebody goes: when they go, and how long the study waits for them. */
const AWAY = { horizon: 150, tick_hz: 10, from: 25, grace_s: 6 };

const AWAY_STUDY = `format: 1
study: {id: away, version: 1.0.0, title: Away, contact: lab@example.edu}
timeline:
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 60, on_timeout: bot, bot: {policy: cook, disclose: false}}
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, partner]
    config: {layout: cramped_room, horizon: ${AWAY.horizon}, tick_hz: ${AWAY.tick_hz}}
    countdown_s: 1
    on_disconnect: {grace_s: ${AWAY.grace_s}, then: bot}
  - {id: thanks, type: end, file: thanks.md}
`;

/**
 * Two people play until one goes away by `goes`; what the other one could read, see and hear from then on, what their page
 * asked for, and who played the seat that was left.
 */
async function beLeft(t, open, goes) {
  const stays = await open('stays');
  await stays.page.locator('section.lobby').waitFor({ timeout: SOON });
  const leaves = await open('leaves');
  await Promise.all([stays, leaves].map(person => person.knows(({ tick }) => tick >= AWAY.from)));
  const { episode, seat } = await leaves.report();
  const [asked, tones] = [stays.asked.length, await stays.page.evaluate(() => window.tones)];
  const from = (await stays.report()).tick;
  await goes(leaves.page);
  // Until the study no longer waits for them, and a while longer.
  const until = from + (AWAY.grace_s + 2) * AWAY.tick_hz;
  const looks = [];
  await stays.knows(({ tick }) => tick >= until);
  while ((await stays.report()).tick < AWAY.horizon - 10 && looks.length < 3) looks.push(await look(stays));
  const requests = addresses(stays.asked.slice(asked));
  await stays.page.locator('section.end').waitFor({ timeout: 2 * SOON });
  const watched = await stays.page.evaluate(() => window.watched);
  const since = watched.findLastIndex(({ stage, tick }) => stage === 'play' && tick <= from);
  const [words, flashes] = [readable(watched.slice(since)), watched.slice(since)]
    .map(states => [...new Set(states.map(({ stage, words, title }) => `${stage}: ${title}: ${words}`))]);
  return { episode, seat, looks, requests, words, flashes, tones: await stays.page.evaluate(() => window.tones) - tones };
}

test('the moment in which an AI partner that is not disclosed takes over is not told by words, pictures, requests or tones', async t => {
  const folder = await scratch(t);
  const [study, data] = [path.join(folder, 'study'), path.join(folder, 'data')];
  await mkdir(study);
  await writeFile(path.join(study, 'study.yaml'), AWAY_STUDY);
  await writeFile(path.join(study, 'thanks.md'), '# Thank you\n');
  const server = await Server.start({ study, data, args: ['--links', '4'] });
  t.after(() => server.kill());
  const opens = first => {
    let link = first;
    return name => enter(t, browser, server.links[link++], { name, before: [watch, listen, drawLess], device: BROWSER });
  };

  // One comes back by a reload, before the study stops waiting; the other one never does.
  const back = await beLeft(t, opens(0), page => page.reload());
  const gone = await beLeft(t, opens(2), page => page.goto('about:blank'));

  const { steps } = await exported(data, ['steps']);
  const playedBy = ({ episode, seat }) => steps.filter(row => row.episode_id === episode && Number(row.seat) === seat).map(row => row.controller);
  assert.equal(playedBy(back).at(-1), 'human', 'one came back');
  assert.ok(playedBy(gone).indexOf('cook') > AWAY.from, `an AI partner took over: ${[...new Set(playedBy(gone))]}`);
  // A machine that is too busy holds the world.
  const known = [...back.flashes, ...back.flashes.map(words => words.replace(' One moment…', ''))];
  const news = gone.words.filter(words => !known.includes(words) && !words.includes('One moment'));
  assert.deepEqual(news, [], 'nothing is said that is not said of somebody who comes back');
  assert.ok(gone.words.some(words => words.startsWith('play')), 'the play was seen');
  assert.deepEqual(gone.requests, back.requests);
  assert.deepEqual([gone.tones, back.tones], [0, 0]);
  assert.ok(gone.looks.length > 0, 'there was time to look');
  const { points, where } = await differ(t, gone.looks, back.looks);
  assert.equal(points, 0, `the page around the world looks the same, but for ${where}`);
});

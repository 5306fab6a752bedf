// What looking at data costs, one JSON line for each figure: the page of a replay, and branches.

import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { SOON, coplay, launch, say, scratch, studyWith } from './harness.mjs';

/** Ticks of the episodes: a minute and twenty minutes at 10 ticks a second. */
const SHORT = 600;
const LONG = 12_000;
const RUNS = 1_000;

const print = (name, value, unit) => console.log(JSON.stringify({ name, value: Number(value.toPrecision(4)), unit }));
const sorted = list => [...list].sort((one, other) => one - other);

const leftovers = [];
const cleanup = { after: work => leftovers.push(work) };
try {
  for (const ticks of [SHORT, LONG]) {
    const { data, episode } = await rehearse(ticks);
    await openReplay(data, episode, ticks);
    if (ticks === SHORT) await branch(data, episode);
  }
} finally {
  await Promise.all(leftovers.map(work => work()));
}

/** The data of two people and an episode of theirs that has this many ticks. */
async function rehearse(ticks) {
  say(`an episode of ${ticks} ticks`);
  const folder = await scratch(cleanup);
  const study = await studyWith({ horizon: String(ticks) }, folder);
  const data = path.join(folder, 'data');
  const order = ['rehearse', study, '--sessions', '2', '--faults', 'none', '--data', data];
  const rehearsed = await coplay(...order);
  assert.equal(rehearsed.code, 0, rehearsed.stderr);
  const [name] = await readdir(path.join(data, 'episodes'));
  return { data, episode: path.basename(name, '.coplay') };
}

/** The replay as one file: its bytes, the time to open it, and the time to show another tick. */
async function openReplay(data, episode, ticks) {
  const file = path.join(data, '..', 'replay.html');
  const replayed = await coplay('replay', episode, '--data', data, '--html', file, '--json');
  assert.equal(replayed.code, 0, replayed.stderr);
  assert.deepEqual(JSON.parse(replayed.stdout).ticks, [ticks]);
  print(`replay of ${ticks} ticks, one file`, (await stat(file)).size / 1_000, 'kB');
  const browser = await launch();
  try {
    const openings = [];
    let page;
    for (let round = 0; round < 5; round++) {
      await page?.close();
      page = await browser.newPage();
      await page.goto(pathToFileURL(file).href);
      await page.waitForSelector('#replay[aria-busy=false]', { timeout: SOON });
      openings.push(await page.evaluate(() => window.viewer.openedMs));
    }
    print(`replay of ${ticks} ticks, until open`, sorted(openings)[2], 'ms');
    const seeks = sorted(await page.evaluate(last => Array.from({ length: 101 }, (_, at) => {
      const start = performance.now();
      window.viewer.seek((at * 337) % last);
      return performance.now() - start;
    }), ticks));
    print(`replay of ${ticks} ticks, until another tick is shown, median`, seeks[50], 'ms');
    print(`replay of ${ticks} ticks, until another tick is shown, slowest of 101`, seeks[100], 'ms');
  } finally {
    await browser.close();
  }
}

/** Continuations of an episode from its first tick, so that each run has all ticks to play. */
async function branch(data, episode) {
  for (const policy of ['random', 'cook']) {
    const start = performance.now();
    const order = ['branch', episode, '--data', data, '--tick', '0', '--seat', '1', '--with', policy];
    const branched = await coplay(...order, '--runs', String(RUNS), '--json');
    assert.equal(branched.code, 0, branched.stderr);
    assert.equal(JSON.parse(branched.stdout).runs.length, RUNS);
    print(`branches of ${SHORT} ticks with ${policy}`, RUNS / ((performance.now() - start) / 1_000), 'runs/s');
  }
}

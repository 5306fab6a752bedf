// Stages of many episodes: ends by a formula, rests, a HUD of the study's own, and turns that wait for the person.

import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Participant, Server, coplay, launch, scratch } from './harness.mjs';
import { exported } from './match.mjs';

const STUDY = `format: 1
study: {id: episodes, version: 1.0.0, title: Episodes, contact: lab@example.edu}
timeline:
  - id: train
    type: env
    env: overcooked@2.0.0
    players: [self, {policy: cook}]
    config: {layout: cramped_room, horizon: 600, tick_hz: 10}
    until: {formula: elapsed_s >= 1, max_episodes: 2}
    seed: [episode]
    countdown_s: 1
    hud:
      - {label: Round, value: "{{ episode }} of {{ episodes }}"}
      - {label: Played, value: "{{ floor(elapsed_s) }} s"}
    rest: {file: rest.md, min_s: 1}
  - id: think
    type: env
    env: overcooked@2.0.0
    players: [self, {policy: cook}]
    config: {layout: cramped_room, horizon: 600, tick_hz: 10}
    until: ticks >= 4
    mode: turns
`;

/** The rows of a table, some of whose values have commas in them. */
async function table(file) {
  const values = line => [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)].map(([, value]) => value);
  const [columns, ...rows] = (await readFile(file, 'utf8')).trimEnd().split('\n').map(values);
  return rows.map(row => Object.fromEntries(columns.map((column, at) => [column, row[at]])));
}

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

test('episodes end by the formula, rest between each other, and turns wait for the person', async t => {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await mkdir(study);
  await writeFile(path.join(study, 'study.yaml'), STUDY);
  await writeFile(path.join(study, 'rest.md'), '# A short rest\n\nTake a breath.\n');
  const server = await Server.start({ study, data: `${folder}/data` });
  t.after(() => server.kill());
  const person = await Participant.open(browser, server.links[0]);
  t.after(() => person.context.close());
  const { page } = person;

  await person.says(/Round 1 of 2/);
  await person.says(/Played 0 s/);
  await person.shows('rest');
  await person.says(/A short rest/);
  await person.says(/Round 1 of 2 is over/);
  // The way on is closed for a second, and a reload is no way around.
  assert.equal(await page.locator('section.rest button').isDisabled(), true);
  await page.reload();
  await person.shows('rest');
  await page.locator('section.rest button:enabled').click();
  await person.says(/Round 2 of 2/);
  await person.goOn();

  await person.knows(({ stage_id, status }) => stage_id === 'think' && status === 'playing');
  await page.keyboard.press('ArrowUp');
  await person.knows(({ tick }) => tick === 1);
  await page.keyboard.down('ArrowLeft');
  await person.knows(({ tick }) => tick === 2);
  await page.keyboard.up('ArrowLeft');
  // Somebody who reloads thinks on where they were.
  await page.reload();
  await person.knows(({ tick, status }) => tick === 2 && status === 'playing');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowDown');
  await person.knows(({ verdict }) => verdict?.ticks === 4);
  await person.goOn();
  await person.shows('end');
  assert.deepEqual(person.errors, []);
  await server.stop();

  const data = `${folder}/data`;
  const tables = await exported(data);
  const own = (await table(`${data}/tables/seats.csv`)).filter(({ seat }) => seat === '0');
  assert.deepEqual(
    own.map(({ stage_id, episode_index, mode, ticks }) => [stage_id, episode_index, mode, ticks])
      .sort((a, b) => a.join().localeCompare(b.join())),
    [['think', '0', 'turns', '4'], ['train', '0', 'ticks', '10'], ['train', '1', 'ticks', '10']],
  );
  const turns = tables.keys.filter(({ stage_id, down, tick }) => stage_id === 'think' && down === 'true' && tick !== '');
  assert.deepEqual(turns.map(({ tick }) => tick), ['0', '1', '2', '3']);
  // The first turn of each page answers a frame that was on the screen.
  for (const { tick, at_us, frame_us } of turns.filter(({ tick }) => ['0', '2'].includes(tick))) {
    const us = Number(at_us) - Number(frame_us);
    assert.ok(frame_us !== '' && us > 0 && us < 60_000_000, `turn ${tick}: ${us} us`);
  }
  const { code, stdout } = await coplay('verify', '--data', data);
  assert.equal(code, 0, stdout);
});

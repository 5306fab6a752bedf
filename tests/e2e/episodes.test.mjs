// Stages of many episodes: ends by a formula, rests, figures of the study's own, and turns that wait for the person.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { SOON, Server, launch, scratch } from './harness.mjs';
import { enter, tables } from './visits.mjs';

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

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** In the page, before its own scripts: notes which turn there is at every frame, and when keys go down. */
function watch() {
  window.watched = { frames: [], keys: [] };
  addEventListener('keydown', event => window.watched.keys.push(event.timeStamp), true);
  const look = at => {
    const { stage_id, status, tick } = JSON.parse(window.coplay?.report() ?? '{}');
    if (stage_id === 'think' && status === 'playing') window.watched.frames.push([at, tick]);
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

/** Presses a key once a turn has been on the screen for some frames: how long that was, milliseconds, at least and at most. */
async function think(page, turn, key) {
  const seen = turn => window.watched.frames.filter(([, tick]) => tick === turn).length > 4;
  await page.waitForFunction(seen, turn, { timeout: SOON });
  await page.keyboard.press(key);
  return page.evaluate(turn => {
    const frames = window.watched.frames.filter(([, tick]) => tick === turn);
    const pressed = window.watched.keys.at(-1);
    // What is there at one frame is drawn in the next, and on the screen by the one after that.
    return [pressed - frames[2][0], pressed - frames[0][0]];
  }, turn);
}

test('episodes end by the formula, rest between each other, and turns wait for the person', async t => {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await mkdir(study);
  await writeFile(path.join(study, 'study.yaml'), STUDY);
  await writeFile(path.join(study, 'rest.md'), '# A short rest\n\nTake a breath.\n');
  const server = await Server.start({ study, data: `${folder}/data` });
  t.after(() => server.kill());
  const person = await enter(t, browser, server.links[0], { before: watch });
  const { page } = person;

  await person.says(/Round\s+1 of 2/);
  await person.shows('rest');
  await person.says(/A short rest/);
  await person.says(/Round 1 of 2 is over/);
  // The way on is closed for a second, and a reload is no way around.
  assert.equal(await page.locator('section.rest button').isDisabled(), true);
  await page.reload();
  await person.shows('rest');
  await page.locator('section.rest button:enabled').click();
  await person.says(/Round\s+2 of 2/);
  await person.goOn();

  const took = [await think(page, 0, 'ArrowUp')];
  await person.knows(({ tick }) => tick === 1);
  await page.keyboard.down('ArrowLeft');
  await person.knows(({ tick }) => tick === 2);
  await page.keyboard.up('ArrowLeft');
  // Somebody who reloads thinks on where they were.
  await page.reload();
  took.push(await think(page, 2, 'ArrowRight'), await think(page, 3, 'ArrowDown'));
  await person.knows(({ verdict }) => verdict?.ticks === 4);
  await person.goOn();
  await person.shows('end');
  assert.deepEqual(person.errors, []);

  const { seats, keys } = await tables(server, ['seats', 'keys']);
  assert.deepEqual(
    seats.filter(({ seat }) => seat === '0').map(({ stage_id, episode_index, mode, ticks }) => [stage_id, episode_index, mode, ticks])
      .sort((a, b) => a.join().localeCompare(b.join())),
    [['think', '0', 'turns', '4'], ['train', '0', 'ticks', '10'], ['train', '1', 'ticks', '10']],
  );
  const turns = keys.filter(({ stage_id, down, tick }) => stage_id === 'think' && down === 'true' && tick !== '');
  assert.deepEqual(turns.map(({ tick }) => tick), ['0', '1', '2', '3']);
  // The response time is from when the turn was on the screen to the key, as the page's own frames and keys tell.
  for (const [at, [least, most]] of took.entries()) {
    const { at_unix_us, frame_unix_us, tick } = turns[[0, 2, 3][at]];
    const ms = (Number(at_unix_us) - Number(frame_unix_us)) / 1_000;
    assert.ok(frame_unix_us !== '' && ms >= least - 1 && ms <= most + 1, `turn ${tick}: from ${frame_unix_us} to ${at_unix_us} us, and not ${least} to ${most} ms`);
  }
});

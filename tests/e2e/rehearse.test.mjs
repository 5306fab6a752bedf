// A rehearsal with real pages: people in front of Chromium and a bot take part in one study of every kind of stage,
// and are judged alike.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { SOON, coplay, scratch, within } from './harness.mjs';

const STUDY = `format: 1
study: {id: pages, version: 1.0.0, title: Real pages, contact: lab@example.edu}
recruitment:
  provider: prolific
  currency: GBP
  base: 1.00
  outcomes:
    completed: {do: approve, pay: base, code: C0MPLETE}
timeline:
  - {id: consent, type: consent, file: text.md}
  - {id: how, type: instructions, pages: [text.md, text.md], min_s: 1}
  - id: quiz
    type: quiz
    attempts: 3
    items: [{name: soup, ask: How many onions make a soup?, choices: [1, 2, 3], answer: 3}]
  - id: think
    type: env
    env: overcooked@2.0.0
    mode: turns
    players: [self, {policy: cook}]
    config: {layout: cramped_room, horizon: 6, tick_hz: 10}
  - id: lobby
    type: lobby
    group_size: 2
    timeout_s: 60
    on_timeout: ask
    bot: {policy: cook}
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, partner]
    config: {layout: cramped_room, horizon: 40, tick_hz: 10}
    episodes: 2
    rest: {file: text.md, min_s: 1}
    countdown_s: 1
  - {id: elsewhere, type: external, url: "https://forms.example.edu/?back={{return}}"}
  - {id: form, type: external, url: "https://forms.example.edu", code: BLUE-42}
  - id: after
    type: survey
    surveyjs:
      pages:
        - elements:
            - {type: rating, name: fun, title: How much fun?, rateMax: 7, isRequired: true}
            - {type: checkbox, name: devices, title: You used, choices: [keyboard, mouse], isRequired: true}
            - {type: boolean, name: again, title: Again?, isRequired: true}
        - elements:
            - {type: comment, name: why, title: Why?, isRequired: true}
            - {type: text, name: age, title: Age, inputType: number, isRequired: true}
            - {type: matrix, name: each, title: Rate, isAllRowRequired: true, columns: [1, 2], rows: [a, b]}
  - {id: debrief, type: debrief, file: text.md}
  - {id: thanks, type: end, file: text.md}
`;

async function study(t) {
  const folder = await scratch(t);
  await writeFile(path.join(folder, 'study.yaml'), STUDY);
  await writeFile(path.join(folder, 'text.md'), '# A page\n\nWords.\n');
  return folder;
}

/** Processes whose command line names something. */
async function processes(name) {
  const found = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (line.includes(name)) found.push(line.replaceAll('\0', ' '));
  }
  return found;
}

test('people in front of real pages go through every stage, and their answers are in the tables', async t => {
  const folder = await study(t);
  const { code, stdout, stderr } = await coplay(
    'rehearse', folder, '--process', '--sessions', '2', '--browsers', '2', '--faults', 'none', '--arrivals-per-min', '60', '--json');
  assert.equal(code, 0, stdout + stderr);
  const report = JSON.parse(stdout);
  assert.deepEqual(report.outcomes, { completed: 2 }, stdout);
  assert.equal(report.browsers.sessions, 2);
  assert.match(report.browsers.product, /Chrome/);
  const { rows, acknowledged } = report.tables;
  // The consent, the quiz, the code and the survey of each.
  assert.ok(acknowledged >= 2 * (1 + 1 + 1 + 6), stdout);
  // Two kitchens of one, and two rounds of two.
  assert.equal(rows.episodes, 4, stdout);
  assert.equal(rows.steps, 2 * (2 * 6 + 2 * 40), stdout);
  assert.ok(rows.keys > 20, 'keys were pressed');
});

test('a rehearsal that is stopped leaves no browser behind', async t => {
  const [folder, place] = [await study(t), await scratch(t)];
  const rehearsal = spawn(process.env.COPLAY_BIN ?? path.resolve(import.meta.dirname, '../../target/release/coplay'),
    ['rehearse', folder, '--process', '--sessions', '2', '--browsers', '2', '--faults', 'none', '--arrivals-per-min', '60'],
    { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, TMPDIR: place } });
  const gone = once(rehearsal, 'exit');
  t.after(() => rehearsal.kill('SIGKILL'));
  const here = new Promise(resolve => createInterface({ input: rehearsal.stderr }).on('line', line => {
    if (/\b[12] here/.test(line)) resolve();
  }));
  await within(SOON, 'somebody is there', here);
  assert.notEqual((await processes(place)).length, 0, 'the browser runs');
  rehearsal.kill('SIGINT');
  const [code] = await within(SOON, 'the rehearsal stops', gone);
  assert.equal(code, 1);
  assert.deepEqual(await processes(place), []);
  assert.deepEqual(existsSync(place) && await readdir(place), []);
});

test('a rehearsal without a browser says where to get one', async t => {
  const folder = await study(t);
  const { code, stderr } = await coplay('rehearse', folder, '--process', '--browsers', '1', '--chromium', '/no/such/chrome');
  assert.equal(code, 1);
  assert.match(stderr, /no browser at \/no\/such\/chrome.*--chromium.*COPLAY_CHROMIUM/s);
});

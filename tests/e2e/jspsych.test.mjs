// The plugin of `packages/jspsych-coplay` in the real jsPsych, with studies on a real server.

import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Participant, ROOT, SOON, Server, coplay, launch, scratch } from './harness.mjs';
import { exported } from './match.mjs';
import { makeAdapter, findMultiplayer } from '../../packages/jspsych-coplay/multiplayer.js';

/** The files of the page of an experiment, by their path. */
const FILES = {
  '/jspsych.js': path.join(ROOT, 'tests/e2e/node_modules/jspsych/dist/index.browser.js'),
  ...Object.fromEntries(['index.browser.js', 'plugin.js', 'study.js', 'multiplayer.js'].map(name =>
    [`/${name}`, path.join(ROOT, 'packages/jspsych-coplay', name)])),
};

/**
 * The website of an experiment with one trial before the study, and one after it; `?at=1` shows the second of the
 * `links()`. In the page, `told` is what the functions of the plugin are called with.
 */
async function experiment(t, links) {
  const page = at => `<!doctype html><title>Experiment</title><script src="/jspsych.js"></script><script type="module">
    import '/index.browser.js';
    class Button {
      static info = { name: 'button', version: '1.0.0', parameters: { label: { type: jsPsychModule.ParameterType.STRING } }, data: {} };
      constructor(jsPsych) { this.jsPsych = jsPsych; }
      trial(display, { label }) {
        const button = Object.assign(document.createElement('button'), { textContent: label });
        button.onclick = () => this.jsPsych.finishTrial({});
        display.replaceChildren(button);
      }
    }
    window.told = { groups: [], messages: [], episodes: [] };
    window.jsPsych = initJsPsych({ on_finish: () => { window.data = jsPsych.data.get().values(); } });
    jsPsych.run([
      { type: Button, label: 'Begin' },
      {
        type: jsPsychCoplay,
        url: ${JSON.stringify(links()[at])},
        on_group: group => told.groups.push(group),
        on_message: message => told.messages.push(message),
        on_episode: episode => told.episodes.push(episode),
      },
      { type: Button, label: 'Finish' },
    ]);
  </script>`;
  const server = createServer(async ({ url }, answer) => {
    const file = FILES[url];
    answer.writeHead(200, { 'content-type': file ? 'text/javascript' : 'text/html' });
    answer.end(file ? await readFile(file) : page(Number(new URL(url, 'http://page').searchParams.get('at'))));
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  t.after(() => { server.close(); server.closeAllConnections(); });
  return `http://127.0.0.1:${server.address().port}/`;
}

/** A server of a study, given as its file or as a folder, in an experiment: both of them, and the folder. */
async function serve(t, { file, folder }) {
  const place = await scratch(t);
  const study = folder ?? `${place}/study`;
  if (file) {
    await mkdir(study);
    await writeFile(`${study}/study.yaml`, file);
  }
  let links;
  const address = await experiment(t, () => links);
  const server = await Server.start({ study, data: `${place}/data`, serve: true, args: ['--parent', address] });
  t.after(() => server.kill());
  links = server.links;
  return { server, address };
}

/** Opens the experiment and begins: the person, and what is in the frame. */
async function begin(t, address, at = 0) {
  const person = await Participant.open(browser, `${address}?at=${at}`, { name: `person ${at}` });
  t.after(() => person.context.close());
  await person.page.getByRole('button', { name: 'Begin' }).click({ timeout: SOON });
  return { ...person, page: person.page, study: person.page.frameLocator('iframe') };
}

/** Waits for the trial after the study, ends the experiment, and gives the data of the three trials. */
async function finish({ page, errors }) {
  await page.getByRole('button', { name: 'Finish' }).click({ timeout: 2 * SOON });
  await page.waitForFunction(() => window.data, null, { timeout: SOON });
  assert.deepEqual(errors.filter(line => !line.includes('favicon')), []);
  const trials = await page.evaluate(() => window.data);
  assert.deepEqual(trials.map(({ trial_type }) => trial_type), ['button', 'coplay', 'button']);
  assert.ok(trials[1].rt > 0, `${trials[1].rt} ms`);
  return trials;
}

/** What the functions of the plugin were called with. */
const told = ({ page }) => page.evaluate(() => window.told);

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

test('a study is a trial of jsPsych, which goes on with the next when the study has ended', async t => {
  const folder = `${await scratch(t)}/survey`;
  const { code, stderr } = await coplay('new', 'survey', folder);
  assert.equal(code, 0, stderr);
  const { address } = await serve(t, { folder });
  const person = await begin(t, address);
  await person.study.getByRole('button', { name: 'I do not agree' }).click({ timeout: SOON });
  const [, trial] = await finish(person);
  assert.equal(trial.outcome, 'no_consent');
  assert.equal(typeof trial.receipt, 'string');
  assert.deepEqual(trial.episodes, []);
  assert.deepEqual(await told(person), { groups: [], messages: [], episodes: [] });
});

/** A study of a single stage, whose AI partner is not told from a person. */
const STAGE = `format: 1
study: {id: kitchen, version: 1.0.0, title: Kitchen, contact: lab@example.edu}
timeline:
  - id: cook
    type: env
    env: overcooked@2.0.0
    players: [self, {policy: cook, disclose: false}]
    seat: 0
    config: {layout: cramped_room, horizon: 400, tick_hz: 60}
    countdown_s: 0
`;

test('a single env stage is a trial, whose data have the episode and its score, and say nothing of an AI partner', async t => {
  const { server, address } = await serve(t, { file: STAGE });
  const person = await begin(t, address);
  await person.study.locator('section.play .overlay button.primary').click({ timeout: 2 * SOON });
  const [, trial] = await finish(person);
  assert.equal(trial.outcome, 'completed');
  const [episode, ...others] = trial.episodes;
  assert.deepEqual(others, []);
  // The person stands still, perhaps in the way, so it may be 0; it is the one in the table, see below.
  assert.equal(typeof episode.score, 'number');
  const { stage, round, seat, ticks, reason } = episode;
  assert.deepEqual({ stage, round, seat, ticks, reason }, { stage: 'cook', round: 1, seat: 0, ticks: 400, reason: 'played' });
  const { groups, episodes } = await told(person);
  assert.deepEqual(groups, [{ stage: 'cook', seat: 0, people: 2, partners: [{ seat: 1, is_ai: false, is_here: true }] }]);
  assert.deepEqual(episodes, trial.episodes);
  assert.deepEqual(await person.page.evaluate(() => jsPsychCoplay.partners()), groups[0].partners);
  await server.stop();
  const [row] = (await exported(server.data, ['episodes'])).episodes;
  assert.deepEqual([row.episode_id, row.score, row.ended_on], [episode.episode, String(episode.score), 'played']);
});

/** A study of a single stage for two people, who write to each other. */
const PAIR = `format: 1
study: {id: pair, version: 1.0.0, title: Pair, contact: lab@example.edu}
timeline:
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 120, on_timeout: wait}
  - id: cook
    type: env
    env: overcooked@2.0.0
    players: [self, partner]
    config: {layout: cramped_room, horizon: 200, tick_hz: 10}
    chat: {max_length: 20}
`;

test('two people are a group of the plugin, whose messages it hears and sends', async t => {
  const { server, address } = await serve(t, { file: PAIR });
  const [one, two] = await Promise.all([0, 1].map(at => begin(t, address, at)));
  const isOpen = ({ study }) => study.locator('.chat textarea:not([readonly])').waitFor({ state: 'attached', timeout: 2 * SOON });
  const hears = ({ page }, count) => page.waitForFunction(count => told.messages.length >= count, count, { timeout: SOON });
  await Promise.all([one, two].map(isOpen));
  // Longer than the study allows, not a text, and not from the page around the study: nothing of it is written.
  await one.page.evaluate(() => {
    jsPsychCoplay.send('a text that is longer than the study allows');
    jsPsychCoplay.send('  ');
    document.querySelector('iframe').contentWindow.postMessage({ type: 'other', send: 'other' }, '*');
  });
  await one.study.locator('.chat').evaluate(() => window.postMessage({ type: 'coplay', send: 'from inside' }, '*'));
  await one.page.evaluate(() => jsPsychCoplay.send(' onions '));
  await Promise.all([one, two].map(person => hears(person, 1)));
  // The frame has no room for the chat beside the game.
  await two.study.locator('button.toggle').click();
  await two.study.locator('.chat textarea').fill('plates');
  await two.study.locator('.chat textarea').press('Enter');
  await Promise.all([one, two].map(person => hears(person, 2)));
  const data = await Promise.all([one, two].map(finish));

  const seats = data.map(([, { outcome, episodes }]) => {
    assert.equal(outcome, 'completed');
    assert.equal(episodes.length, 1);
    assert.equal(typeof episodes[0].score, 'number');
    return episodes[0].seat;
  });
  assert.deepEqual([...seats].sort(), [0, 1]);
  assert.equal(data[0][1].episodes[0].episode, data[1][1].episodes[0].episode);
  for (const [at, person] of [one, two].entries()) {
    const { groups, messages } = await told(person);
    const [own, other] = [seats[at], seats[1 - at]];
    assert.deepEqual(groups[0], { stage: 'cook', seat: own, people: 2, partners: [{ seat: other, is_ai: false, is_here: true }] });
    const heard = messages.map(({ stage, seat, is_own, text }) => ({ stage, seat, is_own, text }));
    assert.deepEqual(heard, ['onions', 'plates'].map((text, by) => ({ stage: 'cook', seat: seats[by], is_own: by === at, text })));
  }
  await server.stop();
  const { chat } = await exported(server.data, ['chat']);
  assert.deepEqual(chat.map(({ text }) => text), ['onions', 'plates']);
});

/** A small one of the interface for several participants that jsPsych is to have. */
class Multiplayer {
  participantId = null;
  async connect(adapter) {
    await adapter.connect();
    [this.adapter, this.participantId] = [adapter, adapter.participantId];
  }
  push(data) { return this.adapter.push(data); }
  update(data) { return this.push({ ...this.adapter.get(this.participantId), ...data }); }
  wait(holds) {
    return new Promise(resolve => {
      const look = all => { if (holds(all)) { stop?.(); resolve(all); } };
      const stop = this.adapter.subscribe(look);
      look(this.adapter.getAll());
    });
  }
}

test('an interface of jsPsych for several participants gets group and messages by the adapter', async () => {
  assert.equal(findMultiplayer({ pluginAPI: {} }), undefined, 'as in jsPsych 8.3.0');
  const [listeners, sent, messages] = [new Set(), [], []];
  let group = null;
  const plugin = {
    group: () => group,
    messages: () => messages,
    send: text => sent.push(text),
    subscribe(listener) { listeners.add(listener); return () => listeners.delete(listener); },
  };
  const jsPsych = { multiplayer: new Multiplayer() };
  const multiplayer = findMultiplayer(jsPsych);
  assert.equal(multiplayer, jsPsych.multiplayer);
  await multiplayer.connect(makeAdapter(plugin));
  assert.deepEqual(multiplayer.adapter.getAll(), {});

  const complete = multiplayer.wait(all => Object.keys(all).length === 2);
  group = { stage: 'cook', seat: 1, people: 2, partners: [{ seat: 0, is_ai: false, is_here: true }] };
  messages.push({ stage: 'plan', seat: 0, text: 'before' }, { stage: 'cook', seat: 0, text: 'onions' });
  listeners.forEach(listener => listener());
  assert.deepEqual(await complete, {
    self: { seat: 1, is_ai: false, is_here: true, messages: [] },
    'seat-0': { seat: 0, is_ai: false, is_here: true, messages: ['onions'] },
  });
  assert.equal(listeners.size, 0);
  await multiplayer.update({ text: 'plates' });
  assert.deepEqual(sent, ['plates']);
  await assert.rejects(multiplayer.update({ text: 'x', choice: 3 }), /no place for choice/);
  assert.deepEqual(sent, ['plates']);
  multiplayer.adapter.subscribe(() => {});
  await multiplayer.adapter.disconnect();
  assert.equal(listeners.size, 0);
});

// The example studies, each from its first page to its last in real browsers, with shorter episodes.

import assert from 'node:assert/strict';
import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Participant, ROOT, Server, coplay, launch, scratch } from './harness.mjs';
import { exported } from './match.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** A server of an example in which some words are others. */
async function serve(t, example, changes) {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await cp(path.join(ROOT, 'examples', example), study, { recursive: true });
  const file = path.join(study, 'study.yaml');
  let text = await readFile(file, 'utf8');
  for (const [from, to] of changes) {
    assert.ok(text.includes(from), `${example} has ${from}`);
    text = text.replaceAll(from, to);
  }
  await writeFile(file, text);
  const server = await Server.start({ study, data: path.join(folder, 'data') });
  t.after(() => server.kill());
  return server;
}

/** What a page shows, the most urgent first. */
const SHOWN = [
  ['end', 'section.end'],
  ['consent', 'section.consent'],
  ['form', 'form.survey'],
  ['rest', 'section.rest button:not([disabled])'],
  ['asked', 'section.play .ask:not([hidden]) button'],
  ['outcome', 'section.play .overlay button.primary'],
  ['play', 'section.play'],
  ['pages', 'section.instructions button.primary:not([disabled])'],
];

/** Goes through a study to its end: `right` are the answers that are right, `play` plays an episode. */
async function takePart(person, { right = [], play = () => person.play() } = {}) {
  const seen = [];
  for (;;) {
    const shown = await person.shows(SHOWN.map(([name]) => name), 60_000);
    const { stage_id } = await person.report();
    if (seen.at(-1) !== stage_id) seen.push(stage_id);
    if (shown === 'end') return seen;
    if (shown === 'form') await answer(person, right);
    else if (shown === 'play') await play(stage_id);
    else await person.press(shown === 'consent' ? 'section.consent button.primary' : SHOWN.find(([name]) => name === shown)[1]);
  }
}

/** Answers every question of a page of a form: as is right, else in the middle. */
async function answer(person, right) {
  await person.page.evaluate(right => {
    const inputs = [...document.querySelectorAll('form.survey input[type=radio]')];
    for (const name of new Set(inputs.map(input => input.name))) {
      const row = inputs.filter(input => input.name === name);
      (row.find(input => right.includes(input.value)) ?? row[Math.floor(row.length / 2)]).click();
    }
  }, right);
  for (const field of await person.page.locator('form.survey textarea').all()) await field.fill('We shared the work.');
  for (const field of await person.page.locator('form.survey input[type=number]').all()) await field.fill('30');
  await person.press('form.survey button.primary');
}

/** The tables of a study that was played, once all its episodes are verified. */
async function tables(server) {
  await server.stop();
  const verified = await coplay('verify', '--data', server.data);
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);
  return exported(server.data, ['sessions', 'episodes', 'responses']);
}

/** Participants by the links of a server. */
const people = (t, server, count) => Promise.all(Array.from({ length: count }, async (_, at) => {
  const person = await Participant.open(browser, server.links[at], { name: `person ${at}` });
  t.after(() => person.context.close());
  return person;
}));

test('two people cook in five kitchens: the worked study', async t => {
  const server = await serve(t, 'overcooked-coord', [
    ['provider: prolific', 'provider: none'], ['horizon: 600', 'horizon: 80'], ['horizon: 1800', 'horizon: 60'],
  ]);
  const pair = await people(t, server, 2);
  const seen = await Promise.all(pair.map(person => takePart(person, { right: ['3', 'ours', 'Often', 'Onion soup'] })));
  const between = Array.from({ length: 5 }, () => ['play', 'trust']).flat();
  for (const way of seen) {
    assert.deepEqual(way.filter(id => id !== 'lobby'), ['consent', 'how', 'quiz', 'tutorial', ...between, 'post', 'debrief', way.at(-1)]);
  }
  for (const person of pair) assert.deepEqual(person.errors, []);
  const { sessions, episodes, responses } = await tables(server);
  assert.deepEqual(sessions.map(({ outcome }) => outcome), ['completed', 'completed']);
  assert.equal(sessions[0].treatment, sessions[1].treatment, 'one order for both');
  const played = episodes.filter(({ stage_id }) => stage_id === 'play');
  assert.equal(new Set(played.map(({ episode_id }) => episode_id)).size, 5);
  assert.equal(new Set(played.map(({ group_id }) => group_id)).size, 1, 'the same two people throughout');
  assert.equal(responses.filter(({ stage_id }) => stage_id === 'trust').length, 2 * 5);
});

test('twenty short rounds for two people, and a questionnaire', async t => {
  const server = await serve(t, 'overcooked-pairs', [
    ['horizon: 300', 'horizon: 60'], ['countdown_s: 3', 'countdown_s: 1'],
  ]);
  const pair = await people(t, server, 2);
  await Promise.all(pair.map(person => takePart(person)));
  for (const person of pair) assert.deepEqual(person.errors, []);
  const { sessions, episodes } = await tables(server);
  assert.deepEqual(sessions.map(({ outcome }) => outcome), ['completed', 'completed']);
  assert.equal(new Set(episodes.map(({ episode_id }) => episode_id)).size, 20);
  assert.equal(new Set(episodes.map(({ group_id }) => group_id)).size, 1);
});

/** The shortest ways through the mazes. */
const WAYS = { west: 'LLULLLUUU', east: 'RRURRRUUU' };
const ARROWS = { L: 'ArrowLeft', R: 'ArrowRight', U: 'ArrowUp' };

test('one person learns two mazes to criterion, step by step, and is tested', async t => {
  const server = await serve(t, 'mazes', []);
  const [person] = await people(t, server, 1);
  const walk = async stage => {
    const { episode_id } = await person.report();
    for (const step of WAYS[stage.split('_')[1]]) {
      const { tick } = await person.report();
      await person.page.keyboard.press(ARROWS[step]);
      await person.knows(report => report.tick > tick || report.episode_id !== episode_id || report.ended !== null);
    }
    await person.knows(report => report.episode_id !== episode_id || report.ended !== null);
  };
  const seen = await takePart(person, { play: walk });
  const maze = id => [`learn_${id}`, `train_${id}`, `test_${id}_soon`, `test_${id}`];
  const orders = [['west', 'east'], ['east', 'west']].map(order => ['consent', 'about', ...order.flatMap(maze), 'after', 'thanks']);
  assert.ok(orders.some(order => String(order) === String(seen)), `a maze after the other: ${seen}`);
  assert.deepEqual(person.errors, []);
  const { sessions, episodes } = await tables(server);
  assert.equal(sessions[0].outcome, 'completed');
  const of = id => new Set(episodes.filter(({ stage_id }) => stage_id === id).map(({ episode_id }) => episode_id)).size;
  for (const id of ['west', 'east']) assert.deepEqual([of(`train_${id}`), of(`test_${id}`)], [3, 1]);
});

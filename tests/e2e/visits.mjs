// Whole visits of any study, page by page as a person meets them, and the tables that are left of them.

import assert from 'node:assert/strict';
import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Participant, ROOT, Server, click, coplay, scratch } from './harness.mjs';
import { exported } from './match.mjs';

/**
 * A server of a copy of a study, an example's name or a folder, in which some words are others: pairs of what is
 * written and what stands there instead.
 */
export async function serve(t, study, changes = []) {
  const folder = await scratch(t);
  const copy = path.join(folder, 'study');
  await cp(path.resolve(ROOT, 'examples', study), copy, { recursive: true });
  const file = path.join(copy, 'study.yaml');
  let text = await readFile(file, 'utf8');
  for (const [from, to] of changes) {
    const other = text.replaceAll(from, to);
    assert.notEqual(other, text, `${study} has ${from}`);
    text = other;
  }
  await writeFile(file, text);
  const server = await Server.start({ study: copy, data: path.join(folder, 'data') });
  t.after(() => server.kill());
  return server;
}

/** A page in a window of its own, opened by a link. */
export async function enter(t, browser, link, options = {}) {
  const person = await Participant.open(browser, link, options);
  t.after(() => person.context.close());
  return person;
}

/** What a person can meet, the most urgent first, and what they press to go on. */
const SHOWN = {
  end: 'section.end',
  consent: 'section.consent button.primary',
  form: 'form.survey button.primary',
  debrief: 'section.debrief button.primary',
  rest: 'section.rest button.primary:not([disabled])',
  question: 'section.lobby .question:not([hidden]) button.primary',
  screen: 'section.play .ask:not([hidden]) button',
  outcome: 'section.play .overlay button.primary',
  play: 'section.play',
  instructions: 'section.instructions button.primary:not([aria-disabled])',
};

/** The longest wait for something that a person can do: a partner may still play, milliseconds. */
const PATIENCE = 60_000;

/** Waits until the person can do something: what it is, in which stage, and the element that is pressed. */
export async function meets(person) {
  const found = await person.page.waitForFunction(shown => {
    const { stage_id } = JSON.parse(window.coplay?.report() ?? '{}');
    const kinds = shown.map(([kind, selector]) => ({ kind, stage_id, element: document.querySelector(selector) }));
    return stage_id !== undefined && kinds.find(({ element }) => element);
  }, Object.entries(SHOWN), { timeout: PATIENCE }).catch(async error => {
    const text = await person.page.evaluate(() => `${document.body.innerText}\n${window.coplay?.report()}`);
    throw new Error(`${person.name} can do nothing: ${text}\n${person.errors.join('\n')}\n${error.message}`);
  });
  const { kind, stage_id, element } = Object.fromEntries(await found.getProperties());
  return { kind: await kind.jsonValue(), stage_id: await stage_id.jsonValue(), element: element.asElement() };
}

/**
 * Takes part from the page that is shown to the last one, and gives the stages that were met, in order. `right` are
 * the answers that are right, `play` plays an episode, and `at` is told what is met before anything is done.
 */
export async function takePart(person, { right = [], play = () => person.play(), at = () => {} } = {}) {
  const stages = [];
  for (;;) {
    const { kind, stage_id, element } = await meets(person);
    if (stages.at(-1) !== stage_id) stages.push(stage_id);
    await at(kind, stage_id);
    if (kind === 'end') return stages;
    if (kind === 'play') await play(stage_id);
    if (kind === 'form') await answer(element, right);
    if (kind !== 'play') await click(element);
  }
}

/** Answers every question of the page of a form that has this button, if it is still shown: as is right, else in the middle. */
const answer = (button, right) => button.evaluate((button, right) => {
  const fields = kind => (button.isConnected ? [...button.form.querySelectorAll(kind)] : []);
  const inputs = fields('input[type=radio]');
  for (const name of new Set(inputs.map(input => input.name))) {
    const row = inputs.filter(input => input.name === name);
    (row.find(input => right.includes(input.value)) ?? row[Math.floor(row.length / 2)]).click();
  }
  const write = (field, value) => {
    field.value = value;
    field.dispatchEvent(new Event('input', { bubbles: true }));
  };
  fields('textarea').forEach(field => write(field, 'We shared the work.'));
  fields('input[type=number]').forEach(field => write(field, '30'));
}, right);

/** What the last page shows: the code, and the sentences around it. */
export const farewell = person => person.page.evaluate(() => ({
  code: document.querySelector('section.end .code strong')?.textContent,
  words: document.querySelector('section.end').innerText,
}));

/** Stops the server, and gives the tables once every episode is verified; `payments` are those of `coplay pay`. */
export async function tables(server, names = ['sessions', 'episodes', 'responses', 'groups']) {
  await server.stop();
  const verified = await coplay('verify', '--data', server.data);
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);
  const paid = await coplay('pay', '--data', server.data, '--json');
  assert.equal(paid.code, 0, paid.stderr);
  return { ...await exported(server.data, names), payments: JSON.parse(paid.stdout).payments };
}

/** What differs among some rows in a column. */
export const values = (rows, column) => [...new Set(rows.map(row => row[column]))];

// A person and a language model: what is written comes back as an answer, an order becomes a directive that the partner
// carries out, and the data repeat all of it without the model.

import assert from 'node:assert/strict';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, test } from 'node:test';
import { PHONE, Participant, SOON, Server, launch, scratch, sideBySide } from './harness.mjs';
import { exported, verified } from './match.mjs';

const EXAMPLES = fileURLToPath(new URL('../../examples/', import.meta.url));
const WIDE = { viewport: { width: 1280, height: 800 } };

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** A person at the game of an example. */
async function playing(t, example, device = WIDE) {
  const folder = await scratch(t);
  const server = await Server.start({ study: path.join(EXAMPLES, example), data: `${folder}/data` });
  t.after(() => server.kill());
  const person = await Participant.open(browser, server.links[0], { name: example, device });
  t.after(() => person.context.close());
  await person.page.getByRole('button', { name: 'I agree', exact: true }).click();
  await person.read();
  await person.shows('play');
  await person.knows(({ status, tick }) => status === 'playing' && tick > 0);
  return { server, person };
}

async function write(person, text) {
  await person.page.locator('.chat textarea:not([readonly])').waitFor();
  await person.page.locator('.chat textarea').pressSequentially(text);
  await person.page.keyboard.press('Enter');
}

const answered = (person, text) =>
  person.page.locator('.lines li:not(.own) .words', { hasText: text }).first().waitFor();

/** Half of the people start in front of the only plates: they step aside. */
const stepAside = person => person.page.keyboard.press('ArrowUp', { delay: 300 });

/** The steps in which the helper took a plate. */
const plates = ({ steps }) => steps.filter(row => row.seat === '1' && row.action_name === 'pick_up_or_drop');

/** Waits until the record says that the helper took a plate: it follows the game, later on a busy machine. */
async function takesPlate({ data }) {
  const late = Date.now() + SOON;
  while (plates(await exported(data, ['steps'])).length === 0 && Date.now() < late);
}

sideBySide(2, () => {
  test('an order in the chat becomes a directive that the cook carries out', async t => {
    const { server, person } = await playing(t, 'directed-cook');
    await stepAside(person);
    await write(person, 'Please fetch a plate');
    await answered(person, 'A plate, coming up.');
    assert.match(await person.page.locator('.chat .company').textContent(), /Kitchen help \(AI\)/);
    await takesPlate(server);
    const { tick } = await person.report();
    await person.knows(report => report.tick > tick + 20);
    await server.stop();
    const tables = await exported(server.data, ['chat', 'model_calls', 'steps']);
    const { chat, model_calls: calls } = tables;
    assert.deepEqual(chat.map(row => [row.partner, row.text]),
      [['', 'Please fetch a plate'], ['helper', 'A plate, coming up.']]);
    const [call] = calls;
    assert.deepEqual([call.asked_for, call.outcome, call.directive, call.refusal],
      ['message', 'answered', 'fetch_plate', '']);
    assert.match(call.prompt, /Person: Please fetch a plate/);
    const applied = Number(call.tick_applied);
    assert.ok(applied > Number(call.tick_asked), JSON.stringify(call));
    const ticks = plates(tables).map(row => Number(row.tick));
    assert.equal(ticks.length, 1, `it has taken the plate, and holds it: ${JSON.stringify({ ticks, call })}`);
    assert.ok(ticks[0] >= applied, 'it waited until it was told');
    const { code, episodes } = await verified(server.data);
    assert.equal(code, 0, `coplay verify finds nothing wrong: ${JSON.stringify(episodes)}`);
  });

  test('a button gives the cook a directive at a tick, and says when that is not possible', async t => {
    const { server, person } = await playing(t, 'directed-cook');
    await stepAside(person);
    const line = person.page.locator('.directives');
    const button = name => line.getByRole('button', { name, exact: true });
    await button('Wait').and(person.page.locator('[aria-pressed="true"]')).waitFor();
    assert.match(await line.locator('.who').textContent(), /Kitchen help \(AI\), please:/);
    await button('A plate').click();
    await button('A plate').and(person.page.locator('[aria-pressed="true"]')).waitFor();
    // There is no soup: the help continues what it does.
    await button('Serve the soup').click();
    await line.locator('.who', { hasText: 'Not possible now: Serve the soup' }).waitFor();
    await button('A plate').and(person.page.locator('[aria-pressed="true"]')).waitFor();
    await takesPlate(server);
    await server.stop();
    const { model_calls: calls, steps } = await exported(server.data, ['model_calls', 'steps']);
    assert.deepEqual(calls.map(row => [row.number, row.asked_for, row.directive, row.outcome]),
      [['0', 'button', 'fetch_plate', 'followed'], ['1', 'button', 'serve_soup', 'refused']]);
    const applied = Number(calls[0].tick_applied);
    assert.ok(applied > Number(calls[0].tick_asked), JSON.stringify(calls[0]));
    assert.deepEqual(plates({ steps }).map(row => Number(row.tick) >= applied), [true], 'it takes the plate once it is told');
    const { code, episodes } = await verified(server.data);
    assert.equal(code, 0, `coplay verify finds nothing wrong: ${JSON.stringify(episodes)}`);
  });

  test('an assistant that knows the task answers, also on a phone', async t => {
    const { server, person } = await playing(t, 'knowing-assistant', PHONE);
    await person.page.locator('.chat .toggle').click();
    await answered(person, 'Look into the corners of the room.');
    await write(person, 'Which one is it?');
    await answered(person, /It is the (red|green|blue|yellow) chest/);
    await server.stop();
    const { model_calls: calls } = await exported(server.data, ['model_calls']);
    const [start, asked] = calls;
    assert.deepEqual([start.asked_for, asked.asked_for], ['start', 'message']);
    assert.match(asked.prompt, /the (red|green|blue|yellow) chest/);
    assert.ok(Number(asked.cost) > 0 && Number(asked.latency_ms) >= 900, JSON.stringify(asked));
    const page = await person.page.content();
    assert.ok(!page.includes('You help a person in a small game'), 'the prompt is not on the page');
  });
});

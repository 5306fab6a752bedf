// Two people write to each other, in a stage of its own and beside a game: what is typed is never an action, a page that is
// loaded anew has what was written, and the table has each message once.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { PHONE, Participant, Server, launch, scratch, sideBySide } from './harness.mjs';
import { exported } from './match.mjs';

const STUDY = `format: 1
study: {id: talk, version: 1.0.0, title: Talk, contact: lab@example.edu}
timeline:
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 120, on_timeout: wait}
  - {id: plan, type: chat, file: plan.md, max_s: 300, max_length: 120}
  - id: play
    type: env
    env: overcooked@2.0.0
    players: [self, partner]
    config: {layout: cramped_room, horizon: 3000, tick_hz: 10}
    keys: {move_up: [KeyW], move_down: [KeyS], move_left: [KeyA], move_right: [KeyD], pick_up_or_drop: [Space]}
    chat: true
`;

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** A window in which the chat stands beside the game. */
const WIDE = { viewport: { width: 1280, height: 800 } };

/** Two people in the chat of their group, each on a device of their own. */
async function pair(t, devices = []) {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await mkdir(study);
  await writeFile(path.join(study, 'study.yaml'), STUDY);
  await writeFile(path.join(study, 'plan.md'), '# Make a plan\n\nAgree on who does what.\n');
  const server = await Server.start({ study, data: `${folder}/data` });
  t.after(() => server.kill());
  const people = await Promise.all(['one', 'two'].map(async (name, at) => {
    const person = await Participant.open(browser, server.links[at], { name, device: devices[at] ?? WIDE });
    t.after(() => person.context.close());
    return person;
  }));
  await Promise.all(people.map(person => person.shows('chat')));
  return { study, server, people };
}

/** Types a message and sends it by the key. */
async function write(person, text) {
  await person.page.locator('.chat textarea').pressSequentially(text);
  await person.page.keyboard.press('Enter');
}

/** Waits until the page has these messages, and all of its own are stored. */
const has = (person, lines) => person.knows(({ chat }) => chat?.kept && JSON.stringify(chat.lines) === JSON.stringify(lines));

/** Waits until the world runs. */
async function runs(person) {
  await person.shows('play');
  await person.knows(({ status, tick }) => status === 'playing' && tick > 0);
}

sideBySide(3, () => {
  test('two people write to each other, before and beside a game, and nothing of it is an action', async t => {
    const { server, people: [one, two] } = await pair(t);
    await one.page.locator('.chat textarea:not([readonly])').waitFor();
    await write(one, 'I take the onions');
    await has(two, ['I take the onions']);
    await write(two, 'dddd, then "plates"');
    for (const person of [one, two]) await has(person, ['I take the onions', 'dddd, then "plates"']);
    // What a page forgets, the server knows.
    await two.page.reload();
    await two.shows('chat');
    await has(two, ['I take the onions', 'dddd, then "plates"']);
    assert.deepEqual(await two.page.locator('.lines li.own .words').allTextContents(), ['dddd, then "plates"']);
    for (const person of [one, two]) await person.page.getByRole('button', { name: 'I am done' }).click();
    for (const person of [one, two]) await runs(person);
    await one.page.locator('.chat textarea:not([readonly])').waitFor();
    // Enter leads to the chat; the letters are keys of the game, and move nobody.
    await one.page.keyboard.press('Enter');
    await write(one, 'wasd wasd');
    await has(two, ['wasd wasd']);
    // Escape leads back, and the same letter moves the cook.
    await one.page.keyboard.press('Escape');
    assert.equal(await one.page.evaluate(() => document.activeElement.id), 'stage');
    const { tick } = await one.report();
    await one.page.keyboard.press('KeyD');
    await one.knows(report => report.tick > tick + 10);
    await two.page.reload();
    await runs(two);
    await has(two, ['wasd wasd']);
    await server.stop();
    const tables = await exported(server.data, ['chat', 'steps', 'keys']);
    const written = tables.chat.map(({ stage_id, text }) => [stage_id, text]);
    assert.deepEqual(written, [['plan', 'I take the onions'], ['plan', 'dddd, then "plates"'], ['play', 'wasd wasd']]);
    const [plan, , play] = tables.chat;
    assert.deepEqual([plan.episode_id, plan.tick, plan.seat], ['', '', '']);
    assert.ok(play.episode_id.startsWith('E-') && Number(play.tick) > 0, JSON.stringify(play));
    const seat = play.seat;
    const acted = tables.steps.filter(row => row.seat === seat && row.action_name !== 'noop');
    const first = Math.min(...acted.map(row => Number(row.tick)));
    assert.ok(acted.length > 0, 'the key that was pressed for the game is there');
    assert.ok(first >= tick, `nothing that was typed is an action: ${JSON.stringify(acted[0])}`);
    const pressed = tables.keys.filter(row => row.seat === seat && row.down === 'true');
    assert.deepEqual(pressed.map(row => row.action_name), ['move_right']);
  });

  test('what is typed and not sent is there after a reload, and what was sent is not', async t => {
    const { study, server, people: [one, two] } = await pair(t);
    const field = one.page.locator('.chat textarea:not([readonly])');
    const keeps = text => one.knows(({ chat }) => chat?.drafted && JSON.stringify(chat.unsent) === text);
    const typed = async text => {
      await field.pressSequentially(text);
      await keeps(JSON.stringify([JSON.stringify(text)]));
      await one.page.reload();
      await field.waitFor();
      await one.page.waitForFunction(text => document.querySelector('.chat textarea').value === text, text);
    };
    await typed('I would "say"');
    await one.page.locator('.chat textarea').press('Enter');
    await has(two, ['I would "say"']);
    await keeps('[]');
    await one.page.reload();
    await has(one, ['I would "say"']);
    assert.equal(await field.inputValue(), '');
    for (const person of [one, two]) await person.page.getByRole('button', { name: 'I am done' }).click();
    for (const person of [one, two]) await runs(person);
    await one.page.keyboard.press('Enter');
    // Beside a game the same, although the server dies meanwhile.
    await field.pressSequentially('wasd');
    await keeps('["\\"wasd\\""]');
    await server.kill();
    const again = await Server.start({ study, data: server.data, port: server.port });
    t.after(() => again.kill());
    await one.page.reload();
    await runs(one);
    await one.page.waitForFunction(() => document.querySelector('.chat textarea').value === 'wasd');
  });

  test('on a phone the newest message stands under the game, and a touch opens the chat and closes it', async t => {
    const { people: [one, two] } = await pair(t, [PHONE]);
    for (const person of [one, two]) await person.page.getByRole('button', { name: 'I am done' }).click();
    for (const person of [one, two]) await runs(person);
    await two.page.locator('.chat textarea:not([readonly])').waitFor();
    await write(two, 'Over here');
    await one.page.getByRole('button', { name: 'Open the chat: 1 new message' }).tap();
    await one.says(/Over here/);
    await write(one, 'Coming');
    await has(two, ['Over here', 'Coming']);
    await one.page.getByRole('button', { name: 'Back to the game' }).tap();
    assert.equal(await one.page.locator('.chat .body').isVisible(), false);
    assert.deepEqual(one.errors, []);
  });
});

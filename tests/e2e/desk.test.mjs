// The researcher's dashboard, with real participants: who gets in, what is seen, and what becomes of orders.
// COPLAY_SHOTS=DIR keeps pictures of it.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { PHONE, Participant, ROOT, SOON, Server, coplay, launch, scratch, studyWith } from './harness.mjs';
import { exported, verified } from './match.mjs';

const { source: AXE } = createRequire(import.meta.url)('axe-core');

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

/** The example study with pay, for participants or for trials, and the researcher's page before it is opened. */
async function begun(t, { serve = false, partner = false, ...changes } = {}) {
  const folder = await scratch(t);
  const study = await studyWith({ timeout_s: 600, ...changes }, folder);
  const file = path.join(study, 'study.yaml');
  const text = await readFile(file, 'utf8');
  const paid = text.replace('timeline:', 'recruitment: {currency: EUR, base: 3.00, minutes: 10}\n\ntimeline:');
  const helped = paid.replace('on_disconnect: {grace_s: 15}', 'on_disconnect: {grace_s: 15, first_half: bot, second_half: bot, bot: {policy: cook}}');
  await writeFile(file, partner ? helped : paid);
  const server = await Server.start({ study, data: `${folder}/data`, serve, args: ['--links', '4'] });
  t.after(() => server.kill());
  return { server, study };
}

/** A researcher's browser that is signed in. */
async function signedIn(t, server, device = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...device });
  t.after(() => context.close());
  const page = await context.newPage();
  const errors = [];
  page.on('pageerror', error => errors.push(error.message));
  // A person who is not signed in learns it. The network has many words for a server that has ended, but none before.
  const isExpected = text => /401/.test(text) || server.process.killed && /net::ERR_/.test(text);
  page.on('console', line => line.type() === 'error' && !isExpected(line.text()) && errors.push(line.text()));
  t.after(() => assert.deepEqual(errors, [], 'the dashboard has no errors'));
  await page.goto(server.desk);
  await page.fill('#name', 'Ada');
  await page.click('#enter button');
  await page.locator('#tiles div').first().waitFor({ timeout: SOON });
  return page;
}

const sees = (page, part, words, limit = SOON) =>
  page.locator(part).filter({ hasText: words }).first().waitFor({ timeout: limit });

async function person(t, server, number) {
  const one = await Participant.open(browser, server.links[number], { name: `person ${number}` });
  t.after(() => one.context.close());
  return one;
}

/** Clicks a button of the page, fills the fields of the dialog, and confirms. */
async function order(page, button, fields = {}) {
  await button.click();
  for (const [name, value] of Object.entries(fields)) {
    const field = page.locator(`#ask-${name}`);
    if (await field.evaluate(it => it.tagName) === 'SELECT') await field.selectOption(value);
    else await field.fill(value);
  }
  await page.click('#ask-yes');
  await page.locator('#ask').waitFor({ state: 'hidden', timeout: SOON });
}

const rowOf = (page, part, name) => page.locator(`${part} tr`).filter({ hasText: name }).first();

/** Keeps pictures in light and dark, if they are wanted. */
async function shoot(page, name) {
  const folder = process.env.COPLAY_SHOTS;
  if (!folder) return;
  await mkdir(folder, { recursive: true });
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: path.join(folder, `${name}-${colorScheme}.png`), fullPage: true });
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/** On a phone, every button of the dashboard is within the screen. */
async function fitsPhone(page, name) {
  const desktop = page.viewportSize();
  await page.setViewportSize(PHONE.viewport);
  const beyond = await page.evaluate(() => [...document.querySelectorAll('#desk button')]
    .filter(button => button.getBoundingClientRect().right > innerWidth).map(button => button.textContent));
  assert.deepEqual(beyond, []);
  await shoot(page, `${name}-phone`);
  await page.setViewportSize(desktop);
}

async function accessible(page) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => window.axe.run(document, { preload: false, resultTypes: ['violations'] }));
    const told = violations.map(({ id, nodes }) => `${id}: ${nodes.map(node => node.html.slice(0, 90)).join(' | ')}`);
    assert.deepEqual(told, [], colorScheme);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

test('a link signs one browser in, and what is revoked is out at once', async t => {
  const { server } = await begun(t);
  const page = await signedIn(t, server);
  assert.equal(new URL(page.url()).hash, '', 'the secret leaves the address bar');
  const cookies = await page.context().cookies();
  const cookie = cookies.find(one => one.name === 'coplay_desk');
  assert.ok(cookie.httpOnly && cookie.sameSite === 'Strict', JSON.stringify(cookie));
  assert.equal(await page.evaluate(() => document.cookie), '', 'no script reads it');
  const hosts = await page.evaluate(() => performance.getEntriesByType('resource').map(it => new URL(it.name).host));
  assert.deepEqual([...new Set(hosts)], [new URL(server.url).host], 'nothing of a third party is loaded');

  const other = await (await browser.newContext()).newPage();
  t.after(() => other.context().close());
  await other.goto(server.desk);
  await other.fill('#name', 'Eve');
  await other.click('#enter button');
  await sees(other, '#door-error', 'this link is not valid');

  // Ada lets Bo look, and takes it back while Bo looks.
  await page.fill('#key-name', 'Bo');
  await page.click('#new-key button');
  const link = await page.locator('#secret code').innerText();
  await other.goto(link);
  await other.click('#enter button');
  await sees(other, '#who', 'Bo (role: look)');
  assert.equal(await other.locator('#access').isVisible(), false);
  assert.equal(await other.getByRole('button', { name: 'Pause recruitment' }).count(), 0);
  await order(page, page.locator('#keys tr').filter({ hasText: 'session' }).filter({ hasText: 'Bo' }).getByRole('button'));
  await sees(other, '#door-error', 'signed out');
});

test('the page follows real people through the study, and orders reach them', async t => {
  const { server } = await begun(t, { horizon: 300 });
  const page = await signedIn(t, server);
  const [ada, bo, cy] = [await person(t, server, 0), await person(t, server, 1), await person(t, server, 2)];
  await ada.read();
  await ada.shows('lobby');
  await sees(page, '#waiting', '1 more for a group');
  await bo.read();
  await Promise.all([ada.shows('play'), bo.shows('play')]);
  await sees(page, '#episodes', 'playing');
  const watched = await page.locator('#episodes a').first().innerText();
  await shoot(page, 'playing');
  await fitsPhone(page, 'playing');

  // Somebody who waits alone continues with an AI partner, and is then sent out.
  await cy.read();
  await cy.shows('lobby');
  const waiting = page.locator('#waiting tbody tr').first();
  await waiting.waitFor({ timeout: SOON });
  const name = (await waiting.locator('td').first().innerText()).trim();
  await order(page, waiting.getByRole('button', { name: 'Wait longer' }));
  await order(page, waiting.getByRole('button', { name: 'Continue alone' }));
  await cy.shows('play');
  await order(page, rowOf(page, '#people', name).getByRole('button', { name: 'End' }), { outcome: 'technical' });
  await cy.shows('end');
  await sees(page, '#people tr', 'technical');
  await sees(page, '#done', 'end session');

  // The others notice nothing of it.
  await Promise.all([ada, bo].map(async one => { await one.play(); await one.goOn(); await one.answer(); await one.shows('end'); }));
  await sees(page, '#people tr', 'completed');
  const done = page.locator('#people tr').filter({ hasText: 'completed' }).first();
  const paid = (await done.locator('td').first().innerText()).trim();
  await order(page, done.getByRole('button', { name: 'Correct the bonus' }), { bonus: '0.50', reason: 'the server was slow' });
  const told = await Promise.race([ada.says(/3[.,]50/), bo.says(/3[.,]50/)].map(said => said.then(() => true)));
  assert.ok(told, 'the last page shows the new sum');
  // A person who is sent out for a technical reason is paid too.
  await sees(page, '#pay', '9.50');
  await shoot(page, 'over');
  await fitsPhone(page, 'over');
  await accessible(page);

  const replay = await page.context().newPage();
  await replay.goto(new URL(`/replay/${watched}`, server.url).href);
  await replay.locator('canvas').first().waitFor({ timeout: SOON });

  await server.stop();
  const { code } = await verified(server.data);
  assert.equal(code, 0, 'coplay verify finds nothing wrong');
  const { interventions } = await exported(server.data, ['interventions']);
  const orders = interventions.map(row => [row.intervention, row.participant_id]);
  assert.deepEqual(orders, [
    ['wait_longer', name], ['continue_alone', name], ['end_session', name], ['correct_bonus', paid],
  ]);
});

test('somebody who waits in one room is moved to the other, and plays there', async t => {
  const folder = await scratch(t);
  const study = await studyWith({ timeout_s: 600, horizon: 100 }, folder);
  const file = path.join(study, 'study.yaml');
  const text = await readFile(file, 'utf8');
  const design = 'design:\n  between:\n    tone: {levels: [warm, cool], assign: block}\n\n';
  const rooms = text.replace('timeline:', `${design}timeline:`).replace('group_size: 2', 'group_size: 2\n    match: {same: [tone]}');
  await writeFile(file, rooms);
  const server = await Server.start({ study, data: `${folder}/data`, args: ['--links', '4'] });
  t.after(() => server.kill());
  const page = await signedIn(t, server);
  const [ada, bo] = [await person(t, server, 0), await person(t, server, 1)];
  for (const one of [ada, bo]) {
    await one.read();
    await one.shows('lobby');
  }
  // Of two people in a row, each treatment has one.
  const rows = page.locator('#waiting tbody tr');
  await rows.nth(1).waitFor({ timeout: SOON });
  const [, other] = await Promise.all([0, 1].map(row => rows.nth(row).locator('td').nth(1).innerText()));
  const room = other.split(', ')[1];
  const name = (await rows.first().locator('td').first().innerText()).trim();
  await order(page, rows.first().getByRole('button', { name: 'Move' }), { room });
  await Promise.all([ada.shows('play'), bo.shows('play')]);
  await sees(page, '#done', 'move to room');
  await Promise.all([ada, bo].map(async one => { await one.play(); await one.goOn(); await one.answer(); await one.shows('end'); }));

  await server.stop();
  const { code } = await verified(server.data);
  assert.equal(code, 0, 'coplay verify finds nothing wrong');
  const { interventions, sessions } = await exported(server.data, ['interventions', 'sessions']);
  const from = room === 'warm' ? 'cool' : 'warm';
  assert.deepEqual(interventions.map(row => [row.intervention, row.participant_id, row.detail]), [['move_to_room', name, `${from} to ${room}`]]);
  assert.deepEqual(sessions.map(row => row.treatment), [room, room]);
});

test('recruitment and places change under the eyes of who comes', async t => {
  const { server } = await begun(t, { serve: true });
  const page = await signedIn(t, server);
  await order(page, page.getByRole('button', { name: 'Pause recruitment' }));
  const early = await person(t, server, 0);
  await early.says(/no free place in this study at the moment/);
  await sees(page, '#warnings', 'Recruitment is paused');
  await order(page, page.getByRole('button', { name: 'Open recruitment' }));
  await early.page.reload();
  await early.shows('instructions');
  await order(page, page.getByRole('button', { name: 'Change places' }), { 'places-0': '12' });
  await sees(page, '#cells', '12 participants are wanted');

  // An episode is shown to nobody who is not signed in.
  const stranger = await (await browser.newContext()).newPage();
  t.after(() => stranger.context().close());
  const answer = await stranger.goto(new URL('/replay/E-0', server.url).href);
  assert.equal(answer.status(), 404);
});

test('a program does with a token what a page does', async t => {
  const { server } = await begun(t);
  const { stdout } = await coplay('desk', 'token', '--data', server.data, '--name', 'script', '--role', 'act', '--json');
  const { token } = JSON.parse(stdout);
  const script = `
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("study", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
study = module.Study(sys.argv[2], sys.argv[3])
study.close_recruitment()
study.set_places(5)
try:
    study.end_session("P-NOBODY", "technical")
except module.StudyError as error:
    refused = str(error)
seen = next(study.events())
print(json.dumps([seen["recruitment"], seen["places"]["wanted"], refused, len(study.interventions())]))
`;
  const python = process.env.COPLAY_PYTHON ?? 'python3';
  const ran = spawnSync(python, ['-c', script, path.join(ROOT, 'python/coplay/study.py'), server.url, token], { encoding: 'utf8' });
  assert.equal(ran.status, 0, ran.stderr);
  const [recruitment, wanted, refused, done] = JSON.parse(ran.stdout);
  assert.deepEqual([recruitment, wanted, done], ['closed', 5, 2]);
  assert.match(refused, /no participant P-NOBODY/);
});

/** Writes to the researchers from a participant's page. */
async function asks(one, text) {
  if (!await one.page.locator('.help textarea').isVisible()) await one.page.click('button.help');
  await one.page.fill('#help-message', text);
  await one.page.keyboard.press('Enter');
}

/** The pseudonym of the only person whose exchange has these words. */
async function opensExchange(page, number = 0) {
  const row = page.locator('#messages tbody tr').nth(number);
  await row.waitFor({ timeout: SOON });
  const name = (await row.locator('td').first().innerText()).trim();
  await row.getByRole('button', { name: 'Messages' }).click();
  return name;
}

test('a participant and a researcher write to each other, over a reload and a server that is killed', async t => {
  const { server, study } = await begun(t, { serve: true });
  const page = await signedIn(t, server);
  const ada = await person(t, server, 0);
  await asks(ada, 'The text is too small');
  await ada.page.locator('.help li.own .state').filter({ hasText: 'Sent' }).waitFor({ timeout: SOON });
  await sees(page, '#warnings', 'has written to you');
  assert.match(await page.title(), /^\(1\) /);
  const name = await opensExchange(page);
  await sees(page, '#talk-lines', 'The text is too small');
  await ada.page.locator('.help li.own .state').filter({ hasText: 'Read' }).waitFor({ timeout: SOON });

  // The answer comes to a closed window: a count and a line tell of it, and the focus stays.
  await ada.page.keyboard.press('Escape');
  assert.equal(await ada.page.locator('.help h2').isVisible(), false);
  const card = ada.page.locator('section.card');
  const before = await card.boundingBox();
  await page.fill('#talk-text', 'Press Ctrl and +');
  await page.click('#talk-send');
  await ada.page.locator('.help-news').filter({ hasText: 'have written to you' }).waitFor({ timeout: SOON });
  assert.deepEqual(await card.boundingBox(), before, 'the page stays where it is');
  assert.equal(await ada.page.getAttribute('button.help', 'data-new'), '1');
  assert.equal(await ada.page.evaluate(() => document.activeElement.closest('.help-news')), null);
  await sees(page, '#talk-lines', 'not read yet');
  await shoot(page, 'exchange');
  await accessible(page);

  // The line may cover what the person needs: it goes away, and the count stays.
  await ada.page.locator('.help-news').getByRole('button', { name: 'Close' }).click();
  assert.equal(await ada.page.locator('.help-news').isVisible(), false);
  assert.equal(await ada.page.getAttribute('button.help', 'data-new'), '1');

  // It is still there for another page, and for another server.
  await ada.page.reload();
  await ada.page.locator('.help-news button.lead').click();
  await ada.page.locator('.help li').filter({ hasText: 'Press Ctrl and +' }).waitFor({ timeout: SOON });
  await sees(page, '#talk-lines', 'read');
  await page.click('#talk-close');
  await server.kill();
  const again = await Server.start({ study, data: server.data, port: server.port, serve: true });
  t.after(() => again.kill());
  await ada.page.locator('.help li').nth(1).waitFor({ timeout: SOON });
  await asks(ada, 'Thank you');
  await ada.page.locator('.help li').nth(2).locator('.state').filter({ hasText: /^Sent$/ }).waitFor({ timeout: SOON });

  await again.stop();
  const { code } = await verified(server.data);
  assert.equal(code, 0);
  const { desk_messages: rows, interventions } = await exported(server.data, ['desk_messages', 'interventions']);
  const told = rows.map(row => [row.participant_id, row.sender, row.text, row.read_unix_us > 0]);
  assert.deepEqual(told, [
    [name, 'participant', 'The text is too small', true],
    [name, 'researcher', 'Press Ctrl and +', true],
    [name, 'participant', 'Thank you', false],
  ]);
  assert.deepEqual(interventions.map(row => row.intervention), ['write_message']);
});

test('in a game, help takes no key and no picture, a question is answered, and a seat goes to the AI partner', async t => {
  const { server } = await begun(t, { partner: true, horizon: 900 });
  const page = await signedIn(t, server);
  const ada = await Participant.open(browser, server.links[0], { name: 'ada', device: PHONE });
  t.after(() => ada.context.close());
  const bo = await person(t, server, 1);
  await Promise.all([ada, bo].map(async one => { await one.read(); await one.shows('play'); }));
  const before = await ada.page.locator('#stage').boundingBox();
  const row = page.locator('#episodes tbody tr').first();
  await order(page, row.getByRole('button', { name: 'Write to the group' }), { text: 'You are doing well.' });
  for (const one of [ada, bo]) await one.page.locator('.help-news').filter({ hasText: 'written' }).waitFor({ timeout: SOON });
  assert.deepEqual(await ada.page.locator('#stage').boundingBox(), before, 'the picture stays where it is');
  await shoot(ada.page, 'help-news-phone');
  await ada.page.locator('.help-news button.lead').tap();
  await ada.page.locator('.help li').filter({ hasText: 'doing well' }).waitFor({ timeout: SOON });
  await shoot(ada.page, 'help-phone');
  const wide = await ada.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(wide, 0);

  // What is typed in it is not played, and what is pressed after it is.
  await bo.page.locator('.help-news button.lead').click();
  await shoot(bo.page, 'help-desktop');
  await bo.page.fill('#help-message', '');
  await bo.page.keyboard.type('wasd');
  assert.equal(await bo.page.inputValue('#help-message'), 'wasd', 'the game takes no key of the field');
  await bo.page.keyboard.press('Escape');
  assert.equal(await bo.page.evaluate(() => document.activeElement.id), 'stage', 'the game has the keys again');

  // A question with choices.
  const named = (await row.locator('td').nth(3).innerText()).replace(/^0: /, '').trim();
  await order(page, rowOf(page, '#people', named).getByRole('button', { name: 'Check attention' }), {
    text: 'Which colour is your cook?', choices: 'red, blue', expected: 'blue', within: '60',
  });
  const asked = (await Promise.race([ada, bo].map(one => one.page.locator('.help .answers button').first().waitFor({ state: 'attached', timeout: SOON }).then(() => one))));
  if (!await asked.page.locator('.help h2').isVisible()) await asked.page.locator('.help-news button.lead').click();
  await shoot(asked.page, 'question');
  await asked.page.locator('.help .answers button').filter({ hasText: 'blue' }).click();
  await asked.page.locator('.help .state').filter({ hasText: 'Your answer: blue' }).waitFor({ timeout: SOON });

  // The seat of that person goes to the AI partner, and the other plays to the end.
  const seat = page.locator('#episodes tr').filter({ hasText: named });
  await order(page, seat.getByRole('button', { name: 'Give to AI partner' }), { outcome: 'technical', bonus: '0.50', reason: 'the keyboard broke' });
  await asked.shows('end');
  await asked.says(/3[.,]50/);
  const other = asked === ada ? bo : ada;
  await other.play();
  await other.goOn();
  await other.answer();
  await other.shows('end');
  await server.stop();
  const { code } = await verified(server.data);
  assert.equal(code, 0, 'coplay verify finds nothing wrong');
  const { desk_messages: rows, events, episodes, interventions } = await exported(server.data, ['desk_messages', 'events', 'episodes', 'interventions']);
  const check = rows.find(one => one.answer_within_s);
  assert.deepEqual([check.participant_id, check.answer, check.correct], [named, 'blue', 'true']);
  assert.equal(episodes[0].ended_on, 'played');
  assert.ok(events.some(one => JSON.stringify(one).includes('cook')), 'the hand-over is in the tables');
  assert.deepEqual(interventions.map(one => [one.intervention, one.detail.replace(/^'/, '')]).slice(1), [
    ['check_attention', ''], ['give_seat', 'technical, bonus 50: the keyboard broke'],
  ]);
});

test('a phone shows everything without scrolling sideways', async t => {
  const { server } = await begun(t);
  const page = await signedIn(t, server, PHONE);
  const one = await person(t, server, 0);
  await one.read();
  await sees(page, '#waiting', '1 more for a group');
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.equal(wide, 0);
  await shoot(page, 'phone');
  await accessible(page);
});

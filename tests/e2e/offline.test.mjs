// A study without a server: `coplay site --offline`, a host of plain files, and a page that keeps its data and hands them
// over. What it hands over is imported, and verifies like the data of a server.

import assert from 'node:assert/strict';
import { cp, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Participant, ROOT, SOON, coplay, drawLess, launch, noFirefox, scratch, sideBySide, studyWith } from './harness.mjs';
import { exported, verified } from './match.mjs';
import { host } from './plain_host.mjs';

/** A kitchen for one person and a scripted cook, with a question before and after. */
const STUDY = `format: 1
study: {id: alone, version: 1.0.0, title: Cook with a program, contact: lab@example.edu}
offline: {}
timeline:
  - {id: consent, type: consent, file: consent.md}
  - {id: before, type: survey, surveyjs: {elements: [{type: radiogroup, name: games, title: How often do you play?, choices: [Never, Sometimes, Often], isRequired: true}]}}
  - {id: cook, type: env, env: overcooked@2.0.0, players: [self, {policy: cook}], config: {horizon: 200}}
  - {id: after, type: survey, surveyjs: {elements: [{type: comment, name: how, title: How was it?, isRequired: true}]}}
  - {id: thanks, type: end, file: thanks.md}
`;

const browsers = {};
before(async () => {
  const engines = noFirefox ? ['chromium'] : ['chromium', 'firefox'];
  await Promise.all(engines.map(async engine => { browsers[engine] = await launch(engine); }));
});
after(() => Promise.all(Object.values(browsers).map(browser => browser.close())));

/** The folder of a study, with some of its text changed. */
async function studyIn(folder, changes = []) {
  const study = path.join(folder, 'study');
  await cp(path.join(ROOT, 'examples/mazes'), study, { recursive: true });
  await writeFile(path.join(study, 'study.yaml'), changes.reduce((text, [from, to]) => text.replace(from, to), STUDY));
  return study;
}

/** Writes the site of a study without a server, and gives its folder. */
async function written(study, folder) {
  const { code, stdout, stderr } = await coplay('site', study, '--offline', '--out', folder, '--json');
  assert.equal(code, 0, stderr);
  assert.equal(JSON.parse(stdout).server, null);
  return folder;
}

/** Clicks the button that leads on, once the page has it. */
const onward = person => person.press('section.card .actions button.primary');

/** Answers the form that is shown. */
async function answer(person) {
  await person.shows('survey');
  const choice = person.page.locator('label.choice').nth(1);
  if (await choice.count()) await choice.click();
  else await person.page.fill('form.survey textarea', 'We shared the work.');
  await person.page.click('form.survey button.primary');
}

/** In the page, before its own scripts: keeps the files that it offers, for a browser whose driver tells of no downloads. */
function keepFiles() {
  const make = URL.createObjectURL;
  URL.createObjectURL = blob => {
    globalThis.keptFile = blob.arrayBuffer().then(bytes => [...new Uint8Array(bytes)]);
    return make.call(URL, blob);
  };
}

/** Saves the data by the button of the last page, and gives the file. */
async function saved(person, folder, engine = 'chromium') {
  const button = person.page.getByRole('button', { name: 'Save the file' });
  if (engine === 'firefox') {
    await button.click();
    await person.page.waitForFunction(() => globalThis.keptFile, null, { timeout: SOON });
    const file = path.join(folder, 'firefox.coplay-journal');
    await writeFile(file, Buffer.from(await person.page.evaluate(() => globalThis.keptFile)));
    return file;
  }
  const [download] = await Promise.all([person.page.waitForEvent('download', { timeout: SOON }), button.click()]);
  assert.match(download.suggestedFilename(), /^study-\d{8}T\d{6}Z\.coplay-journal$/);
  const file = path.join(folder, download.suggestedFilename());
  await download.saveAs(file);
  return file;
}

/** Imports files into a data folder, which verifies, and gives the report. */
async function imported(study, data, ...files) {
  const { code, stdout, stderr } = await coplay('import', study, ...files, '--data', data, '--json');
  assert.equal(code, 0, stderr);
  const verification = await coplay('verify', '--data', data);
  assert.equal(verification.code, 0, verification.stdout + verification.stderr);
  const { warnings, faults, other_versions, ...counts } = JSON.parse(stdout);
  assert.deepEqual([warnings, faults, other_versions], [[], [], 0]);
  return counts;
}

/** What a short study is without: its episode, and the question behind it. */
const SHORT = [[/ {2}- \{id: cook.*\n/, ''], [/ {2}- \{id: after.*\n/, '']];

/** The codes of a recruiter for every outcome, as a site without a server needs them. */
const OUTCOMES = ['completed', 'no_consent', 'ineligible', 'failed_quiz', 'lobby_timeout', 'partner_left', 'technical', 'timed_out', 'study_full', 'left_early', 'page_failed']
  .map((outcome, at) => `${outcome}: {do: return, pay: none, code: CODE${at}}`).join(', ');

/** A short study with a recruiter, whose data go to an address, or are saved. */
const recruited = (provider, post) => [
  [/offline: \{\}/, `offline: ${post ? `{post: "${post}"}` : '{}'}\nrecruitment: {${provider}, outcomes: {${OUTCOMES}}}`], ...SHORT,
];

/** How many journals there are in the browser, and of how many there are records. */
const stored = page => page.evaluate(async () => {
  const done = request => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const database = await done(indexedDB.open(`coplay ${location.pathname}`));
  const transaction = database.transaction(['journals', 'records']);
  const [journals, keys] = await Promise.all(['journals', 'records'].map(name => done(transaction.objectStore(name).getAllKeys())));
  database.close();
  return [journals.length, new Set(keys.map(([id]) => id)).size];
});

/** The file in a form that was posted. */
async function sentFile({ type, body }, file) {
  const form = await new Response(body, { headers: { 'content-type': type } }).formData();
  await writeFile(file, Buffer.from(await form.get('file').arrayBuffer()));
  return file;
}

sideBySide(2, () => {
  for (const engine of ['chromium', 'firefox']) {
    test(`in ${engine}, a person plays, reloads in the middle, closes the tab, finishes and saves a file that verifies`, { skip: engine === 'firefox' && noFirefox }, async t => {
      const folder = await scratch(t);
      const study = await studyIn(folder);
      const address = await host(t, await written(study, path.join(folder, 'site')), '/~ada/cook/');
      const person = await Participant.open(browsers[engine], address, { name: engine, before: drawLess });
      t.after(() => person.context.close());
      await person.says(/Before we begin/);
      await onward(person);
      await answer(person);
      await person.play(({ report }) => report.tick > 60);
      await person.page.reload();
      await person.knows(({ status, tick }) => status === 'playing' && tick > 60);
      await person.play();
      await person.goOn();
      await person.shows('survey');
      await person.page.close();
      const { page } = await Participant.open(browsers[engine], address, { name: `${engine} again`, beside: person, before: [drawLess, keepFiles] });
      person.page = page;
      await answer(person);
      await person.shows('end');
      await person.says(/stored in this browser only/);
      const file = await saved(person, folder, engine);
      const asked = new Set(person.asked.filter(url => /^(http|ws)/.test(url)).map(url => new URL(url).host));
      assert.deepEqual([...asked], [new URL(address).host], 'the page asks its own host alone');

      const data = path.join(folder, 'data');
      assert.deepEqual(await imported(study, data, file), { participants: 1, episodes: 1, already_there: 0, files: 1 });
      assert.deepEqual(await imported(study, data, file), { participants: 0, episodes: 0, already_there: 1, files: 1 });
      const { episodes } = await verified(data);
      assert.equal(episodes[0].reason, 'played');
      const { sessions, responses, steps } = await exported(data, ['sessions', 'responses', 'steps']);
      assert.deepEqual(sessions.map(({ outcome }) => outcome), ['completed']);
      assert.deepEqual(responses.map(({ item }) => item).sort(), ['agreed', 'games', 'how']);
      assert.equal(steps.length, 400, 'two seats, 200 ticks');
      assert.deepEqual(person.errors, []);
    });
  }

  test('data are posted to the address that the study names, and saved as a file if that fails', async t => {
    const folder = await scratch(t);
    const received = [];
    let status = 503;
    received.status = () => status;
    const post = await host(t, folder, '/none/', received);
    const study = await studyIn(folder, [[/offline: \{\}/, `offline: {post: "${post}"}`], ...SHORT]);
    const address = await host(t, await written(study, path.join(folder, 'site')), '/');
    const person = await Participant.open(browsers.chromium, address, { name: 'poster' });
    t.after(() => person.context.close());
    await person.says(/Before we begin/);
    await onward(person);
    await person.shows('survey');
    const [download] = await Promise.all([person.page.waitForEvent('download', { timeout: SOON }), person.page.evaluate(() => window.coplayOffline.save())]);
    const early = path.join(folder, 'early.coplay-journal');
    await download.saveAs(early);
    await answer(person);
    await person.says(/could not be sent/);
    assert.equal(received.length, 4, 'it was tried again');
    const file = await saved(person, folder);
    status = 200;
    await person.page.getByRole('button', { name: 'Try to send again' }).click();
    await person.says(/have been sent/);
    const sent = await sentFile(received.at(-1), path.join(folder, 'sent.coplay-journal'));
    const data = path.join(folder, 'data');
    assert.deepEqual(await imported(study, data, early, file, sent), { participants: 1, episodes: 0, already_there: 0, files: 3 });
    const { sessions, responses } = await exported(data, ['sessions', 'responses']);
    assert.deepEqual(sessions.map(({ outcome }) => outcome), ['completed'], 'of three files the longest one');
    assert.ok(responses.some(({ item }) => item === 'games'), 'with the answer that the first file does not have');
    await person.page.reload();
    await person.says(/have been sent/);
    assert.equal(received.length, 5, 'and once is enough');
  });

  test('people take part one after the other at one computer, and a page that fails still gives everything away', async t => {
    const folder = await scratch(t);
    const kiosk = [[/offline: \{\}/, 'offline: {}\nrecruitment: {provider: kiosk}'], [/ {2}- \{id: cook.*\n/, '']];
    const study = await studyIn(folder, kiosk);
    const address = await host(t, await written(study, path.join(folder, 'site')), '/');
    const person = await Participant.open(browsers.chromium, address, { name: 'kiosk' });
    t.after(() => person.context.close());
    await person.says(/Before we begin/);
    await onward(person);
    await answer(person);
    await person.says(/How was it/);
    await answer(person);
    await person.shows('end');
    await person.page.getByRole('button', { name: 'Next participant' }).click();
    await person.says(/Before we begin/);
    await onward(person);
    await answer(person);
    await person.says(/How was it/);
    await person.page.evaluate(() => window.coplay.fail('made up'));
    const report = await imported(study, path.join(folder, 'data'), await saved(person, folder));
    assert.deepEqual(report, { participants: 2, episodes: 0, already_there: 0, files: 1 });
    const { sessions, responses } = await exported(path.join(folder, 'data'), ['sessions', 'responses']);
    assert.deepEqual(sessions.map(({ outcome }) => outcome).sort(), ['', 'completed'], 'names are drawn, and rows are sorted by them');
    assert.equal(responses.filter(({ item }) => item === 'games').length, 2);
  });

  test('two people in one browser are both posted, and what was posted leaves the browser', async t => {
    const folder = await scratch(t);
    const received = [];
    const post = await host(t, folder, '/none/', received);
    const study = await studyIn(folder, recruited('provider: parameters, parameters: {participant: pid}', post));
    const address = await host(t, await written(study, path.join(folder, 'site')), '/');
    const first = await Participant.open(browsers.chromium, `${address}?pid=ada`, { name: 'first person' });
    t.after(() => first.context.close());
    await first.says(/Before we begin/);
    await onward(first);
    await answer(first);
    await first.says(/have been sent/);
    assert.equal(received.length, 1);
    await first.page.close();
    const second = await Participant.open(browsers.chromium, `${address}?pid=ben`, { name: 'second person', beside: first });
    await second.says(/Before we begin/);
    assert.deepEqual(await stored(second.page), [1, 1], 'the first journal is gone');
    await onward(second);
    await answer(second);
    await second.says(/have been sent/);
    assert.equal(received.length, 2);
    await second.page.goto(`${address}?pid=ben`);
    await second.says(/have been sent/);
    assert.equal(received.length, 3, 'a link opens the journal again');
    const files = await Promise.all(received.map((each, at) => sentFile(each, path.join(folder, `${at}.coplay-journal`))));
    assert.deepEqual(await imported(study, path.join(folder, 'data'), ...files), { participants: 2, episodes: 0, already_there: 0, files: 3 });
    assert.deepEqual(await imported(study, path.join(folder, 'alone'), files[1]), { participants: 1, episodes: 0, already_there: 0, files: 1 });
  });

  test('the last page leads back to the recruiter only once the data are sent, and nobody comes in without an id', async t => {
    const folder = await scratch(t);
    const received = [];
    let answerPost;
    received.status = () => new Promise(resolve => { answerPost = resolve; });
    const post = await host(t, folder, '/none/', received);
    const study = await studyIn(folder, recruited('provider: prolific, currency: GBP', post));
    const address = await host(t, await written(study, path.join(folder, 'site')), '/');
    const stranger = await Participant.open(browsers.chromium, address, { name: 'stranger' });
    t.after(() => stranger.context.close());
    await stranger.says(/missing your participant ID/);
    const person = await Participant.open(browsers.chromium, `${address}?PROLIFIC_PID=${'a'.repeat(24)}`, { name: 'prolific' });
    t.after(() => person.context.close());
    await person.says(/Before we begin/);
    await onward(person);
    await answer(person);
    await person.says(/Sending your answers/);
    const way = person.page.locator('section.end a.button');
    assert.equal(await way.count(), 0, 'there is no way out yet');
    while (!answerPost) await person.page.evaluate(() => new Promise(requestAnimationFrame));
    assert.equal(await way.count(), 0);
    answerPost(200);
    await person.says(/have been sent/);
    await way.waitFor({ timeout: SOON });
    assert.match(await way.getAttribute('href'), /app\.prolific\.com.*CODE0/);
  });

  test('without an address, the way back comes once the file is saved', async t => {
    const folder = await scratch(t);
    const study = await studyIn(folder, recruited('provider: prolific, currency: GBP'));
    const address = await host(t, await written(study, path.join(folder, 'site')), '/');
    const person = await Participant.open(browsers.chromium, `${address}?PROLIFIC_PID=${'b'.repeat(24)}`, { name: 'saver' });
    t.after(() => person.context.close());
    await person.says(/Before we begin/);
    await onward(person);
    await answer(person);
    await person.says(/stored in this browser only/);
    const way = person.page.locator('section.end a.button');
    assert.equal(await way.count(), 0);
    await saved(person, folder);
    await way.waitFor({ timeout: SOON });
  });

  test('who withdraws leaves nothing in the browser, and others keep what is theirs', async t => {
    const folder = await scratch(t);
    const debrief = ['  - {id: thanks', '  - {id: debrief, type: debrief, file: thanks.md, allow_withdraw: true}\n  - {id: thanks'];
    const study = await studyIn(folder, [[/offline: \{\}/, 'offline: {}\nrecruitment: {provider: kiosk}'], ...SHORT, debrief]);
    const address = await host(t, await written(study, path.join(folder, 'site')), '/');
    const person = await Participant.open(browsers.chromium, address, { name: 'kiosk' });
    t.after(() => person.context.close());
    const takePart = async () => {
      await person.says(/Before we begin/);
      await onward(person);
      await answer(person);
      await person.page.waitForSelector('.debrief .actions', { timeout: SOON });
    };
    await takePart();
    await person.press('.debrief .primary');
    await person.shows('end');
    await person.page.getByRole('button', { name: 'Next participant' }).click();
    await takePart();
    assert.deepEqual(await stored(person.page), [2, 2]);
    await person.press('.debrief .secondary');
    await person.press('button.danger');
    await person.says(/have been withdrawn/);
    await person.page.getByRole('button', { name: 'Next participant' }).waitFor({ timeout: SOON });
    assert.deepEqual(await stored(person.page), [1, 1]);
    assert.equal(await person.page.locator('.offline-data').count(), 0, 'nothing is handed over');
    await person.page.getByRole('button', { name: 'Next participant' }).click();
    await takePart();
    await person.press('.debrief .primary');
    await person.shows('end');
    const file = await saved(person, folder);
    assert.deepEqual(await imported(study, path.join(folder, 'data'), file), { participants: 2, episodes: 0, already_there: 0, files: 1 });
  });

  test('a file that cannot be made is answered, and so is what is asked after it', async t => {
    const folder = await scratch(t);
    const study = await studyIn(folder);
    const address = await host(t, await written(study, path.join(folder, 'site')), '/');
    const broken = page => page.route(/offline_worker\.js/, async route => {
      const answer = await route.fetch();
      const body = (await answer.text()).replace('file: seal_records(', 'file: undefined_seal(');
      await route.fulfill({ response: answer, body });
    });
    const person = await Participant.open(browsers.chromium, address, { name: 'no file', listen: broken });
    t.after(() => person.context.close());
    await person.says(/Before we begin/);
    for (let time = 0; time < 2; time++) {
      const told = await person.page.evaluate(() => window.coplayOffline.save().then(() => 'saved', error => error.message));
      assert.match(told, /cannot be read/);
    }
  });

  test('a second window takes over from one that is still loading', async t => {
    const folder = await scratch(t);
    const study = await studyIn(folder);
    const address = await host(t, await written(study, path.join(folder, 'site')), '/');
    let release, ask;
    const [held, asked] = [new Promise(resolve => { release = resolve; }), new Promise(resolve => { ask = resolve; })];
    const first = await Participant.open(browsers.chromium, address, {
      name: 'slow window',
      listen: page => page.route(/offline_wasm_bg\.wasm/, async route => {
        ask();
        await held;
        await route.continue();
      }),
    });
    t.after(() => first.context.close());
    await asked;
    const second = await Participant.open(browsers.chromium, address, { name: 'second window', beside: first });
    await second.says(/Before we begin/);
    release();
    await first.says(/another window|elsewhere|other tab/i);
    assert.deepEqual(first.errors, []);
  });

  test('a second window takes over, and the first says so', async t => {
    const folder = await scratch(t);
    const study = await studyIn(folder);
    const address = await host(t, await written(study, path.join(folder, 'site')), '/');
    const first = await Participant.open(browsers.chromium, address, { name: 'first window' });
    t.after(() => first.context.close());
    await first.says(/Before we begin/);
    const second = await Participant.open(browsers.chromium, address, { name: 'second window', beside: first });
    await second.says(/Before we begin/);
    await first.says(/another window|elsewhere|other tab/i);
  });

  test('studies that need a server are refused with the reason and the way around it', async t => {
    const folder = await scratch(t);
    const pair = await coplay('site', await studyWith({ horizon: 300 }, folder), '--offline', '--out', `${folder}/site`);
    assert.equal(pair.code, 2);
    assert.match(pair.stderr, /study\.yaml:\d+:\d+.*a lobby brings people together, which needs a server/);
    const design = 'design:\n  quota: 20\n  between:\n    pace: {levels: [200, 300]}\ntimeline:';
    const changes = [['timeline:', design], ['horizon: 200', 'horizon: "{{ pace }}"']];
    const counted = await studyIn(await scratch(t), changes);
    const linted = await coplay('lint', counted);
    assert.equal(linted.code, 2);
    assert.match(linted.stdout, /cannot have a quota/);
    assert.match(linted.stdout, /write `assign: random`/);
  });

  test('files that are damaged, or of another study, are refused', async t => {
    const folder = await scratch(t);
    const study = await studyIn(folder);
    const file = path.join(folder, 'bad.coplay-journal');
    for (const [bytes, words] of [['PK', /not that of a file of a study without a server/], ['COPLAYJ\x01 and no more than that', /damaged or not whole/]]) {
      await writeFile(file, bytes);
      const { code, stderr } = await coplay('import', study, file, '--data', `${folder}/data`);
      assert.equal(code, 1);
      assert.match(stderr, words);
    }
  });
});

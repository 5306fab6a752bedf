// People from a recruiter, in a real browser: how they enter, what happens to their identifiers, and how they go back.

import assert from 'node:assert/strict';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Participant, SOON, Server, coplay, launch, scratch, sideBySide } from './harness.mjs';
import { exported } from './match.mjs';
import { enter, farewell, meets, takePart } from './visits.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** A server of a study of two pages, whose people a recruiter sends. */
async function serve(t, provider) {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await mkdir(study);
  await writeFile(path.join(study, 'consent.md'), '# Do you want to take part?\n\nYou answer a question.\n');
  await writeFile(path.join(study, 'study.yaml'), `format: 1
study: {id: sent, version: 1.0.0, title: A question, contact: lab@example.edu}
recruitment: {provider: ${provider}, currency: USD, base: 1.00, minutes: 1}
bonus: 0.25 * 2
timeline:
  - {id: consent, type: consent, file: consent.md}
  - {id: ask, type: survey, surveyjs: {elements: [{type: comment, name: words, title: Words}]}}
`);
  const server = await Server.start({ study, data: path.join(folder, 'data') });
  t.after(() => server.kill());
  return server;
}

/** What is asked of other sites, which are not there: their addresses, with what is handed in; a page that says so is the answer. */
async function elsewhere(person, site) {
  const asked = [];
  await person.context.route(`${site}/**`, route => {
    asked.push({ url: route.request().url(), body: route.request().postData() });
    return route.fulfill({ contentType: 'text/html', body: '<h1>Elsewhere</h1>' });
  });
  return asked;
}

const PROLIFIC = 'https://app.prolific.com';
const NAMES = { PROLIFIC_PID: '5f0c8a1b2c3d4e5f60718293', STUDY_ID: '60a1b2c3d4e5f60718293a4b', SESSION_ID: '70b1c2d3e4f5061728394a5c' };

/** Every file of a folder, whatever is in it. */
async function files(folder) {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  return Promise.all(names.filter(entry => entry.isFile()).map(entry => readFile(path.join(entry.parentPath, entry.name), 'latin1')));
}

sideBySide(2, () => {
  test('somebody sent by Prolific is named in one table, keeps their place, and goes back with the code', async t => {
    const server = await serve(t, 'prolific');
    const person = await enter(t, browser, 'about:blank');
    const { page } = person;
    const back = await elsewhere(person, PROLIFIC);
    const requests = [];
    page.on('request', request => requests.push(request.url()));
    // What the server says can be held back, to see what the page does before it.
    let [held, hear] = [null, () => {}];
    await page.routeWebSocket(/\/session$/, socket => {
      const toServer = socket.connectToServer();
      socket.onMessage(message => { toServer.send(message); hear(); });
      toServer.onMessage(message => (held ? held.push(() => socket.send(message)) : socket.send(message)));
    });

    await page.goto(`${server.url}?${new URLSearchParams(NAMES)}`);
    assert.equal((await meets(person)).kind, 'consent');
    assert.equal(page.url(), server.url, 'the address says nothing');
    const rest = requests.slice(1).concat(await page.evaluate(() => document.documentElement.outerHTML + JSON.stringify(sessionStorage) + JSON.stringify(localStorage)));
    for (const name of Object.values(NAMES)) assert.ok(!rest.some(text => text.includes(name)), 'nor does anything after it');
    await page.click('section.consent button.primary', { timeout: SOON });
    await person.shows('survey');
    await page.reload();
    await person.shows('survey');

    // The way back is there only once the server has said that everything is stored.
    await page.fill('textarea', 'All is well.');
    held = [];
    const told = new Promise(resolve => { hear = resolve; });
    await page.click('form.survey button.primary');
    await told;
    await page.evaluate(() => new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    assert.deepEqual([await page.locator('section.end').count(), page.url(), back.length], [0, server.url, 0]);
    const answers = held;
    held = null;
    answers.forEach(answer => answer());
    await person.shows('end');
    await server.kill();

    const { code } = await farewell(person);
    const { responses, sessions } = await exported(server.data, ['responses', 'sessions']);
    assert.deepEqual(responses.map(({ value }) => value).slice(1), ['All is well.'], 'what was acknowledged is there after a crash');
    assert.deepEqual(sessions.map(({ outcome }) => outcome), ['completed']);
    const { stdout } = await coplay('pay', '--data', server.data, '--verify', code, '--json');
    assert.ok(stdout.includes(sessions[0].participant_id), `${code} stands for it: ${stdout}`);
    const tables = await files(path.join(server.data, 'tables'));
    for (const name of Object.values(NAMES)) assert.ok(!tables.some(text => text.includes(name)), `${name} is in no table`);
    const due = `${server.data}/due.csv`;
    await coplay('pay', '--data', server.data, '--csv', 'prolific', '--out', due);
    assert.equal((await readFile(due, 'utf8')).trim(), `${NAMES.PROLIFIC_PID},0.50`, 'who is paid is known');

    const again = await Server.start({ study: path.join(server.data, '../study'), data: server.data, port: server.port });
    t.after(() => again.kill());
    await page.reload();
    await person.shows('end');
    assert.equal((await farewell(person)).code, code, 'the same code after a reload');
    await page.waitForURL(`${PROLIFIC}/**`, { timeout: SOON });
    assert.deepEqual(back.map(({ url }) => url), [`${PROLIFIC}/submissions/complete?cc=${code}`]);
  });

  test('somebody sent by Prolific goes on in a second tab, and again in the first one, and nothing is lost', async t => {
    const server = await serve(t, 'prolific');
    const link = `${server.url}?${new URLSearchParams(NAMES)}`;
    const first = await enter(t, browser, link, { name: 'first' });
    await first.page.click('section.consent button.primary', { timeout: SOON });
    await first.shows('survey');
    await first.page.fill('textarea', 'All is w');
    await first.knows(report => report.unsaved === false);

    const second = await Participant.open(browser, link, { name: 'second', beside: first });
    await second.shows('survey');
    assert.equal(await second.page.inputValue('textarea'), '', 'an identifier alone shows nothing');
    await first.says(/The study is open in another tab/);
    await first.page.click('text=Play here instead');
    await second.says(/The study is open in another tab/);
    await first.shows('survey');
    assert.equal(await first.page.inputValue('textarea'), 'All is w');
    // And there and back once more, however often somebody changes their mind.
    await second.page.click('text=Play here instead');
    await first.says(/The study is open in another tab/);
    await second.shows('survey');
    await first.page.click('text=Play here instead');
    await first.shows('survey');
    await first.page.fill('textarea', 'All is well.');
    await first.page.click('form.survey button.primary');
    await first.shows('end');
    assert.deepEqual([...first.errors, ...second.errors], []);
    await server.stop();
    const { responses, sessions } = await exported(server.data, ['responses', 'sessions']);
    assert.deepEqual(responses.map(({ value }) => value).slice(1), ['All is well.']);
    assert.deepEqual(sessions.map(({ outcome }) => outcome), ['completed'], 'one person');
  });

  const MTURK = 'https://workersandbox.mturk.com';

  /** A page of Mechanical Turk that shows the study in its frame, as a worker has it. */
  async function turk(t, server, parameters) {
    const person = await enter(t, browser, 'about:blank', { name: parameters.workerId });
    const asked = await elsewhere(person, MTURK);
    const src = `${server.url}?${new URLSearchParams(parameters)}`.replaceAll('&', '&amp;');
    await person.context.route(`${MTURK}/work`, route => route.fulfill({
      contentType: 'text/html', body: `<h1>Mechanical Turk</h1><iframe src="${src}" width="800" height="600"></iframe>`,
    }));
    await person.page.goto(`${MTURK}/work`);
    return { person, asked, frame: person.page.frameLocator('iframe') };
  }

  const worker = (workerId, assignmentId) => ({ workerId, assignmentId, hitId: 'H1', turkSubmitTo: MTURK });

  test('a worker of Mechanical Turk looks at a preview, takes part in a window of their own, and hands in from the frame', async t => {
    const server = await serve(t, 'mturk');
    const preview = await turk(t, server, { assignmentId: 'ASSIGNMENT_ID_NOT_AVAILABLE', hitId: 'H1' });
    await preview.frame.getByText('This is a preview').waitFor({ timeout: SOON });

    const { person, asked, frame } = await turk(t, server, worker('A2SUAM1HKFN1', 'A1'));
    const opened = person.context.waitForEvent('page');
    await frame.getByRole('button', { name: 'Open the study' }).click({ timeout: SOON });
    const own = Object.assign(Object.create(Object.getPrototypeOf(person)), person, { page: await opened, name: 'window' });
    assert.deepEqual(await takePart(own), ['consent', 'ask', '_end']);
    const { code, words } = await farewell(own);
    assert.match(words, /submit your HIT/);
    assert.equal(await own.page.locator('section.end form').count(), 0, 'the window hands nothing in');
    assert.equal(own.page.url(), server.url);

    await frame.getByText(code).waitFor({ timeout: SOON });
    await frame.getByRole('button', { name: 'Submit to Mechanical Turk' }).click();
    await frame.getByText('Elsewhere').waitFor({ timeout: SOON });
    assert.deepEqual(asked.map(({ url }) => url), [`${MTURK}/mturk/externalSubmit`]);
    const handedIn = Object.fromEntries(new URLSearchParams(asked[0].body));
    assert.deepEqual([handedIn.assignmentId, handedIn.code], ['A1', code]);

    // A person who does not agree must return the HIT: nothing is submitted.
    const other = await turk(t, server, worker('A2SUAM1HKFN2', 'A2'));
    await other.frame.getByRole('button', { name: 'Continue here' }).click({ timeout: SOON });
    await other.frame.getByRole('button', { name: 'I do not agree' }).click();
    await other.frame.locator('section.end').waitFor({ timeout: SOON });
    assert.equal(await other.frame.locator('section.end form').count(), 0);

    await server.stop();
    const { sessions } = await exported(server.data, ['sessions']);
    assert.deepEqual(sessions.map(({ outcome }) => outcome), ['completed', 'no_consent'], 'a preview is nobody');
  });
});

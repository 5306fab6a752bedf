// The stages between the episodes, in a real browser: what is half done comes back, pages have their least time,
// pictures and videos are there, consent and quiz lead where they should.

import assert from 'node:assert/strict';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Participant, SOON, STUDY, Server, launch, scratch, sideBySide } from './harness.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** A study of these stages; `files` are further files of its folder. */
async function study(t, stages, files = {}) {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await mkdir(study);
  for (const page of ['how.md', 'thanks.md']) await cp(path.join(STUDY, page), path.join(study, page));
  for (const [name, bytes] of Object.entries(files)) await writeFile(path.join(study, name), bytes);
  const head = 'format: 1\nstudy: {id: pages, version: 1.0.0, title: Cooking, contact: lab@example.edu}\n';
  await writeFile(path.join(study, 'study.yaml'),
    `${head}timeline:\n${stages}\n  - {id: thanks, type: end, file: thanks.md}\n`);
  return { study, data: path.join(folder, 'data') };
}

/** A server of it, and a person at its first page. */
async function enter(t, stages, files) {
  const where = await study(t, stages, files);
  const server = await Server.start(where);
  t.after(() => server.kill());
  const person = await Participant.open(browser, server.links[0]);
  t.after(() => person.context.close());
  return { where, server, person, page: person.page };
}

/** Waits until a stage of this id is shown. */
const stage = (person, id) => person.page.waitForFunction(
  id => window.coplay && JSON.parse(window.coplay.report()).stage_id === id, id, { timeout: SOON });

/** Waits until the server has said that all that was typed is kept. */
const kept = person => person.knows(report => report.unsaved === false);

const ASK = `  - id: ask
    type: survey
    title: About you
    surveyjs:
      pages:
        - elements:
            - {type: comment, name: plan, title: How did you share the work?, isRequired: true}
            - {type: checkbox, name: tools, title: What did you use?, choices: [pot, plate, knife]}
        - elements:
            - {type: rating, name: fun, title: How much fun was it?, rateMax: 7}
            - {type: matrix, name: trust, title: Rate, columns: [1, 2, 3], rows: [a, b]}`;

/** What the form shows. */
const typed = page => page.evaluate(() => ({
  text: document.querySelector('textarea')?.value,
  checked: [...document.querySelectorAll('input:checked')].map(input => input.value),
}));

sideBySide(4, () => {
  test('a half-finished form is there after a reload, a crash, on another device and after a restart of the server', async t => {
    const { where, server, person, page } = await enter(t, ASK);
    await stage(person, 'ask');
    await page.fill('textarea', 'I cooked, she served');
    await page.check('input[value=plate]');
    // Leaving the page immediately sends the typed text.
    await page.reload();
    await stage(person, 'ask');
    const before = { text: 'I cooked, she served', checked: ['plate'] };
    assert.deepEqual(await typed(page), before);

    await page.click('button.primary');
    await page.check('input[name="item-0"][value="5"]');
    await page.check('input[name="item-1-0"][value="2"]');
    await kept(person);
    const other = await Participant.open(browser, server.links[0], { name: 'another device' });
    t.after(() => other.context.close());
    await stage(other, 'ask');
    assert.deepEqual((await typed(other.page)).checked, ['5', '2'], 'on the same page of the form');
    await person.says(/now open in another tab/);

    await other.page.check('input[name="item-0"][value="6"]');
    await kept(other);
    await server.kill();
    const again = await Server.start({ ...where, port: server.port });
    t.after(() => again.kill());
    await other.page.reload();
    await stage(other, 'ask');
    assert.deepEqual((await typed(other.page)).checked, ['6', '2']);
    await other.page.click('button.secondary');
    assert.deepEqual(await typed(other.page), before);
    await other.page.click('button.primary');
    await other.page.click('button.primary');
    await other.shows('end');
    assert.deepEqual(other.errors.filter(error => !/WebSocket/.test(error)), []);
  });

  test('what is typed while the server is away is kept once it is back', async t => {
    const { where, server, person, page } = await enter(t, ASK);
    await stage(person, 'ask');
    await server.kill();
    await page.fill('textarea', 'typed into the dark');
    const again = await Server.start({ ...where, port: server.port });
    t.after(() => again.kill());
    await kept(person);
    await page.reload();
    await stage(person, 'ask');
    assert.equal((await typed(page)).text, 'typed into the dark');
  });

  const PICTURE = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

  test('pages have their least time, their pictures and videos, and are where they were after a reload', async t => {
    const stages = '  - {id: how, type: instructions, pages: [one.md, two.md], min_s: 3}';
    const { person, page, server } = await enter(t, stages, {
      'one.md': '# One\n\n![a red dot](dot.png)\n\n![how to cook](clip.mp4)\n',
      'two.md': '# Two\n',
      'dot.png': PICTURE,
      'clip.mp4': Buffer.concat([Buffer.from([0, 0, 0, 16]), Buffer.from('ftypisom0000'), Buffer.alloc(5_000)]),
      'clip.vtt': 'WEBVTT\n\n00:00.000 --> 00:02.000\nCook.\n',
    });
    await stage(person, 'how');
    const next = page.locator('button.primary');
    assert.equal(await next.getAttribute('aria-disabled'), 'true');
    const words = await page.locator('#wait').textContent();
    assert.match(words, /You can continue in [123] s\./);
    await next.click({ force: true });
    assert.equal(await page.locator('h1').textContent(), 'One', 'not before its time');
    await page.waitForFunction(() => document.querySelector('img[alt="a red dot"]')?.naturalWidth === 1);
    const video = await page.locator('video').evaluate(video => [video.src, video.textTracks.length, video.ariaLabel]);
    assert.equal(video[1], 1, 'captions');
    assert.equal(video[2], 'how to cook');
    const part = await fetch(video[0], { headers: { range: 'bytes=4-7' } });
    assert.deepEqual([part.status, await part.text(), part.headers.get('content-type')], [206, 'ftyp', 'video/mp4']);
    assert.ok(video[0].startsWith(server.url));

    await page.waitForFunction(() => !document.querySelector('button.primary').hasAttribute('aria-disabled'), null, { timeout: SOON });
    await next.click();
    assert.equal(await page.locator('h1').textContent(), 'Two');
    await kept(person);
    await page.reload();
    await stage(person, 'how');
    assert.equal(await page.locator('h1').textContent(), 'Two', 'the page after a reload');
    await page.waitForFunction(() => !document.querySelector('button.primary').hasAttribute('aria-disabled'), null, { timeout: SOON });
    await next.click();
    await person.shows('end');
    assert.deepEqual(person.errors.filter(error => !/video|media/i.test(error)), []);
  });

  const GATES = `  - {id: consent, type: consent, file: consent.md}
  - {id: how, type: instructions, pages: [how.md]}
  - id: quiz
    type: quiz
    attempts: 2
    retry_from: how
    items: [{name: soup, ask: How many onions make a soup?, choices: [1, 2, 3], answer: 3}]`;
  const CONSENT = { 'consent.md': '# Do you want to take part?\n\nYou play a game. You can stop at any time.\n' };

  test('who agrees goes on, and who does not is out with nothing kept', async t => {
    const { person, page, server } = await enter(t, GATES, CONSENT);
    await stage(person, 'consent');
    await page.reload();
    await stage(person, 'consent');
    await page.getByRole('button', { name: 'I agree', exact: true }).click();
    await stage(person, 'how');
    const other = await Participant.open(browser, server.links[1], { name: 'who does not agree' });
    t.after(() => other.context.close());
    await stage(other, 'consent');
    await other.page.getByRole('button', { name: 'I do not agree' }).click();
    await other.shows('end');
    assert.equal((await other.report()).outcome, 'no_consent');
  });

  test('a wrong answer leads back with a word on it that a reload keeps, and the last attempt says so', async t => {
    const { person, page } = await enter(t, GATES, CONSENT);
    await stage(person, 'consent');
    await page.getByRole('button', { name: 'I agree', exact: true }).click();
    await stage(person, 'how');
    while ((await person.report()).stage_id === 'how') await person.press('section.instructions button.primary');
    await person.says(/Attempt 1 of 2\./);
    assert.equal(await page.locator('h1').textContent(), 'Questions');
    await page.check('input[value="1"]');
    await page.click('button.primary');
    await stage(person, 'how');
    await person.says(/Some answers weren.t right/);
    await page.reload();
    await stage(person, 'how');
    await person.says(/Some answers weren.t right/);
    while ((await person.report()).stage_id === 'how') await person.press('section.instructions button.primary');
    await person.says(/Attempt 2 of 2\. This is your last attempt\./);
    assert.deepEqual((await typed(page)).checked, [], 'asked anew');
    await page.check('input[value="3"]');
    await page.click('button.primary');
    await person.shows('end');
    assert.equal((await person.report()).outcome, 'completed');
    assert.deepEqual(person.errors, []);
  });

  const BRANCHES = `  - id: ask
    type: survey
    title: About you
    surveyjs:
      pages:
        - elements:
            - {type: boolean, name: played, title: Have you played such games?, isRequired: true}
            - type: panel
              name: games
              title: About these games
              visibleIf: "{played} = true"
              elements:
                - {type: checkbox, name: which, title: Which?, choices: [chess, go], showOtherItem: true, showNoneItem: true, isRequired: true}
                - {type: dropdown, name: where, title: Where?, choices: [home, work]}
            - {type: text, name: age, title: How old are you?, inputType: number, min: 18, minErrorText: This study is for adults.}
        - visibleIf: "{which} contains 'go'"
          elements:
            - {type: comment, name: why, title: Why go?, isRequired: true}`;

  test('a form shows what the answers lead to, says what is wrong with one, and passes over a page that is not asked', async t => {
    const { person, page } = await enter(t, BRANCHES);
    await stage(person, 'ask');
    const titles = () => page.locator('legend:visible, h2:visible').allTextContents();
    const plain = async () => (await titles()).map(title => title.replace(' * (required)', ''));
    assert.deepEqual(await plain(), ['Have you played such games?', 'How old are you?']);
    assert.equal(await page.locator('button.primary').textContent(), 'Continue', 'one page so far');
    await page.check('fieldset.item >> nth=0 >> input >> nth=0');
    assert.deepEqual(await plain(), ['Have you played such games?', 'About these games', 'Which?', 'Where?', 'How old are you?']);
    await page.check('input[value=go]');
    assert.equal(await page.locator('button.primary').textContent(), 'Next');
    await page.check('input[value=none]');
    assert.deepEqual((await typed(page)).checked, ['true', 'none'], 'none goes with no other');
    await page.check('input[value=go]');
    await page.check('input[value=other]');
    assert.deepEqual((await typed(page)).checked, ['true', 'go', 'other']);
    await page.selectOption('select', { label: 'work' });
    await page.fill('input[type=number]', '17');
    await page.click('button.primary');
    assert.deepEqual(await page.locator('.problem:visible').allTextContents(),
      ['Please answer this question.', 'This study is for adults.']);
    await page.fill('input[type=text]', 'shogi');
    await page.fill('input[type=number]', '18');
    await kept(person);
    await page.reload();
    await stage(person, 'ask');
    assert.equal(await page.locator('select').evaluate(select => select.selectedOptions[0].textContent), 'work');
    await page.click('button.primary');
    assert.deepEqual(await plain(), ['Why go?']);
    await page.click('button.secondary');
    await page.uncheck('input[value=go]');
    assert.equal(await page.locator('button.primary').textContent(), 'Continue');
    await page.click('button.primary');
    await person.shows('end');
    assert.deepEqual(person.errors, []);
  });
});

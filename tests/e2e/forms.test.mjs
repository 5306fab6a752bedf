// Every kind of question that is more than a choice or a text, in a real browser: by mouse, by keys and by touch, half
// done and there again, looked at by a checker of accessibility, and in the data.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { PHONE, Participant, SOON, Server, launch, scratch, sideBySide } from './harness.mjs';
import { exported } from './match.mjs';

const { source: AXE } = createRequire(import.meta.url)('axe-core');

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const both = (english, german) => ({ default: english, de: german });
const dot = colour => `<svg xmlns="http://www.w3.org/2000/svg" width="160" height="120"><circle cx="80" cy="60" r="50" fill="${colour}"/></svg>`;

const FORM = {
  title: both('About the round', 'Über die Runde'),
  elements: [
    { type: 'multipletext', name: 'you', title: both('About you', 'Über Sie'), items: [
      { name: 'field', title: both('Field of study', 'Studienfach'), isRequired: true },
      { name: 'age', title: both('Age', 'Alter'), inputType: 'number', min: 18 }] },
    { type: 'slider', name: 'share', isRequired: true, step: 5, title: both('Which share of the work was yours?', 'Welcher Teil der Arbeit war Ihrer?') },
    { type: 'slider', name: 'span', sliderType: 'range', max: 10, title: both('Between which numbers?', 'Zwischen welchen Zahlen?') },
    { type: 'ranking', name: 'order', isRequired: true, choicesOrder: 'random', title: both('What helped most?', 'Was half am meisten?'),
      choices: [{ value: 'talk', text: both('Talking', 'Reden') }, { value: 'see', text: both('Watching', 'Zusehen') },
        { value: 'luck', text: both('Luck', 'Glück') }] },
    { type: 'imagepicker', name: 'dot', title: both('Which dot?', 'Welcher Punkt?'), isRequired: true, choices: [
      { value: 'red', text: both('A red dot', 'Ein roter Punkt'), imageLink: 'red.svg' },
      { value: 'blue', text: both('A blue dot', 'Ein blauer Punkt'), imageLink: 'blue.svg' }] },
    { type: 'matrixdropdown', name: 'each', title: both('How was each of you?', 'Wie war jeder von Ihnen?'),
      rows: [{ value: 'me', text: both('I', 'Ich') }, { value: 'partner', text: both('My partner', 'Mein Gegenüber') }],
      columns: [
        { name: 'role', title: both('Role', 'Rolle'), choices: ['cook', 'waiter'] },
        { name: 'fast', title: both('Fast?', 'Schnell?'), cellType: 'boolean', isRequired: true },
        { name: 'good', title: both('How good?', 'Wie gut?'), cellType: 'rating', rateMax: 7 },
        { name: 'did', title: both('Did what?', 'Tat was?'), cellType: 'checkbox', choices: ['cut', 'boil'] },
        { name: 'why', title: both('Why?', 'Warum?'), cellType: 'text' }] },
    { type: 'comment', name: 'luck', title: both('What luck?', 'Welches Glück?'), visibleIf: "{each.partner.role} = 'cook'" },
  ],
};

/** A server of a study that asks this, and its first person. */
async function enter(t, device, ask = { surveyjs: FORM }) {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await mkdir(study);
  await writeFile(path.join(study, 'red.svg'), dot('#e5532d'));
  await writeFile(path.join(study, 'blue.svg'), dot('#2f78c8'));
  for (const file of ['thanks.md', 'thanks.de.md']) await writeFile(path.join(study, file), '# Thanks\n');
  await writeFile(path.join(study, 'study.yaml'), JSON.stringify({
    format: 1,
    study: { id: 'forms', version: '1.0.0', title: 'Forms', contact: 'lab@example.edu', language: 'en', languages: ['en', 'de'] },
    timeline: [{ id: 'ask', type: 'survey', ...ask }, { id: 'thanks', type: 'end', file: 'thanks.md' }],
  }));
  const data = `${folder}/data`;
  const server = await Server.start({ study, data });
  t.after(() => server.kill());
  const person = await Participant.open(browser, server.links[0], { device });
  t.after(() => person.context.close());
  await person.shows('survey');
  return { data, server, person, page: person.page };
}

/** What the checker finds wrong, in light and dark; and pictures, if somebody wants them. */
async function faults(page, name) {
  const found = [];
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    if (process.env.COPLAY_SHOTS) {
      await page.screenshot({ path: `${process.env.COPLAY_SHOTS}/${name}-${colorScheme}.png`, fullPage: true });
    }
    if (!await page.evaluate(() => 'axe' in window)) await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => window.axe.run(document, { preload: false, resultTypes: ['violations'] }));
    for (const { id, nodes } of violations) {
      for (const node of nodes) found.push(`${name}, ${colorScheme}: ${id}: ${node.html.slice(0, 120)} ${node.failureSummary}`);
    }
  }
  return found;
}

const field = (page, at) => page.locator('fieldset.item').nth(at);
const order = page => page.locator('.ranking .text').allTextContents();
const kept = person => person.knows(report => report.unsaved === false);

sideBySide(2, () => {
  test('every kind of question is answered by keys, is there after a reload, and has its value in the data', async t => {
    const { data, person, page } = await enter(t, { viewport: { width: 1280, height: 800 } });
    const times_ms = [performance.now()];
    const asked = await order(page);
    assert.deepEqual(await faults(page, 'desk-empty'), []);

    await page.click('button.primary');
    assert.deepEqual(await page.locator('.problem:visible').allTextContents(), [
      'Field of study: Please answer this question.', 'Please answer this question.', 'Please answer this question.',
      'Please answer this question.', 'I, Fast?: Please answer this question.']);
    assert.deepEqual(await faults(page, 'desk-missing'), []);

    await page.getByLabel('Field of study').fill('Physics');
    await page.getByLabel('Age', { exact: true }).fill('17');
    await field(page, 1).locator('input').press('ArrowRight');
    assert.equal(await field(page, 1).locator('output').textContent(), '55');
    await page.getByLabel('To', { exact: true }).press('ArrowLeft');
    await page.getByLabel('From', { exact: true }).press('End');
    assert.equal(await field(page, 2).locator('output').textContent(), '10 – 10', 'the other one gives way');
    await page.getByLabel('From', { exact: true }).press('Home');

    // The last one goes up by two, by keys, and keeps the focus.
    const up = page.getByRole('button', { name: `Move ${asked[2]} up` });
    await up.press('Enter');
    await up.press('Enter');
    const wanted = [asked[2], asked[0], asked[1]];
    assert.deepEqual(await order(page), wanted);
    assert.equal(await page.evaluate(() => document.activeElement.ariaLabel), `Move ${asked[2]} down`);
    assert.match(await page.locator('.ranking [aria-live]').textContent(), /: place 1 of 3$/);

    await page.getByRole('radio', { name: 'A blue dot' }).press('Space');
    await page.getByRole('group', { name: 'I', exact: true }).getByLabel('Yes').press('Space');
    const partner = page.getByRole('group', { name: 'My partner' });
    await partner.getByLabel('No').check();
    await partner.getByLabel('Role', { exact: true }).selectOption('cook');
    await partner.getByLabel('4').check();
    await partner.getByLabel('boil').check();
    await partner.getByLabel('Why?').fill('Hot');
    await page.getByRole('textbox', { name: 'What luck?' }).fill('None');
    await page.getByLabel('Age', { exact: true }).fill('19');

    await kept(person);
    // What is only looked at takes time too.
    assert.deepEqual(await faults(page, 'desk-done'), []);
    times_ms.push(performance.now());
    await page.reload();
    await person.shows('survey');
    times_ms.push(performance.now());
    assert.deepEqual(await order(page), wanted);
    assert.equal(await page.locator('.ranking .open').isVisible(), false);
    assert.equal(await field(page, 1).locator('output').textContent(), '55');
    assert.equal(await field(page, 2).locator('output').textContent(), '0 – 10');
    assert.equal(await page.getByLabel('Age', { exact: true }).inputValue(), '19');
    assert.equal(await page.getByRole('group', { name: 'My partner' }).getByLabel('Why?').inputValue(), 'Hot');
    assert.deepEqual(await faults(page, 'desk-filled'), []);
    times_ms.push(performance.now());
    await page.click('button.primary');
    await person.shows('end');
    assert.deepEqual(person.errors, []);

    const { responses } = await exported(data, ['responses']);
    const values = Object.fromEntries(responses.map(({ item, value }) => [item, value]));
    const named = { Talking: 'talk', Watching: 'see', Luck: 'luck' };
    assert.deepEqual({ ...values, you: JSON.parse(values.you), each: JSON.parse(values.each), order: JSON.parse(values.order) }, {
      you: { field: 'Physics', age: 19 }, share: '55', span: '[0,10]', order: wanted.map(text => named[text]), dot: 'blue',
      each: { me: { fast: true }, partner: { fast: false, role: 'cook', good: 4, did: ['boil'], why: 'Hot' } },
      // The apostrophe keeps pandas from taking the text for a missing value.
      luck: "'None",
    });
    const [opened, left, back, done] = times_ms;
    const least_ms = Math.floor(left - opened + done - back) - 2;
    for (const { elapsed_ms } of responses) assert.ok(Number(elapsed_ms) >= least_ms, `${elapsed_ms} of ${least_ms} ms`);
    const shown = Object.fromEntries(responses.map(({ item, shown }) => [item, shown]));
    assert.deepEqual(JSON.parse(shown.order), asked.map(text => named[text]), 'the order that was seen first');
    assert.equal(shown.dot, '');
  });

  test('on a phone, in German, choices are moved by a finger, pictures are touched, and all fits', async t => {
    const { person, page } = await enter(t, { ...PHONE, locale: 'de-AT' });
    assert.equal(await page.locator('h1').textContent(), 'Über die Runde');
    await person.says(/Was half am meisten/);
    const asked = await order(page);
    const grip = page.locator('.ranking .grip').first();
    await grip.scrollIntoViewIfNeeded();
    const [from, to] = [await grip.boundingBox(), await page.locator('.ranking li').last().boundingBox()];
    await page.mouse.move(from.x + 8, from.y + 8);
    await page.mouse.down();
    await page.mouse.move(to.x + 8, to.y + to.height - 4, { steps: 8 });
    await page.mouse.up();
    assert.deepEqual(await order(page), [asked[1], asked[2], asked[0]]);
    await page.locator('.pictures label').first().tap();
    await page.getByLabel('Studienfach').fill('Physik');
    await field(page, 1).locator('input').tap();
    assert.equal(await field(page, 1).locator('output').textContent(), '50', 'a touch is an answer');
    for (const row of ['Ich', 'Mein Gegenüber']) {
      await page.getByRole('group', { name: row, exact: true }).getByText('Ja').tap();
    }
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    assert.equal(wide, false, 'nothing is wider than the screen');
    const ratings = await page.evaluate(() => [...document.querySelectorAll('.table .rating')]
      .map(rating => [...rating.querySelectorAll('.choice')].map(point => point.getBoundingClientRect()))
      .map(points => [points.length, ...['top', 'width'].map(side => new Set(points.map(point => Math.round(point[side]))).size)]));
    assert.deepEqual(ratings, [[7, 1, 1], [7, 1, 1]], 'the points of a rating are on one line, and of equal width');
    const small = await page.evaluate(() => [...document.querySelectorAll('button, select, input, textarea, label')]
      .filter(element => element.checkVisibility() && !element.matches('label input'))
      .filter(element => element.getBoundingClientRect().width > 1)
      .filter(element => element.getBoundingClientRect().height < 43.5 || element.getBoundingClientRect().width < 43.5)
      .map(element => element.outerHTML.slice(0, 80)));
    assert.deepEqual(small, [], 'too small for a finger');
    assert.deepEqual(await faults(page, 'phone-de'), []);
    await page.locator('button.primary').tap();
    await person.shows('end');
    assert.deepEqual(person.errors, []);
  });

  test('a form shows its own answers, and goes on by itself when its time is up, with the answers so far', async t => {
    const quick = { elements: [
      { type: 'radiogroup', name: 'colour', title: 'Which colour?', isRequired: true,
        choices: [{ value: 'g', text: both('Green', 'Grün') }], showOtherItem: true },
      { type: 'text', name: 'name', title: 'What is {colour} to you?', isRequired: true },
      { type: 'comment', name: 'why', title: 'Why {colour}, and not {name}?', isRequired: true },
    ] };
    const limit_s = 20;
    const { data, person, page } = await enter(t, { viewport: { width: 900, height: 700 } }, { time_limit_s: limit_s, surveyjs: quick });
    await person.says(/0:\d\d left/);
    const legend = at => field(page, at).locator('legend').evaluate(element => element.firstChild.textContent);
    assert.equal(await legend(2), 'What is – to you?');
    await page.getByLabel('Green').check();
    assert.equal(await legend(2), 'What is Green to you?');
    await page.getByLabel('Other').first().check();
    await page.locator('fieldset.item input[type=text]').first().fill('{name} & <b>');
    assert.equal(await legend(2), 'What is {name} & <b> to you?', 'what somebody writes is text');
    await page.getByLabel('Green').check();
    await page.getByLabel('What is Green to you?').fill('Grass');
    assert.equal(await legend(3), 'Why Green, and not Grass?');
    assert.deepEqual(await faults(page, 'time'), []);
    await page.click('button.primary');
    await person.says(/Please answer this question/);
    await page.getByLabel('Why Green').fill('So');
    assert.equal(await page.locator('.problem:visible').count(), 0, 'what is answered is not asked for any more');
    await page.getByLabel('Why Green').fill('');

    await kept(person);
    await page.reload();
    await person.shows('survey');
    assert.equal(await legend(3), 'Why Green, and not Grass?');
    const left = await page.locator('.form-time .clock').textContent();
    const [, left_s] = /0:(\d\d) left/.exec(left);
    assert.ok(Number(left_s) < limit_s, left);
    await person.shows('end', SOON + limit_s * 1_000);
    assert.deepEqual(person.errors, []);

    const { responses, pages } = await exported(data, ['responses', 'pages']);
    assert.deepEqual(responses.map(({ item, value }) => [item, value]), [['colour', 'g'], ['name', 'Grass']]);
    const times_ms = pages.filter(({ stage_id }) => stage_id === 'ask').map(({ elapsed_ms }) => Number(elapsed_ms));
    assert.equal(times_ms.length, 1);
    assert.ok(Math.abs(times_ms[0] - limit_s * 1_000) < 100, `${times_ms} ms`);
  });
});

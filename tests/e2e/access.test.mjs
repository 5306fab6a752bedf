// Every kind of page, looked at by a checker of accessibility in light and dark; and the whole study by keys alone, by
// touch alone on a phone, and in another language.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import { Keys, Mouse, Touch, everything, walk } from './everything.mjs';
import { PHONE, Participant, SOON, Server, launch, scratch, sideBySide } from './harness.mjs';
import { exported } from './match.mjs';

const { source: AXE } = createRequire(import.meta.url)('axe-core');

/** What moves on a page without a person having done anything may not be more than this. */
const MOST_SHIFT = 0.01;

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** A person at the first page of the study, and what their page asked of whom. */
async function enter(t, device) {
  const folder = await scratch(t);
  const server = await Server.start({ study: await everything(folder), data: `${folder}/data` });
  t.after(() => server.kill());
  const person = await Participant.open(browser, server.links[0], { device, before: noteShifts });
  t.after(() => person.context.close());
  return { folder, server, person, page: person.page };
}

/**
 * In the page, before its own scripts: adds up what moves by itself, and says what that is. What follows on an input moves
 * because of it; that counts from when the page was told of the input, which takes a while on a busy machine. When another
 * page of the study takes the place of one, nothing of it has moved.
 */
function noteShifts() {
  [window.shifted, window.moved] = [0, []];
  const causes = [];
  for (const name of ['keydown', 'keyup', 'pointerdown', 'pointerup', 'click', 'input', 'change']) {
    addEventListener(name, () => causes.push(performance.now()), { capture: true });
  }
  const isPage = ({ nodeName }) => ['SECTION', 'FORM', 'DIV'].includes(nodeName);
  new MutationObserver(changes => {
    if (changes.some(({ target, addedNodes }) => target.id === 'app' && [...addedNodes].some(isPage))) causes.push(performance.now());
  }).observe(document, { childList: true, subtree: true });
  const isAnswer = ({ hadRecentInput, startTime }) =>
    hadRecentInput || causes.some(told => told <= startTime && startTime < told + 500);
  const told = ({ node, previousRect: from, currentRect: to }) =>
    `${node?.outerHTML?.slice(0, 60)} from ${from.x},${from.y} to ${to.x},${to.y}`;
  new PerformanceObserver(list => {
    for (const entry of list.getEntries().filter(each => !isAnswer(each))) {
      window.shifted += entry.value;
      window.moved.push(...entry.sources.map(told));
    }
  }).observe({ type: 'layout-shift', buffered: true });
}

/** Checks that a page keeps still and asks nobody but its server for anything. */
async function isCalm({ page, person, server }, name) {
  const [shifted, moved] = await page.evaluate(() => [window.shifted, window.moved]);
  assert.ok(shifted < MOST_SHIFT, `${name}: things have moved by ${shifted}: ${moved.join('; ')}`);
  const origin = new URL(server.url).host;
  const strangers = person.asked.filter(url => /^(http|ws)/.test(url) && new URL(url).host !== origin);
  assert.deepEqual(strangers, [], `${name}: asked of somebody else`);
}

/** What the checker finds wrong outside the picture of the game. */
async function faults(page, name) {
  const found = [];
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    // What the page's own policy would refuse as a script, a debugger may say.
    if (!await page.evaluate(() => 'axe' in window)) await page.evaluate(AXE);
    const { violations } = await page.evaluate(
      () => window.axe.run({ exclude: [['#stage']] }, { preload: false, resultTypes: ['violations'] }));
    for (const { id, nodes } of violations) {
      for (const node of nodes) found.push(`${name}, ${colorScheme}: ${id}: ${node.html.slice(0, 120)} ${node.failureSummary}`);
    }
  }
  return found;
}

sideBySide(2, () => {
  test('the checker finds nothing on any page, in light or dark; nothing moves, and nobody else is asked', async t => {
    const visit = await enter(t);
    const { person, page } = visit;
    // The games come late, so that what moves once they are there does not pass for an answer to a click.
    await page.route('**/modules/**', async route => {
      await later(1_500);
      await route.continue();
    });
    const found = [];
    await walk(person, new Mouse(person), async name => {
      await isCalm(visit, name);
      found.push(...await faults(page, name));
    });
    assert.deepEqual(found, []);
    const painted = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime);
    t.diagnostic(`first content after ${painted.toFixed(0)} ms`);
    assert.ok(painted < 1_000, `first content after ${painted} ms`);
    assert.deepEqual(person.errors, []);
  });

  test('the study is done by keys alone, and the focus is where one begins to read', async t => {
    const visit = await enter(t);
    const { person, page } = visit;
    // Where a page does not turn, the focus stays with what the person does.
    const STAYS = ['leave', 'survey-missing', 'survey-filled', 'lobby-presence', 'lobby-choice', 'outcome', 'turns-outcome', 'play',
      'chat-written'];
    await walk(person, new Keys(person), async name => {
      const focus = await page.evaluate(() => document.activeElement?.tagName);
      if (!STAYS.includes(name)) assert.match(focus, /^(H1|CANVAS)$/, `${name}: the focus is at ${focus}`);
      else assert.notEqual(focus, 'BODY', `${name}: the focus is lost`);
      await isCalm(visit, name);
    });
    assert.equal((await person.report()).outcome, 'completed');
  });

  test('the study is done on a phone by touch alone; nothing is wider than the screen or too small for a finger', async t => {
    const visit = await enter(t, PHONE);
    const { person, page } = visit;
    await walk(person, new Touch(person), async name => {
      const { wide, small } = await page.evaluate(fit);
      assert.deepEqual(wide, [], `${name}: wider than the screen`);
      assert.deepEqual(small, [], `${name}: too small for a finger`);
      await isCalm(visit, name);
    });
    assert.equal((await person.report()).outcome, 'completed');
  });

  /** In the page: what sticks out of the screen, and what is to be touched and too small. */
  function fit() {
    const LEAST = 44;
    const tell = element => `${element.tagName} ${element.className} ${element.textContent.slice(0, 30)}`;
    const isShown = element => element.checkVisibility() && element.getBoundingClientRect().width > 1;
    const wide = [...document.querySelectorAll('#app *')].filter(element => isShown(element) && !element.closest('.sr-only')
      && (element.getBoundingClientRect().right > innerWidth + 1 || element.getBoundingClientRect().left < -1));
    const targets = [...document.querySelectorAll('button, a[href], input, select, textarea, label')]
      .filter(element => isShown(element) && !element.closest('.prose') && !element.matches('label input'));
    const small = targets.filter(element => {
      const { width, height } = element.getBoundingClientRect();
      return width < LEAST - 0.5 || height < LEAST - 0.5;
    });
    if (document.documentElement.scrollWidth > innerWidth) wide.unshift(document.documentElement);
    return { wide: wide.map(tell), small: small.map(tell) };
  }

  test('people read the study in their language, can change it, and the data say which it was', async t => {
    const { folder, server, person, page } = await enter(t, { locale: 'de-AT' });
    const stage = id => page.waitForFunction(
      id => window.coplay && JSON.parse(window.coplay.report()).stage_id === id, id);
    await stage('consent');
    const words = () => page.evaluate(() => [document.documentElement.lang, document.title,
      document.querySelector('h1').textContent, document.querySelector('.actions .primary').textContent]);
    const german = ['de', 'Gemeinsam kochen', 'Möchten Sie teilnehmen?', 'Ich stimme zu'];
    assert.deepEqual(await words(), german);
    await page.click('.languages a[lang=en]');
    await page.waitForSelector('.languages a[lang=de]');
    const english = ['en', 'Cooking together', 'Do you want to take part?', 'I agree'];
    assert.deepEqual(await words(), english);
    assert.equal(new URL(page.url()).search, '', 'the language leaves the address bar');
    await page.reload();
    await stage('consent');
    assert.deepEqual(await words(), english, 'what was chosen counts, not what the browser says');
    await page.click('.languages a[lang=de]');
    await page.waitForSelector('.languages a[lang=en]');
    await walk(person, new Mouse(person));
    assert.equal(await page.locator('h1').textContent(), 'Vielen Dank');
    const other = await Participant.open(browser, `${server.links[1]}&lang=de`, { name: 'by a link' });
    t.after(() => other.context.close());
    await other.says(/Möchten Sie teilnehmen/);
    const { sessions } = await exported(`${folder}/data`, ['sessions']);
    assert.deepEqual(sessions.map(({ language }) => language), ['de', 'en', 'de'], 'that of whom one chats with, too');
  });

  test('a study in French and English starts in the language of the browser, before its program is loaded', async t => {
    const folder = await scratch(t);
    const study = path.join(folder, 'study');
    await mkdir(study);
    const files = {
      'study.yaml': `format: 1
texts: fr.yaml
study: {id: petite, version: 1.0.0, title: {fr: Petite, en: Small}, contact: lab@example.edu, language: fr, languages: [fr, en]}
timeline: [{id: thanks, type: end, file: thanks.md}]
`,
      'fr.yaml': "first_heading: Un <instant>\nfirst_no_script: Activez JavaScript.\nfirst_failed: La page n'a pas pu être chargée.\n",
      'thanks.md': '# Merci\n',
      'thanks.en.md': '# Thanks\n',
    };
    for (const [name, text] of Object.entries(files)) await writeFile(path.join(study, name), text);
    const server = await Server.start({ study, data: path.join(folder, 'data') });
    t.after(() => server.kill());
    const cases = [
      ['fr-CA', 'fr', 'Un <instant>', /La page n'a pas pu être chargée/],
      // It is none of the study's languages.
      ['de-AT', 'fr', 'Un <instant>', /La page n'a pas pu être chargée/],
      ['en-GB', 'en', 'Getting ready', /The page could not be loaded/],
      ['fr-FR', 'en', 'Getting ready', /The page could not be loaded/, '&lang=en'],
    ];
    for (const [locale, language, heading, failed, more = ''] of cases) {
      let fail;
      const isToFail = new Promise(resolve => { fail = resolve; });
      const listen = page => page.route(/client_wasm_bg\.wasm/, async route => {
        await isToFail;
        await route.abort();
      });
      const person = await Participant.open(browser, server.links[0] + more, { name: locale, device: { locale }, listen });
      t.after(() => person.context.close());
      await person.page.waitForFunction(([language, heading]) => document.documentElement.lang === language
        && document.querySelector('h1').textContent === heading, [language, heading], { timeout: SOON });
      fail();
      await person.says(failed);
    }
    const silent = await Participant.open(browser, server.links[0], { name: 'no script', device: { javaScriptEnabled: false } });
    t.after(() => silent.context.close());
    const notices = await silent.page.locator('noscript p').allTextContents();
    assert.deepEqual(notices.map(notice => notice.split(' ')[0]), ['Activez', 'This']);
  });
});

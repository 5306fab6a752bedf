// A study that shows every kind of page, and the walk through it by mouse, by keys alone, or by touch alone.
// The caller says for each page what must be checked there.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Participant, SOON } from './harness.mjs';

const PICTURE = `<svg xmlns="http://www.w3.org/2000/svg" width="320" height="120" viewBox="0 0 320 120">
<rect width="320" height="120" rx="12" fill="#cfe2f5"/><circle cx="90" cy="60" r="34" fill="#e5532d"/>
<circle cx="230" cy="60" r="34" fill="#2f78c8"/></svg>`;

/** A page in both languages. */
const page = (name, english, german) => ({ [`${name}.md`]: english, [`${name}.de.md`]: german });

const PAGES = {
  ...page('consent', '# Do you want to take part?\n\nYou play a game with somebody. Your answers and key presses are '
    + 'recorded under a made-up name.\n\n- It takes five minutes.\n- You can stop at any time.\n',
  '# Möchten Sie teilnehmen?\n\nSie spielen ein Spiel mit jemandem. Ihre Antworten und Tastendrücke werden unter einem '
    + 'erfundenen Namen aufgezeichnet.\n\n- Es dauert fünf Minuten.\n- Sie können jederzeit aufhören.\n'),
  ...page('one', '# The kitchen\n\n![Two cooks](cooks.svg)\n\nThree onions make a soup. Press `Space` to pick up.\n',
    '# Die Küche\n\n![Zwei Köche](cooks.svg)\n\nDrei Zwiebeln ergeben eine Suppe. Mit `Leertaste` heben Sie auf.\n'),
  ...page('two', '# The score\n\n| Dish | Points |\n| --- | --- |\n| Soup | 20 |\n\nYou score **together**.\n',
    '# Die Punkte\n\n| Gericht | Punkte |\n| --- | --- |\n| Suppe | 20 |\n\nSie punkten **gemeinsam**.\n'),
  ...page('plan', '# Make a plan\n\nAgree on who does **what**.\n', '# Planen Sie\n\nEinigen Sie sich, wer **was** tut.\n'),
  ...page('rest', '# Take a breath\n\nThe kitchen stays the same.\n', '# Atmen Sie durch\n\nDie Küche bleibt gleich.\n'),
  ...page('debrief', '# What it was about\n\nWe look at how people divide work. Your partner was an AI partner if you '
    + 'chose one.\n', '# Worum es ging\n\nWir untersuchen, wie Menschen Arbeit teilen.\n'),
  ...page('thanks', '# Thank you\n\nThat was all.\n', '# Vielen Dank\n\nDas war alles.\n'),
};

/** A text in both languages, as the study file has it. */
const both = (en, de) => ({ en, de });
const form = (english, german) => ({ default: english, de: german });

const ABOUT = {
  title: form('About you', 'Über Sie'),
  pages: [{
    elements: [
      { type: 'html', name: 'intro', html: form('<p>A few questions first.</p>', '<p>Zuerst ein paar Fragen.</p>') },
      { type: 'text', name: 'age', inputType: 'number', isRequired: true,
        title: form('How old are you?', 'Wie alt sind Sie?'), description: form('In years', 'In Jahren') },
      { type: 'radiogroup', name: 'often', isRequired: true, choices: [
        { value: 'never', text: form('Never', 'Nie') }, { value: 'often', text: form('Often', 'Oft') }],
        title: form('How often do you play?', 'Wie oft spielen Sie?') },
      { type: 'dropdown', name: 'hand', choices: [{ value: 'l', text: form('Left', 'Links') },
        { value: 'r', text: form('Right', 'Rechts') }], title: form('Which hand?', 'Welche Hand?') },
      { type: 'checkbox', name: 'tools', choices: ['Pot', 'Plate', 'Knife'], title: form('What do you own?', 'Was haben Sie?') },
      { type: 'boolean', name: 'cook', title: form('Do you cook?', 'Kochen Sie?') },
    ],
  }, {
    elements: [
      { type: 'rating', name: 'mood', rateMin: 1, rateMax: 7, isRequired: true,
        minRateDescription: form('Bad', 'Schlecht'), maxRateDescription: form('Good', 'Gut'),
        title: form('How do you feel?', 'Wie geht es Ihnen?') },
      { type: 'matrix', name: 'trust', isAllRowRequired: true, columns: [1, 2, 3, 4, 5, 6, 7],
        rows: [{ value: 'self', text: form('I trust myself', 'Ich vertraue mir') },
          { value: 'others', text: form('I trust others', 'Ich vertraue anderen') }],
        title: form('How much do you agree?', 'Wie sehr stimmen Sie zu?') },
      { type: 'radiogroup', name: 'check', isRequired: true, correctAnswer: 'two', choices: ['one', 'two', 'three'],
        title: form('Please choose “two”.', 'Bitte wählen Sie „two“.') },
      { type: 'text', name: 'mail', inputType: 'email', title: form('Where may we write?', 'Wohin dürfen wir schreiben?') },
      { type: 'comment', name: 'words', title: form('Anything else?', 'Noch etwas?') },
    ],
  }],
};

const KITCHEN = { layout: 'cramped_room', horizon: 50, tick_hz: 10 };

const TIMELINE = [
  { id: 'consent', type: 'consent', file: 'consent.md' },
  { id: 'meet', type: 'lobby', group_size: 2, timeout_s: 120, on_timeout: 'wait' },
  { id: 'plan', type: 'chat', file: 'plan.md', max_s: 300, max_length: 200 },
  { id: 'how', type: 'instructions', pages: ['one.md', 'two.md'], min_s: 1 },
  { id: 'quiz', type: 'quiz', attempts: 2, retry_from: 'how', items: [
    { name: 'soup', ask: both('How many onions make a soup?', 'Wie viele Zwiebeln braucht eine Suppe?'), choices: [1, 2, 3], answer: 3 },
    { name: 'whose', ask: both('Whose score is it?', 'Wessen Punkte sind es?'), answer: 'ours', choices: [
      { value: 'mine', text: both('Mine', 'Meine') }, { value: 'ours', text: both('Ours', 'Unsere') }] }] },
  { id: 'about', type: 'survey', surveyjs: ABOUT, attention: { items: ['check'], use: 'flag' } },
  { id: 'maze', type: 'env', env: 'goal_finding@1.0.0', players: ['self'], mode: 'turns', fullscreen: true,
    config: { layout: ['######', '#+  g#', '######'], seats: 1, horizon: 6, tick_hz: 0 } },
  { id: 'lobby', type: 'lobby', group_size: 2, timeout_s: 15, on_timeout: 'ask', bot: { policy: 'cook', disclose: true },
    presence: { prompt_after_s: 8, grace_s: 60 } },
  { id: 'play', type: 'env', env: 'overcooked@2.0.0', players: ['self', 'partner'], config: KITCHEN, episodes: 2,
    rest: { file: 'rest.md' } },
  { id: 'beside', type: 'external', url: 'https://forms.example.edu/?back={{return}}', code: 'BLUE-42', else: 'technical' },
  { id: 'debrief', type: 'debrief', file: 'debrief.md', allow_withdraw: true },
  { id: 'thanks', type: 'end', file: 'thanks.md' },
];

/** Writes the study into a folder. */
export async function everything(folder) {
  const study = path.join(folder, 'study');
  await mkdir(study);
  for (const [name, text] of Object.entries(PAGES)) await writeFile(path.join(study, name), text);
  await writeFile(path.join(study, 'cooks.svg'), PICTURE);
  await writeFile(path.join(study, 'study.yaml'), JSON.stringify({
    format: 1,
    study: { id: 'everything', version: '1.0.0', title: both('Cooking together', 'Gemeinsam kochen'),
      contact: 'lab@example.edu', language: 'en', languages: ['en', 'de'] },
    recruitment: { currency: 'EUR', base: 3, outcomes: { completed: { do: 'approve', pay: 'base', code: 'SOUP-20' } } },
    timeline: TIMELINE,
  }, null, 1));
  return study;
}

/** What one does with a mouse and a keyboard. */
export class Mouse {
  constructor(person) {
    Object.assign(this, { person, page: person.page });
  }

  /** Presses a button or follows a link. */
  async press(selector) {
    await this.page.click(selector, { timeout: SOON });
  }

  /** Chooses a radio button or a checkbox. */
  async choose(selector) {
    await this.page.check(selector, { timeout: SOON });
  }

  /** Chooses from a list that opens, by its place in the list. */
  async pick(selector, index) {
    await this.page.selectOption(selector, { index }, { timeout: SOON });
  }

  /** Writes into a field. */
  async write(selector, text) {
    await this.page.fill(selector, text, { timeout: SOON });
  }

  /** Takes an action in the world. */
  async act({ key }) {
    await this.page.keyboard.press(key);
  }
}

/** What one does with keys alone. Wherever the focus comes, it is seen. */
export class Keys extends Mouse {
  /** Goes on with Tab until something has the focus. */
  async reach(selector, holds) {
    await this.page.locator(selector).first().waitFor({ timeout: SOON });
    for (let tabs = 0; tabs < 80; tabs += 1) {
      const focus = await this.page.evaluate(focused, { selector, holds });
      assert.ok(focus.seen, `nobody sees that ${focus.what} has the focus`);
      if (focus.there) return;
      await this.page.keyboard.press('Tab');
    }
    assert.fail(`no way by Tab to ${selector}`);
  }

  async press(selector) {
    await this.reach(selector, 'itself');
    await this.page.keyboard.press('Enter');
  }

  async choose(selector) {
    await this.reach(selector, 'its group');
    for (let steps = 0; steps < 20; steps += 1) {
      const { there } = await this.page.evaluate(focused, { selector, holds: 'itself' });
      if (there) break;
      await this.page.keyboard.press('ArrowDown');
    }
    if (!await this.page.isChecked(selector)) await this.page.keyboard.press('Space');
    assert.ok(await this.page.isChecked(selector), selector);
  }

  async pick(selector, index) {
    await this.reach(selector, 'itself');
    for (let steps = 0; steps < index; steps += 1) await this.page.keyboard.press('ArrowDown');
    assert.equal(await this.page.locator(selector).evaluate(list => list.selectedIndex), index, selector);
  }

  async write(selector, text) {
    await this.reach(selector, 'itself');
    await this.page.keyboard.type(text);
  }
}

/** In the page: what has the focus, whether one sees that, and whether it is what is looked for. */
function focused({ selector, holds }) {
  const wanted = document.querySelector(selector);
  const now = document.activeElement;
  const isGroup = holds === 'its group' && now?.name && now.name === wanted?.name && now.type === 'radio';
  const what = `${now?.tagName} ${now?.className} ${now?.textContent?.slice(0, 30)}`;
  // A heading and the world get the focus by themselves; what is reached by Tab must show it.
  const quiet = !now || now === document.body || now.matches('h1, canvas');
  const ring = element => element && getComputedStyle(element).outlineStyle !== 'none'
    && parseFloat(getComputedStyle(element).outlineWidth) >= 2;
  return { there: now === wanted || isGroup, seen: quiet || ring(now) || ring(now.closest('label')), what };
}

/** What one does with a finger. */
export class Touch extends Mouse {
  async press(selector) {
    await this.page.locator(selector).first().tap({ timeout: SOON });
  }

  async choose(selector) {
    await this.page.locator(`label:has(${selector})`).first().tap({ timeout: SOON });
    assert.ok(await this.page.isChecked(selector), selector);
  }

  async write(selector, text) {
    await this.page.locator(selector).tap({ timeout: SOON });
    await this.page.keyboard.type(text);
  }

  async act({ action }) {
    // The first touch brings the buttons, if the browser has not reported a touch screen.
    if (!await this.page.locator('.pad').isVisible()) await this.page.locator('#stage').tap({ position: { x: 5, y: 5 } });
    await this.page.locator(`.pad [data-action="${action}"]`).tap({ timeout: 2_000 }).catch(error => {
      // The episode may have ended while the finger was on its way.
      if (error.name !== 'TimeoutError') throw error;
    });
  }
}

/**
 * From the first page to the last; `at` is called with the name of each page that there is to see. Somebody else comes to
 * chat with, and goes again.
 */
export async function walk(person, hands, at = async () => {}) {
  const { page } = person;
  const here = id => page.waitForFunction(
    id => window.coplay && JSON.parse(window.coplay.report()).stage_id === id, id, { timeout: SOON });
  const next = () => hands.press('.card .actions:not(.there) .primary');
  const item = (number, value) => `input[name="item-${number}"][value="${value}"]`;

  await here('consent');
  await at('consent');
  await hands.press('button.leave');
  await page.waitForSelector('.confirm');
  await at('leave');
  await hands.press('.confirm .primary');
  await next();

  await here('meet');
  await chat();

  await read(at);
  await here('quiz');
  await at('quiz');
  await hands.choose(item(0, 1));
  await hands.choose(item(1, 'ours'));
  await next();
  await person.says(/Some answers weren.t right|Einige Antworten waren nicht richtig/);
  await at('quiz-again');
  await read(async () => {});
  await here('quiz');
  await at('quiz-last');
  await hands.choose(item(0, 3));
  await hands.choose(item(1, 'ours'));
  await next();

  await here('about');
  await at('survey');
  await next();
  await page.waitForSelector('.missing');
  await at('survey-missing');
  await hands.write('input[type=number]', '34');
  await hands.choose(item(2, 'often'));
  await hands.pick('fieldset.item select', 2);
  await hands.choose('input[type=checkbox][value=Pot]');
  await hands.choose(item(5, 'true'));
  await at('survey-filled');
  await next();
  await page.waitForSelector('.matrix');
  await at('survey-2');
  await hands.choose(item(0, 6));
  await hands.choose(item('1-0', 5));
  await hands.choose(item('1-1', 4));
  await hands.choose(item(2, 'two'));
  await hands.write('input[type=email]', 'me@example.edu');
  await hands.write('textarea', 'Nothing.');
  await next();

  await here('maze');
  await turns();

  await here('lobby');
  await at('lobby');
  await person.says(/still there|noch da/);
  await at('lobby-presence');
  await hands.press('.question .primary');
  await person.says(/Nobody has joined yet|noch niemand gekommen/);
  await at('lobby-choice');
  await hands.press('.question button:nth-of-type(2)');

  await here('play');
  await rounds();
  await person.shows('rest');
  await at('rest');
  await next();
  await rounds();
  await person.shows('outcome');
  await at('outcome');
  await hands.press('.overlay .primary');

  await here('beside');
  await at('external');
  await hands.write('.code-field input', 'blue-42');
  await next();
  await here('debrief');
  await at('debrief');
  await hands.press('.debrief .secondary');
  await page.waitForSelector('button.danger');
  await at('withdraw');
  await next();
  await page.waitForSelector('.debrief .secondary');
  await next();
  await here('thanks');
  await at('end');

  /** A chat with somebody who has come for that alone. */
  async function chat() {
    const home = new URL('/', page.url()).href;
    const friend = await Participant.open(page.context().browser(), home, { name: 'friend' });
    await friend.page.click('.card .actions:not(.there) .primary', { timeout: SOON });
    await friend.shows('chat');
    await here('plan');
    await page.waitForSelector('.chat textarea:not([readonly])', { timeout: SOON });
    await at('chat');
    await hands.write('.chat textarea', 'I take the onions');
    await hands.press('.chat form button');
    await friend.says(/I take the onions/);
    await friend.page.fill('.chat textarea:not([readonly])', 'Then I bring the plates');
    await friend.page.click('.chat form button');
    await person.says(/Then I bring the plates/);
    await hands.write('.chat textarea', 'Go');
    await at('chat-written');
    await hands.press('section.talk > .actions button');
    await friend.context.close();
  }

  /** Both pages of the instructions, each for its least time. */
  async function read(at) {
    const open = () => page.waitForSelector('.actions .primary:not([aria-disabled])', { timeout: SOON });
    await here('how');
    await at('instructions-wait');
    await open();
    await at('instructions');
    await next();
    await page.waitForSelector('table');
    await open();
    await at('instructions-2');
    await next();
  }

  /** The maze, a key at a time. */
  async function turns() {
    await person.shows('play');
    await person.says(/The game is waiting for you|Das Spiel wartet auf Sie/);
    await at('turns');
    const right = await page.evaluate(() => [...document.querySelectorAll('.pad button')]
      .map(button => Number(button.dataset.action)).find(action => window.coplay.key_for(action) === 'ArrowRight'));
    while (await page.locator('.overlay .primary').count() === 0) {
      const before = (await person.report()).tick;
      await hands.act({ action: right, key: 'ArrowRight' });
      await page.waitForFunction(before => document.querySelector('.overlay .primary')
        || JSON.parse(window.coplay.report()).tick !== before, before, { timeout: SOON });
    }
    await at('turns-outcome');
    await hands.press('.overlay .primary');
  }

  /** A round in the kitchen, as the scripted cook advises. */
  async function rounds() {
    let looked = false;
    await person.play(async turn => {
      if (!looked) {
        looked = true;
        await at('play');
      }
      if (turn.key) await hands.act({ key: turn.key, action: turn.action });
      turn.key = null;
      return false;
    });
  }
}

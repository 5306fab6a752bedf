// What a person does at a page: keys, chords, presses, fingers, and the whole screen. What entered the ticks is read from
// the export, so it is what the server holds to have happened.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { PHONE, Participant, Server, launch, scratch, sideBySide } from './harness.mjs';
import { exported } from './match.mjs';

const HEAD = `format: 1
study: {id: input, version: 1.0.0, title: Input, contact: lab@example.edu}
timeline:
`;

/** A stage in which one cook is alone in the kitchen. */
const alone = (id, { horizon, ...more }) => `  - ${JSON.stringify({
  id, type: 'env', env: 'overcooked@2.0.0', players: ['self', 'vacant'],
  config: { layout: 'cramped_room', rules: 'corrected', horizon, tick_hz: 10 }, ...more,
})}\n`;

const KEYS = {
  move_up: ['KeyW'], move_down: ['KeyS'], move_left: ['KeyA'], move_right: ['KeyD'], pick_up_or_drop: ['ShiftLeft+KeyW'],
};

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** A participant on the first page of a study with this timeline. */
async function enter(t, timeline, device, before) {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await mkdir(study);
  await writeFile(path.join(study, 'study.yaml'), HEAD + timeline);
  const server = await Server.start({ study, data: `${folder}/data` });
  t.after(() => server.kill());
  const person = await Participant.open(browser, server.links[0], { device, before });
  t.after(() => person.context.close());
  return { server, person };
}

/** Waits for so many more ticks. */
async function ticks(person, count) {
  const { tick } = await person.report();
  await person.knows(report => report.tick >= (tick ?? 0) + count);
}

/** Waits until the world runs. */
async function runs(person) {
  await person.shows('play');
  await person.knows(({ status, tick }) => status === 'playing' && tick > 0);
}

/** What the person did in a stage, in order: each action with the number of ticks that it entered one after the other. */
function acted(tables, stage) {
  const own = tables.steps.filter(({ stage_id, seat }) => stage_id === stage && seat === '0');
  const spans = [];
  own.forEach(({ action_name }) => {
    const last = spans.at(-1);
    if (last?.[0] === action_name) last[1] += 1;
    else spans.push([action_name, 1]);
  });
  return spans.filter(([name]) => name !== 'noop');
}

sideBySide(3, () => {
  test('a key that goes down just before the page goes is in the data', async t => {
    const { server, person } = await enter(t, alone('only', { horizon: 600, keys: KEYS }));
    await runs(person);
    await person.page.keyboard.press('KeyA');
    await ticks(person, 10);
    // Nothing happens between the key and the end of the page: no frame, no beat of the Worker.
    await person.page.evaluate(() => {
      window.dispatchEvent(new KeyboardEvent('keydown', { code: 'KeyD' }));
      window.location.href = 'about:blank';
    });
    await person.page.waitForURL('about:blank');
    await server.stop();
    const { keys } = await exported(server.data, ['keys']);
    const pressed = keys.filter(({ down }) => down === 'true').map(({ action_name }) => action_name);
    assert.deepEqual(pressed, ['move_left', 'move_right']);
  });

  test('presses count once, chords win, and keys that belong elsewhere are never actions', async t => {
    const timeline = alone('first', { horizon: 120, keys: KEYS, capture: 'press' })
      + alone('second', { horizon: 40, keys: KEYS, capture: 'press' })
      + '  - {id: after, type: survey, surveyjs: {elements: [{type: comment, name: words, title: Words}]}}\n';
    const { server, person } = await enter(t, timeline);
    const { keyboard } = person.page;
    await runs(person);

    await keyboard.down('KeyA');
    await ticks(person, 5);
    await keyboard.down('KeyA');
    await keyboard.up('KeyA');
    await ticks(person, 2);

    await keyboard.down('ShiftLeft');
    await keyboard.press('KeyW');
    await keyboard.up('ShiftLeft');
    await ticks(person, 2);

    await keyboard.down('Control');
    await keyboard.press('KeyD');
    await keyboard.up('Control');

    const typed = await person.page.evaluateHandle(() => {
      const field = document.createElement('input');
      document.body.append(field);
      field.focus();
      return field;
    });
    await keyboard.type('wasd W');
    assert.equal(await typed.evaluate(field => field.value), 'wasd W', 'a field takes what is typed into it');
    await typed.evaluate(field => field.remove());

    // A key that goes down in the game is let go as soon as somebody types, and when the window loses the focus.
    await keyboard.press('KeyD');
    await ticks(person, 2);
    await keyboard.down('KeyS');
    await person.goOn();
    await person.knows(({ stage_id }) => stage_id === 'second');
    await runs(person);
    await keyboard.down('KeyS');
    await ticks(person, 3);
    await keyboard.up('KeyS');
    await keyboard.press('KeyD');
    await person.goOn();

    await person.shows('survey');
    await person.page.click('textarea');
    await keyboard.type('wasd WASD');
    assert.equal(await person.page.inputValue('textarea'), 'wasd WASD', 'a survey takes what is typed into it');
    await person.page.click('form.survey button.primary');
    await person.shows('end');
    assert.deepEqual(person.errors, []);

    const tables = await exported(server.data);
    assert.deepEqual(acted(tables, 'first'), [['move_left', 1], ['pick_up_or_drop', 1], ['move_right', 1], ['move_down', 1]]);
    assert.deepEqual(acted(tables, 'second'), [['move_right', 1]], 'a key held since the episode before does nothing');
  });

  test('a held key acts on every tick until it is let go, or the page is left', async t => {
    const { server, person } = await enter(t, alone('play', { horizon: 60 }));
    const { keyboard } = person.page;
    await runs(person);
    await keyboard.down('ArrowLeft');
    await ticks(person, 5);
    await person.page.evaluate(() => window.dispatchEvent(new Event('blur')));
    await ticks(person, 5);
    await keyboard.up('ArrowLeft');
    assert.equal(await person.page.evaluate(() => scrollX + scrollY), 0);
    await person.goOn();
    await person.shows('end');
    const [[name, count], ...more] = acted(await exported(server.data), 'play');
    assert.deepEqual([name, more], ['move_left', []]);
    assert.ok(count >= 5 && count <= 8, `for ${count} ticks`);
  });

  /** In the page, before its own scripts: a gamepad with the standard mapping, as no machine of a test has one. */
  function plugIn() {
    const buttons = Array.from({ length: 17 }, () => Object.create(GamepadButton.prototype, { pressed: { value: false, writable: true } }));
    const facts = { mapping: 'standard', buttons, axes: [0, 0, 0, 0] };
    window.pad = Object.create(Gamepad.prototype, Object.fromEntries(Object.entries(facts).map(([name, value]) => [name, { value }])));
    navigator.getGamepads = () => [null, window.pad];
  }

  test('a gamepad plays like keys, by its buttons and by its stick', async t => {
    const { server, person } = await enter(t, alone('play', { horizon: 60 }), undefined, plugIn);
    const push = (name, at, value) => person.page.evaluate(([name, at, value]) => {
      if (name === 'axes') window.pad.axes[at] = value;
      else window.pad.buttons[at].pressed = value;
    }, [name, at, value]);
    await runs(person);
    await push('buttons', 14, true);
    await ticks(person, 5);
    await push('buttons', 14, false);
    await push('buttons', 0, true);
    await ticks(person, 5);
    await push('buttons', 0, false);
    await push('axes', 1, 0.9);
    await ticks(person, 5);
    await push('axes', 1, 0.1);
    await person.goOn();
    await person.shows('end');
    const spans = acted(await exported(server.data), 'play');
    assert.deepEqual(spans.map(([name]) => name), ['move_left', 'pick_up_or_drop', 'move_down']);
    assert.equal(spans[1][1], 1, 'a press counts once, however long it is held');
    assert.ok(spans[0][1] >= 4 && spans[2][1] >= 4, JSON.stringify(spans));
  });

  /** In the page: what of the game is not where fingers and eyes reach it; and the sizes of the buttons. */
  function layout() {
    const inside = element => {
      const { left, top, right, bottom } = element.getBoundingClientRect();
      return left >= 0 && top >= 0 && right <= innerWidth + 0.5 && bottom <= innerHeight + 0.5;
    };
    const all = [...document.querySelectorAll('.pad button'), document.querySelector('#stage'), document.querySelector('.hud')];
    const [page, stage] = [document.scrollingElement, document.querySelector('#stage').getBoundingClientRect()];
    const places = [...document.querySelectorAll('.pad button')].map(button => [button.ariaLabel, button.getBoundingClientRect()]);
    return {
      outside: all.filter(element => !inside(element)).map(element => element.ariaLabel ?? element.className),
      scrolls: page.scrollHeight > innerHeight || page.scrollWidth > innerWidth,
      stage: Math.min(stage.width, stage.height),
      buttons: Object.fromEntries(places.map(([name, { x, y, width, height }]) =>
        [name, { x: x + width / 2, y: y + height / 2, size: Math.min(width, height) }])),
    };
  }

  async function fits(person) {
    const found = await person.page.evaluate(layout);
    assert.deepEqual([found.outside, found.scrolls], [[], false]);
    assert.ok(found.stage >= 180, `the picture is ${found.stage} px`);
    const names = ['Move up', 'Move down', 'Move left', 'Move right', 'Pick up or drop'];
    assert.deepEqual(Object.keys(found.buttons), names, 'every action that does something has a button');
    for (const [name, { size }] of Object.entries(found.buttons)) assert.ok(size >= 44, `${name}: ${size} px`);
    return found.buttons;
  }

  test('a phone plays by fingers: hold, slide, two at once, upright and on its side', async t => {
    const { server, person } = await enter(t, alone('play', { horizon: 120 }), PHONE);
    const cdp = await person.context.newCDPSession(person.page);
    const touch = (type, ...touchPoints) => cdp.send('Input.dispatchTouchEvent', { type, touchPoints });
    await runs(person);
    const upright = await fits(person);
    const [left, right] = ['Move left', 'Move right'].map(name => ({ ...upright[name], id: 1 }));
    const pick = { ...upright['Pick up or drop'], id: 2 };
    await touch('touchStart', left);
    await ticks(person, 5);
    await touch('touchMove', right);
    await ticks(person, 4);
    await touch('touchStart', right, pick);
    await ticks(person, 3);
    await touch('touchEnd', right);
    await touch('touchEnd');
    await ticks(person, 2);

    await person.page.setViewportSize({ width: PHONE.viewport.height, height: PHONE.viewport.width });
    const [up] = Object.values(await fits(person));
    for (const name of ['Help', 'Leave the study']) {
      const is_free = await person.page.getByRole('button', { name }).evaluate(button => {
        const { x, y, width, height } = button.getBoundingClientRect();
        return button.contains(document.elementFromPoint(x + width / 2, y + height / 2));
      });
      assert.ok(is_free, `${name} can be touched`);
    }
    const apart = await person.page.evaluate(() => {
      const bar = document.querySelector('.bar').getBoundingClientRect();
      return [...document.querySelectorAll('.hud > *')].every(item => item.getBoundingClientRect().right <= bar.left);
    });
    assert.ok(apart, 'no figure is under the buttons');
    await touch('touchStart', { ...up, id: 1 });
    await ticks(person, 4);
    await touch('touchEnd');
    assert.equal(await person.page.evaluate(() => scrollX + scrollY + visualViewport.scale), 1, 'nothing scrolled or zoomed');
    await person.goOn();
    await person.shows('end');

    const found = acted(await exported(server.data), 'play');
    assert.deepEqual(found.map(([name]) => name), ['move_left', 'move_right', 'pick_up_or_drop', 'move_right', 'move_up']);
    const counts = found.map(([, count]) => count);
    assert.equal(counts[2], 1, 'a press enters one tick, however long it is held');
    for (const at of [0, 1, 4]) assert.ok(counts[at] >= 4, `held: ${counts}`);
  });

  test('figures and the countdown are those of the study, and a reload never shows a score that was not', async t => {
    const hud = [{ label: 'Soups', value: '{{ score / 20 }} of 3' }, { label: 'Left', value: '{{ ceil(left_s) }} s' }];
    // From the first moment on, so that no number passes before the test looks.
    const noteCounts = () => {
      globalThis.counts = [];
      new MutationObserver(() => {
        const count = document.querySelector('.overlay .count')?.textContent;
        if (count && counts.at(-1) !== count) counts.push(count);
      }).observe(document, { subtree: true, childList: true, characterData: true });
    };
    const { person } = await enter(t, alone('play', { horizon: 150, hud, countdown_s: 2 }), undefined, noteCounts);
    await person.shows('play');
    await person.page.waitForFunction(() => JSON.parse(coplay.report()).tick > 0);
    const counts = await person.page.evaluate(() => globalThis.counts);
    assert.deepEqual(counts, ['2', '1']);
    const figures = () => person.page.locator('.figure').allInnerTexts();
    const [soups, left] = await figures();
    assert.match(soups, /^Soups\s*0 of 3$/);
    assert.match(left, /^Left\s*1[45] s$/);
    await ticks(person, 30);
    await person.page.reload();
    await person.shows('play');
    // Whatever stands there until the person plays again is either nothing or true.
    const shown = await person.page.evaluate(() => new Promise(resolve => {
      const seen = new Set();
      const look = () => {
        for (const figure of document.querySelectorAll('.figure .value')) seen.add(figure.textContent);
        if (JSON.parse(coplay.report()).status === 'playing') resolve([...seen]);
        else requestAnimationFrame(look);
      };
      look();
    }));
    assert.ok(shown.length > 0 && !shown.some(value => /^1[345] s$/.test(value)), `${shown}`);
  });

  test('a phone that takes the game back from another tab has its buttons', async t => {
    const { server, person } = await enter(t, alone('play', { horizon: 3000 }), PHONE);
    await runs(person);
    await Participant.open(browser, server.links[0], { name: 'second tab', beside: person });
    await person.says(/now open in another tab or window/);
    await person.page.tap('text=Play here instead');
    await runs(person);
    await fits(person);
  });

  test('without `touch` there are no buttons', async t => {
    const { person } = await enter(t, alone('play', { horizon: 30, touch: false }), PHONE);
    await runs(person);
    assert.equal(await person.page.locator('.pad button').count(), 0);
  });

  test('the whole screen is asked for, its loss is noted, and nobody waits for it', async t => {
    const { server, person } = await enter(t, alone('play', { horizon: 100, fullscreen: true }));
    const ask = person.page.locator('.ask');
    const button = ask.getByRole('button', { name: 'Full screen' });
    const isWhole = () => person.page.evaluate(() => document.fullscreenElement !== null);
    await runs(person);
    assert.ok(await button.isVisible(), 'it is asked for beside the world that runs');
    await button.click();
    await person.page.waitForFunction(() => document.fullscreenElement !== null);
    await ask.waitFor({ state: 'hidden' });
    // The button does not keep the keys.
    await person.page.keyboard.press('Space');
    await ticks(person, 2);
    await person.page.evaluate(() => document.exitFullscreen());
    await person.says(/Not in full screen/);
    await ticks(person, 2);
    assert.equal(await isWhole(), false);
    await button.click();
    await ask.waitFor({ state: 'hidden' });
    await person.goOn();
    await person.shows('end');
    const tables = await exported(server.data);
    const kinds = tables.events.map(({ kind }) => kind).filter(kind => ['fullscreen', 'windowed'].includes(kind));
    assert.deepEqual(kinds, ['windowed', 'fullscreen', 'windowed', 'fullscreen']);
    assert.deepEqual(acted(tables, 'play'), [['pick_up_or_drop', 1]]);
  });
});

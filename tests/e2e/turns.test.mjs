// Games in turns for several people: all choose at the same time, nobody sees a choice before the round is played, and
// who takes too long has the choice that the study says. `cargo xtask test` makes the modules, from
// `examples/environments`.

import assert from 'node:assert/strict';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Participant, ROOT, Server, drawLess, launch, noFirefox, scratch, sideBySide } from './harness.mjs';
import { exported, verified } from './match.mjs';

const MODULES = process.env.COPLAY_TEMPLATES ?? path.join(ROOT, 'target/templates');

const VERSIONS = { matrix_game: '2.0.0', public_goods: '1.0.0' };

const browsers = [];
before(async () => {
  const engines = noFirefox ? ['chromium'] : ['chromium', 'firefox'];
  browsers.push(...await Promise.all(engines.map(engine => launch(engine))));
});
after(() => Promise.all(browsers.map(browser => browser.close())));

/** A server with a game in turns, and its people in it; `more` is what the stage has beside the game. */
async function play(t, game, people, more) {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await mkdir(study);
  const players = ['self', ...Array(people - 1).fill('partner')].join(', ');
  await writeFile(path.join(study, 'study.yaml'), `format: 1
study: {id: turns, version: 1.0.0, title: Choices, contact: lab@example.edu}
timeline:
  - {id: lobby, type: lobby, group_size: ${people}, timeout_s: 60, on_timeout: wait}
  - {id: play, type: env, env: ${game}@${VERSIONS[game]}, module: ${game}.wasm, players: [${players}], mode: turns, ${more}}
  - {id: thanks, type: end, file: thanks.md}
`);
  await writeFile(path.join(study, 'thanks.md'), '# Thanks\n');
  await copyFile(path.join(MODULES, `${game}.wasm`), path.join(study, `${game}.wasm`));
  const server = await Server.start({ study, data: `${folder}/data`, args: ['--links', String(people)] });
  t.after(() => server.kill());
  const all = await Promise.all(server.links.map((link, at) =>
    Participant.open(browsers[at % browsers.length], link, { name: `page ${at}`, before: drawLess })));
  t.after(() => Promise.all(all.map(person => person.context.close())));
  await round(all, 0);
  return { server, people: all };
}

/** Waits until all are asked for the choice of a round. */
const round = (people, number) => Promise.all(people.map(async person => {
  await person.knows(({ status, tick }) => status === 'playing' && tick === number);
  await person.says(/your turn/i);
}));

/** All read the outcome and come to the end; the tables, and nothing wrong in them. */
async function finish({ server, people }, names) {
  await Promise.all(people.map(async person => {
    await person.goOn();
    await person.shows('end');
    assert.deepEqual(person.errors, [], 'nothing failed in the page');
  }));
  const { code, episodes } = await verified(server.data);
  assert.equal(code, 0, 'coplay verify finds nothing wrong');
  assert.equal(episodes.length, 1);
  return exported(server.data, names);
}

sideBySide(2, () => {
  test('two people choose at the same time, and see what both chose once they have', async t => {
    const game = await play(t, 'matrix_game', 2, 'config: {rounds: 3}, '
      + 'hud: [{label: Yours, value: "scores[seat]"}, {label: Both, value: "{{ sum(rewards) }} points"}]');
    const bySeat = [];
    for (const person of game.people) bySeat[(await person.report()).seat] = person;
    const [first, second] = bySeat;
    const choices = [['Digit1', 'Digit2'], ['Digit2', 'Digit2'], ['Digit1', 'Digit1']];
    for (const [number, [one, other]] of choices.entries()) {
      await round(game.people, number);
      await first.page.keyboard.press(one);
      await first.says(/waiting for the others/i);
      // A person who has chosen does not choose again.
      await first.page.keyboard.press('Digit2');
      assert.deepEqual([(await first.report()).tick, (await second.report()).tick], [number, number], 'nothing has happened');
      await second.says(/your turn/i);
      await second.page.keyboard.press(other);
    }
    assert.match(await first.page.locator('.hud').innerText(), /Yours\s+4[^]*Both\s+13 points/);
    assert.match(await second.page.locator('.hud').innerText(), /Yours\s+9[^]*Both\s+13 points/);
    const { steps, step_events: events, seats } = await finish(game, ['steps', 'step_events', 'seats']);
    const chosen = seat => steps.filter(row => row.seat === seat).map(row => row.action_name);
    assert.deepEqual([chosen('0'), chosen('1')], [['cooperate', 'defect', 'cooperate'], ['defect', 'defect', 'cooperate']]);
    assert.deepEqual(seats.map(({ score, seat_score }) => [score, seat_score]), [['13', '4'], ['13', '9']]);
    assert.deepEqual(events.map(({ kind, seat, to_seat, value }) => [kind, seat, to_seat, Number(value)]).slice(0, 2),
      [['chose', '0', '1', 1], ['chose', '1', '0', 2]]);
  });

  for (const way of ['page', 'host']) {
    test(`two people give to both, in a module whose world runs on a ${way}`, async t => {
      const game = await play(t, 'public_goods', 2,
        `run: ${way}, config: {seats: 2, rounds: 2}, hud: [{label: Mine, value: "rewards[seat]"}]`);
      const shown = [];
      for (const number of [0, 1]) {
        await round(game.people, number);
        for (const person of game.people) {
          const [, mine] = /Mine\s+([\d.]+)/.exec(await person.page.locator('.hud').innerText());
          shown[(await person.report()).seat] = Number(mine);
        }
        await Promise.all(game.people.map((person, at) => person.page.keyboard.press(`Digit${at + 2}`)));
      }
      const { steps, episodes } = await finish(game, ['steps', 'episodes']);
      assert.deepEqual(steps.map(row => row.action_name).sort(), ['give_2', 'give_2', 'give_3', 'give_3']);
      assert.deepEqual(episodes.map(row => row.way), [way]);
      const earned = [0, 1].map(seat => steps.find(row => row.tick === '0' && row.seat === String(seat)).reward);
      assert.deepEqual(shown, earned.map(Number), 'the rewards so far stand beside the picture');
    });
  }

  test('four people play a matrix game, each against each other one, up to an end by rewards', async t => {
    const game = await play(t, 'matrix_game', 4, 'config: {seats: 4, rounds: 5}, until: max(rewards) >= 20');
    const bySeat = [];
    for (const person of game.people) bySeat[(await person.report()).seat] = person;
    for (const [number, keys] of [['Digit1', 'Digit1', 'Digit1', 'Digit2'], Array(4).fill('Digit1')].entries()) {
      await round(game.people, number);
      await Promise.all(bySeat.map((person, seat) => person.page.keyboard.press(keys[seat])));
    }
    const { steps, seats, episodes } = await finish(game, ['steps', 'seats', 'episodes']);
    const rewards = tick => steps.filter(row => row.tick === String(tick)).map(row => [row.seat, Number(row.reward)]).sort();
    assert.deepEqual(rewards(0), [['0', 6], ['1', 6], ['2', 6], ['3', 15]], 'who defects earns 5 from each of the others');
    assert.deepEqual(rewards(1), [['0', 9], ['1', 9], ['2', 9], ['3', 9]]);
    assert.deepEqual(seats.map(row => [row.seat, row.seat_score]).sort(), [['0', '15'], ['1', '15'], ['2', '15'], ['3', '24']]);
    assert.deepEqual(episodes.map(row => [row.ended_on, row.ticks]), [['played', '2']]);
  });

  test('four people give to all, and who takes too long gives what the study says', async t => {
    const game = await play(t, 'public_goods', 4, 'config: {rounds: 2}, turn_limit_s: 5, turn_default: give_3');
    const [slow, ...others] = game.people;
    const { seat } = await slow.report();
    for (const number of [0, 1]) {
      await round(others, number);
      await Promise.all(others.map(person => person.page.keyboard.press('Digit5')));
      await slow.says(/your turn.*\d/is);
    }
    const { steps, keys } = await finish(game, ['steps', 'keys']);
    for (const { seat: of } of steps) {
      const wanted = Number(of) === seat ? 'give_3' : 'give_5';
      const given = steps.filter(row => row.seat === of).map(row => row.action_name);
      assert.deepEqual(given, [wanted, wanted], `seat ${of}`);
    }
    assert.deepEqual(keys.filter(row => Number(row.seat) === seat), [], 'no key was pressed for that');
  });
});

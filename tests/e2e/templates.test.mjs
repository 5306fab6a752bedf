// What `coplay new` writes: each template is served as it is, but for shorter rounds, and played to its end.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { coplay, drawLess, launch, scratch, sideBySide } from './harness.mjs';
import { enter, serve, tables, takePart, values } from './visits.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** A server of a study from a template, with some words changed. */
async function begun(t, template, changes = []) {
  const study = `${await scratch(t)}/${template}`;
  const { code, stderr } = await coplay('new', template, study);
  assert.equal(code, 0, stderr);
  return serve(t, study, changes);
}

sideBySide(3, () => {
  test('the template `survey`', async t => {
    const server = await begun(t, 'survey');
    const person = await enter(t, browser, server.links[0]);
    assert.deepEqual(await takePart(person), ['consent', 'questions', 'thanks']);
    assert.deepEqual(person.errors, []);
    const { sessions, responses } = await tables(server, ['sessions', 'responses']);
    assert.deepEqual(sessions.map(({ outcome }) => outcome), ['completed']);
    assert.deepEqual(responses.map(({ item }) => item), ['agreed', 'often', 'which']);
  });

  test('the template `overcooked`', async t => {
    const server = await begun(t, 'overcooked', [['horizon: 600', 'horizon: 20']]);
    const pair = await Promise.all([0, 1].map(at => enter(t, browser, server.links[at], { name: `person ${at}`, before: drawLess })));
    const ways = await Promise.all(pair.map(person => takePart(person, { right: ['3', 'ours'] })));
    for (const way of ways) {
      assert.deepEqual(way.filter(id => id !== 'lobby'), ['consent', 'how', 'quiz', 'play', 'after', 'debrief', 'thanks']);
    }
    for (const person of pair) assert.deepEqual(person.errors, []);
    const { sessions, episodes } = await tables(server);
    assert.deepEqual(values(sessions, 'outcome'), ['completed']);
    assert.deepEqual(episodes.map(({ stage_id, ended_on, ticks }) => [stage_id, ended_on, ticks]), [['play', 'played', '20']]);
  });

  /** Ways to the goal: of the practice whichever start was drawn, and one for both rooms. */
  const WAYS = { practice: 'UUUULLLLRRRR', rounds: 'DDRRRRUURRDD' };
  const ARROWS = { L: 'ArrowLeft', R: 'ArrowRight', U: 'ArrowUp', D: 'ArrowDown' };

  test('the template `solo`', async t => {
    const server = await begun(t, 'solo', [[/^( *)players: \[self\]$/gm, '$1players: [self]\n$1countdown_s: 0']]);
    const person = await enter(t, browser, server.links[0]);
    const play = async stage => {
      await person.shows(['outcome', 'play']);
      const begun = await person.report();
      const isOver = report => report.status === 'over' || report.era !== begun.era;
      if (begun.status === 'over') return person.knows(report => report.status !== 'over' || report.stage_id !== stage);
      await person.knows(({ status, tick }) => status === 'playing' && tick > 0);
      for (let at = 0; ; at += 1) {
        const report = await person.report();
        if (report.ended !== null || isOver(report)) break;
        await person.page.keyboard.press(ARROWS[WAYS[stage][at % WAYS[stage].length]]);
        await person.knows(({ tick, ...later }) => tick > report.tick || later.ended !== null || isOver(later));
      }
      await person.knows(isOver);
    };
    const way = await takePart(person, { play });
    const room = ['rounds', 'effort'];
    assert.deepEqual(way, ['consent', 'how', 'practice', ...room, ...room, 'strategy', 'thanks']);
    assert.deepEqual(person.errors, []);
    const { sessions, seats } = await tables(server, ['sessions', 'seats']);
    assert.deepEqual(sessions.map(({ outcome }) => outcome), ['completed']);
    assert.deepEqual(JSON.parse(sessions[0].order_room).sort(), ['open', 'walled']);
    assert.deepEqual(seats.map(({ success }) => success), Array(7).fill('true'));
  });
});

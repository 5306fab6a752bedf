// The example studies, each from its first page to its last in real browsers, with shorter episodes.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { drawLess, launch, sideBySide } from './harness.mjs';
import { enter, farewell, serve, tables, takePart, values } from './visits.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** The levels of the worked study, and the two ways in which the rows of a Williams design of five go from one to the next. */
const KITCHENS = ['cramped_room', 'asymmetric_advantages', 'coordination_ring', 'forced_coordination', 'counter_circuit'];
const WILLIAMS = [[1, 3, 3, 1], [4, 2, 2, 4]];
const steps = order => order.slice(1).map((level, at) => (KITCHENS.indexOf(level) - KITCHENS.indexOf(order[at]) + 5) % 5);

/** What an amount in pence is in the tables. */
const pounds = pence => (pence / 100).toFixed(2);

sideBySide(3, () => {
  test('two people sent by Prolific cook in five kitchens: the worked study', async t => {
    const server = await serve(t, 'overcooked-coord', [
      ['horizon: 600', 'horizon: 20'], ['horizon: 1800', 'horizon: 20'],
      // A machine that is busy with tests answers late.
      ['max_p2p_rtt_ms: 120', 'max_p2p_rtt_ms: 5000'],
    ]);
    const pid = name => Buffer.from(name).toString('hex').padStart(24, '0');
    const links = ['one', 'two'].map(name => `${server.url}?PROLIFIC_PID=${pid(name)}&STUDY_ID=${pid('study')}&SESSION_ID=${pid(`visit ${name}`)}`);
    const pair = await Promise.all(links.map((link, at) => enter(t, browser, link, { name: `person ${at}`, before: drawLess })));
    for (const person of pair) await person.context.route('https://app.prolific.com/**', route => route.fulfill({ body: 'Prolific' }));
    const right = ['3', 'ours', 'Often', 'Onion soup'];
    const shown = await Promise.all(pair.map(async person => ({ stages: await takePart(person, { right }), ...await farewell(person) })));
    const rounds = KITCHENS.flatMap(() => ['play', 'trust']);
    for (const { stages } of shown) {
      assert.deepEqual(stages.filter(id => id !== 'lobby'), ['consent', 'how', 'quiz', 'tutorial', ...rounds, 'post', 'debrief', stages.at(-1)]);
    }
    for (const person of pair) assert.deepEqual(person.errors, []);

    const { sessions, episodes, responses, groups, payments } = await tables(server);
    assert.deepEqual(values(sessions, 'outcome'), ['completed']);
    const [order, ...others] = values(sessions, 'order_layout');
    assert.deepEqual(others, [], 'one order for both');
    assert.ok(WILLIAMS.some(row => String(row) === String(steps(JSON.parse(order)))), `a row of the design: ${order}`);

    const played = episodes.filter(({ stage_id }) => stage_id === 'play').sort((one, other) => Number(one.started_unix_us) - Number(other.started_unix_us));
    assert.deepEqual(played.map(({ level_layout }) => level_layout), JSON.parse(order), 'five episodes in that order');
    assert.deepEqual(values(played, 'ended_on'), ['played']);
    assert.equal(values(played, 'group_id').length, 1, 'the same two people throughout');
    assert.deepEqual(groups.filter(({ stage_id }) => stage_id === 'lobby').map(row => [row.planned, row.has_ai]), [['person', 'false'], ['person', 'false']]);

    const trust = responses.filter(({ stage_id }) => stage_id === 'trust');
    assert.deepEqual([trust.length, values(trust, 'visit').length], [10, 5], 'both rated every round');
    const checks = responses.filter(({ item }) => item.startsWith('imc'));
    assert.deepEqual([checks.length, ...values(checks, 'correct'), ...values(checks, 'flag')], [4, 'true', '']);

    const score = played.reduce((sum, episode) => sum + Number(episode.score), 0);
    const bonus = Math.min(Math.round(2 * score), 500);
    for (const { base, bonus: more, total, currency } of sessions) {
      assert.deepEqual([currency, base, more, total], ['GBP', '4.50', pounds(bonus), pounds(450 + bonus)]);
    }
    assert.deepEqual(payments.map(({ code }) => code).sort(), shown.map(({ code }) => code).sort(), 'the codes that were shown');
    for (const { receipt } of payments) assert.ok(shown.some(({ words }) => words.includes(receipt)), `${receipt} was shown`);
    for (const { words } of shown) assert.ok(words.includes(`£${pounds(450 + bonus)}`), words);
  });

  test('short rounds for two people, and a questionnaire', async t => {
    const server = await serve(t, 'overcooked-pairs', [
      ['episodes: 20', 'episodes: 8'], ['horizon: 300', 'horizon: 10'], ['countdown_s: 3', 'countdown_s: 0'], ['min_s: 1', 'min_s: 0'],
    ]);
    const pair = await Promise.all([0, 1].map(at => enter(t, browser, server.links[at], { name: `person ${at}`, before: drawLess })));
    const ways = await Promise.all(pair.map(person => takePart(person)));
    for (const way of ways) assert.deepEqual(way.filter(id => id !== 'room'), ['consent', 'how', 'rounds', 'after', 'thanks']);
    for (const person of pair) assert.deepEqual(person.errors, []);
    const { sessions, episodes, responses } = await tables(server);
    assert.deepEqual(sessions.map(({ outcome }) => outcome), ['completed', 'completed']);
    assert.deepEqual([values(episodes, 'episode_id').length, ...values(episodes, 'ended_on')], [8, 'played']);
    assert.equal(values(episodes, 'group_id').length, 1);
    assert.equal(values(responses.filter(({ stage_id }) => stage_id === 'after'), 'session_id').length, 2);
  });

  const KEYS = { L: 'ArrowLeft', R: 'ArrowRight', U: 'ArrowUp', D: 'ArrowDown', X: 'Space' };

  test('two people play worlds that are files, and one keeps coins that the other would share', async t => {
    const brief = ['cramped_room', 'goal_finding', 'treasure_hunt'].map(world =>
      [`env: {grid: ${world}.yaml}`, `env: {grid: ${world}.yaml}\n    countdown_s: 0\n    config: {horizon: 10}`]);
    const server = await serve(t, 'grid-worlds', [
      ...brief,
      ['env: {grid: public_goods_walk.yaml}', `env: {grid: public_goods_walk.yaml}
    capture: press
    config: {layout: ["##M##", "A+ +B", "##P##"], horizon: 90, tick_hz: 10}`],
    ]);
    const pair = await Promise.all([0, 1].map(at => enter(t, browser, server.links[at], { name: `person ${at}`, before: drawLess })));
    // By their places in the group: seat 0 keeps a coin, then seat 1 shares one.
    const ways = ['RUXLLX', 'LUXDX'];
    let kept;
    const isKept = new Promise(resolve => { kept = resolve; });
    const walk = person => async stage => {
      const over = report => report.stage_id !== stage || report.verdict !== null;
      if (stage === 'coins') {
        await person.knows(({ status, tick }) => status === 'playing' && tick > 0);
        const { seat } = await person.report();
        if (seat === 1) await isKept;
        for (const step of ways[seat]) {
          const { tick } = await person.report();
          await person.page.keyboard.press(KEYS[step]);
          await person.knows(report => report.tick > tick + 1);
        }
        kept();
      }
      await person.knows(over);
    };
    const seen = await Promise.all(pair.map(person => takePart(person, { play: walk(person) })));
    const all = ['how', 'kitchen', 'how_maze', 'maze', 'how_hunt', 'hunt', 'how_coins', 'coins', 'thanks'];
    for (const way of seen) assert.deepEqual(way.filter(id => id !== 'lobby'), all);
    for (const person of pair) assert.deepEqual(person.errors, []);
    const { sessions, rewards } = await tables(server, ['sessions', 'rewards']);
    assert.deepEqual(sessions.map(({ outcome }) => outcome), ['completed', 'completed']);
    const coins = rewards.filter(({ stage_id }) => stage_id === 'coins');
    const sum = (name, seat) => coins.filter(row => row.component === name && row.seat === String(seat))
      .reduce((all, { amount }) => all + Number(amount), 0);
    assert.deepEqual([sum('keep', 0), sum('keep', 1), sum('share', 0), sum('share', 1)], [3, 0, 2, 2]);
    assert.deepEqual(sessions.map(({ bonus }) => bonus).sort(), ['0.02', '0.05'], 'a cent for each point of one\'s own');
  });

  /** The shortest ways through the mazes. */
  const WAYS = { west: 'LLULLLUUU', east: 'RRURRRUUU' };

  test('one person learns two mazes to criterion, step by step, and is tested', async t => {
    const server = await serve(t, 'mazes');
    const person = await enter(t, browser, server.links[0]);
    const walk = async stage => {
      // Between two episodes the picture of the one before is still there.
      const { era, status } = await person.report();
      if (status === 'over') return person.knows(report => report.era !== era || report.stage_id !== stage);
      await person.knows(({ status, tick }) => status === 'playing' && tick === 0);
      for (const [at, step] of [...WAYS[stage.split('_')[1]]].entries()) {
        // Nobody answers what they have not seen.
        await person.page.evaluate(() => new Promise(seen => requestAnimationFrame(() => requestAnimationFrame(seen))));
        await person.page.keyboard.press(KEYS[step]);
        await person.knows(({ tick }) => tick === at + 1);
      }
      await person.knows(({ verdict }) => verdict !== null);
    };
    const seen = await takePart(person, { play: walk });
    const maze = id => [`learn_${id}`, `train_${id}`, `test_${id}_soon`, `test_${id}`];
    const orders = [['west', 'east'], ['east', 'west']].map(order => ['consent', 'about', ...order.flatMap(maze), 'after', 'thanks']);
    assert.ok(orders.some(order => String(order) === String(seen)), `a maze after the other: ${seen}`);
    assert.deepEqual(person.errors, []);

    const { sessions, seats, keys, responses } = await tables(server, ['sessions', 'seats', 'keys', 'responses']);
    assert.deepEqual(sessions.map(({ outcome }) => outcome), ['completed']);
    for (const id of ['west', 'east']) {
      for (const [stage, count] of [[`train_${id}`, 3], [`test_${id}`, 1]]) {
        const own = seats.filter(({ stage_id }) => stage_id === stage);
        assert.deepEqual(own.map(({ mode, ticks, success }) => [mode, ticks, success]), Array(count).fill(['turns', '9', 'true']), stage);
      }
    }
    const turns = keys.filter(({ down, tick }) => down === 'true' && tick !== '');
    assert.equal(turns.length, 2 * 4 * 9, 'every step is a key');
    for (const { at_unix_us, frame_unix_us, stage_id, tick } of turns) {
      assert.ok(frame_unix_us !== '' && Number(at_unix_us) >= Number(frame_unix_us), `a response time in ${stage_id}, turn ${tick}`);
    }
    assert.deepEqual(responses.map(({ item }) => item).sort(), ['agreed', 'age', 'games', 'sure'].sort());
  });
});

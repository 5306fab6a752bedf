// A kitchen of sixteen seats: people, AI partners and vacant seats. `COPLAY_NET_LONG=1` brings as many pages as the
// cores carry, at most eight: each of them draws, and speaks to each of the others. Six keep two cores busy.

import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { after, before, test } from 'node:test';
import { drawLess, launch } from './harness.mjs';
import { exported } from './match.mjs';
import { agreed, enter, finish, serve } from './rounds.mjs';

const SEATS = 16;
const STUDY = { horizon: 100, tick_hz: 10, timeout_s: 120 };

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** AI partners and vacant seats in turn. */
const others = players => Array.from({ length: SEATS - players }, (_, at) => (at % 2 ? 'vacant' : '{policy: cook}'));

const MANY = Math.min(8, 3 * availableParallelism());

for (const players of process.env.COPLAY_NET_LONG ? [3, MANY] : [3]) {
  test(`${players} people among ${SEATS} seats`, async t => {
    const server = await serve(t, STUDY, { players, others: others(players) });
    const people = await enter(t, server, Array(players).fill(browser), { before: drawLess });
    const reports = await finish(people);
    await agreed(t, server, reports, STUDY.horizon);
    assert.deepEqual(reports.map(({ seat }) => seat).sort((one, other) => one - other), [...Array(players).keys()]);
    const { steps } = await exported(server.data);
    const wanted = [...Array(players).fill('human'), ...others(players).map((_, at) => (at % 2 ? 'vacant' : 'cook'))];
    assert.deepEqual(steps.map(({ controller }) => controller), Array(STUDY.horizon).fill(wanted).flat());
    const busy = new Set(steps.filter(step => step.action_name !== 'noop').map(({ controller }) => controller));
    assert.deepEqual(busy, new Set(wanted.filter(each => each !== 'vacant')), 'whoever has a seat plays');
  });
}

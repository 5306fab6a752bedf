// One match among any browsers, and what has to hold after it whatever went wrong on the way.

import assert from 'node:assert/strict';
import { Participant, Server, scratch, studyWith } from './harness.mjs';
import { verified } from './match.mjs';

/** A server with a study of its own: `changes` are those of `studyWith`. */
export async function serve(t, changes, { players = 2, ...where } = {}) {
  const folder = await scratch(t);
  const people = players === 2 ? {} : {
    group_size: players,
    players: `[self${', partner'.repeat(players - 1)}]`,
    layout: 'open_kitchen',
    horizon: `${changes.horizon}\n      seats: ${players}`,
  };
  const study = await studyWith({ ...changes, ...people }, folder);
  const data = `${folder}/data`;
  const server = await Server.start({ study, data, args: ['--links', String(players)], ...where });
  t.after(() => server.kill());
  return Object.assign(server, { study });
}

/** A participant in each browser, all of them past the instructions. */
export async function enter(t, server, browsers, { before } = {}) {
  const people = await Promise.all(browsers.map((browser, at) =>
    Participant.open(browser, server.links[at], { name: `${browser.engine} ${at}`, before })));
  t.after(() => Promise.all(people.map(person => person.context.close().catch(() => {}))));
  await Promise.all(people.map(person => person.read()));
  return people;
}

/**
 * Plays on to the end of the match, and gives everyone's report of it, with the share of turns in which inputs
 * travelled from page to page: `direct`, 0 to 1. Who ends first closes that way, so the last report does not tell.
 */
export const finish = people => Promise.all(people.map(async person => {
  let [turns, direct] = [0, 0];
  await person.play(({ report }) => {
    turns += 1;
    direct += report.link === 'direct';
    return false;
  });
  await person.goOn();
  await person.shows(['survey', 'end']);
  return { ...await person.report(), direct: direct / turns };
}));

/** The one state that all of them and the stored log end in, and nothing that verification objects to. */
export async function agreed(t, server, reports, ticks) {
  await server.stop();
  const { code, episodes } = await verified(server.data);
  const found = JSON.stringify({ episodes, reports }, null, 1);
  assert.equal(code, 0, `coplay verify finds nothing wrong: ${found}`);
  assert.equal(episodes.length, 1, found);
  const [episode] = episodes;
  for (const report of reports) assert.equal(report.digest, episode.digest, `${report.seat} differs: ${found}`);
  if (ticks !== undefined) assert.equal(episode.ticks, ticks, found);
  const told = ['direct', 'rtt_ms', 'rollbacks', 'max_rollback_depth', 'held_ms', 'delay_ms', 'returns'];
  for (const report of reports) {
    t.diagnostic(`seat ${report.seat}: ${told.map(key => `${key} ${JSON.stringify(report[key])}`).join(', ')}`);
  }
  return episode;
}

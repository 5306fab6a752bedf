// One match among any browsers, and what has to hold after it whatever went wrong on the way.

import assert from 'node:assert/strict';
import { Participant, Server, drawLess, reachable, scratch, studyWith } from './harness.mjs';
import { verified } from './match.mjs';

/**
 * A server with a study of its own: `changes` are those of `studyWith`. The seats are those of so many people, and
 * then of `others`, such as `vacant`.
 */
export async function serve(t, changes, { players = 2, others = [], ...where } = {}) {
  const folder = await scratch(t);
  const seats = players + others.length;
  const people = seats === 2 ? {} : {
    group_size: players,
    players: `[${['self', ...Array(players - 1).fill('partner'), ...others].join(', ')}]`,
    layout: seats > 4 ? 'banquet' : 'open_kitchen',
    horizon: `${changes.horizon}\n      seats: ${seats}`,
  };
  const study = await studyWith({ ...changes, ...people }, folder);
  const data = `${folder}/data`;
  const server = await Server.start({ study, data, args: ['--links', String(players)], ...where });
  t.after(() => server.kill());
  return Object.assign(server, { study });
}

/** A participant in each browser, all of them past the instructions. */
export async function enter(t, server, browsers, { before = [] } = {}) {
  const people = await Promise.all(browsers.map((browser, at) =>
    Participant.open(browser, server.links[at], { name: `${browser.engine} ${at}`, before: [drawLess, reachable, before].flat() })));
  t.after(() => Promise.all(people.map(person => person.context.close().catch(() => {}))));
  await Promise.all(people.map(person => person.read()));
  return people;
}

/**
 * Plays on to the end of the match, and gives everyone's report of it, with the share of turns in which inputs
 * travelled from page to page: `direct`, 0 to 1.
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

/** In the page: by what ways its inputs go to the other people now. */
async function ways() {
  const { links } = JSON.parse(window.coplay.report());
  const found = new Set(links?.includes('relay') ? ['WebSocket'] : []);
  const connected = links?.includes('direct') ? window.connections.filter(each => each.connectionState === 'connected') : [];
  for (const connection of connected) {
    const stats = await connection.getStats();
    const chosen = [...stats.values()].find(({ type }) => type === 'transport')?.selectedCandidatePairId;
    // Firefox has no `transport`, and says it in the pair.
    const pair = stats.get(chosen) ?? [...stats.values()].find(({ type, selected }) => type === 'candidate-pair' && selected);
    const ends = [pair?.localCandidateId, pair?.remoteCandidateId].map(id => stats.get(id));
    const relayed = ends.filter(end => end?.candidateType === 'relay').map(end => end.relayProtocol ?? 'unknown');
    found.add(relayed.length > 0 ? `TURN over ${relayed[0].toUpperCase()}` : 'direct');
  }
  return [...found].sort();
}

const fits = (found, wanted) => wanted instanceof RegExp
  ? found.length > 0 && found.every(way => wanted.test(way))
  : String(found) === String(wanted);

/** Ways through the server's TURN; which of them wins is up to the browser. */
export const TURN = /^TURN over (UDP|TCP)$/;

/** Waits until all inputs of everybody go by these ways, and no others: a list, or a pattern that each of them fits. */
export const goBy = (people, wanted) => Promise.all(people.map(async person => {
  for (;;) {
    const [found, { tick, ended }] = [await person.page.evaluate(ways), await person.report()];
    if (fits(found, wanted)) return;
    assert.equal(ended ?? null, null, `${person.name} plays by ${wanted} before the match is over, and not by ${found}`);
    await person.knows(report => report.tick !== tick || report.ended !== null);
  }
}));

/** In the page: notes from now on when its match stands still, and when the page itself is not run, as epoch milliseconds. */
function watch() {
  const now = () => performance.timeOrigin + performance.now();
  window.watched = { stills: [], pauses: [] };
  let [last, since, before] = [-1, now(), now()];
  const look = () => {
    const [{ tick, ended }, at] = [JSON.parse(window.coplay.report()), now()];
    if (at - before > 100) window.watched.pauses.push([before, at]);
    if (tick !== last || !(tick > 0) || ended !== null) {
      if (at - since > 100) window.watched.stills.push([since, at]);
      [last, since] = [tick, at];
    }
    before = at;
    requestAnimationFrame(look);
  };
  look();
}

/**
 * Plays on to the end of a match that goes on without those who are gone: gives everyone's report. It does not stand
 * still for half of the time that they have to come back, seconds. How long it does stand still is said; simulated
 * matches hold it to milliseconds, which a busy machine does not keep.
 */
export async function survive(t, people, grace_s = 10) {
  await Promise.all(people.map(person => person.page.evaluate(watch)));
  const reports = await finish(people);
  const stills = await longestStills(people);
  t.diagnostic(`longest standstill of each: ${JSON.stringify(stills)}`);
  for (const { awake } of stills) assert.ok(awake < grace_s * 500, `nobody waits for who is gone: ${JSON.stringify(stills)}`);
  return reports;
}

/**
 * For how long the match stood still for each of these people at most, milliseconds, and what is left of that
 * without the times in which the machine did not run one of their pages.
 */
async function longestStills(people) {
  const watched = await Promise.all(people.map(person => person.page.evaluate(() => window.watched)));
  const pauses = watched.flatMap(each => each.pauses).sort(([one], [other]) => one - other);
  const awake = ([from, until]) => {
    let [sum, at] = [0, from];
    for (const [begin, end] of [...pauses, [until, until]]) {
      sum += Math.max(0, Math.min(begin, until) - at);
      at = Math.max(at, end);
    }
    return sum;
  };
  return watched.map(({ stills }) => ({
    whole: Math.round(Math.max(0, ...stills.map(([from, until]) => until - from))),
    awake: Math.round(Math.max(0, ...stills.map(awake))),
  }));
}

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

// Two people play Hanabi in their browsers, twice, with the same moves. The two games differ in the hand of seat 0 alone, so
// nothing that the page of seat 0 is sent or shows may differ; what the page of seat 1 shows does.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Participant, Server, drawLess, launch, scratch } from './harness.mjs';
import { verified } from './match.mjs';

/** A hand, those of the other seat, and cards that stay in the deck: no card of one is in another. */
const HANDS = [['R1', 'R2', 'R3', 'R4', 'R5'], ['B1', 'B2', 'B3', 'B4', 'B5']];
const OTHER = ['Y1', 'G1', 'Y2', 'G2', 'W1'];

/** Moves by seat, in turns; none tells seat 0 anything about its hand. */
const MOVES = [
  ['hint 1 yellow', 'KeyX'], ['play 1', 'KeyQ'], ['hint 1 rank 1', 'Digit1'], ['discard 2', 'KeyS'], ['hint 1 green', 'KeyC'],
  ['play 1', 'KeyQ'],
];

/** The begin of a message with a `HostView`: the version of the protocol, and its number. */
const VIEW = Buffer.from([6, 26]);

/** The begin of the picture in it: its width and height, as floats. */
const SIZE = Buffer.from(new Float32Array([8, 10.5]).buffer);

/** The cards of the whole deck in an order that begins with two hands and ends with another one. */
function deck(first, last) {
  const left = [...'RYGWB'].flatMap(color => [3, 2, 2, 2, 1].flatMap((copies, rank) => Array(copies).fill(`${color}${rank + 1}`)));
  for (const card of [...first, ...OTHER, ...last]) left.splice(left.indexOf(card), 1);
  return [...first, ...OTHER, ...left, ...last];
}

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

/** Plays the moves, and gives what each seat's page was sent and showed. */
async function play(t, cards) {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await mkdir(study);
  await writeFile(path.join(study, 'thanks.md'), '# Thanks\n');
  await writeFile(path.join(study, 'study.yaml'), `format: 1
study: {id: fireworks, version: 1.0.0, title: Fireworks, contact: lab@example.edu}
timeline:
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 60, on_timeout: wait}
  - id: play
    type: env
    env: hanabi@1.0.0
    run: host
    mode: turns
    config: {seats: 2, horizon: ${MOVES.length}, deck: [${cards}]}
    players: [self, partner]
  - {id: thanks, type: end, file: thanks.md}
`);
  const server = await Server.start({ study, data: `${folder}/data`, args: ['--links', '2'] });
  t.after(() => server.kill());
  const people = await Promise.all(server.links.map(async link => {
    const [sent, bodies] = [[], []];
    const person = await Participant.open(browser, link, {
      before: drawLess,
      listen: page => {
        page.on('websocket', socket => socket.on('framereceived', ({ payload }) => sent.push(Buffer.from(payload))));
        page.on('response', response => bodies.push(response.body().catch(() => Buffer.alloc(0))));
      },
    });
    t.after(() => person.context.close());
    return Object.assign(person, { sent, bodies, shown: [] });
  }));
  const bySeat = [];
  for (const person of people) {
    await person.knows(({ status, views }) => status === 'playing' && views > 0);
    bySeat[(await person.report()).seat] = person;
  }
  for (const [tick, [, key]] of MOVES.entries()) {
    await Promise.all(bySeat.map(async person => {
      await person.knows(report => report.tick === tick);
      person.shown.push(await person.page.evaluate(settled));
    }));
    await bySeat[tick % 2].page.keyboard.press(key);
  }
  await Promise.all(people.map(async person => {
    await person.goOn();
    await person.shows('end');
    assert.deepEqual(person.errors, [], 'nothing failed in the page');
  }));
  const { code, episodes } = await verified(server.data);
  assert.equal(code, 0, 'coplay verify finds nothing wrong');
  assert.deepEqual([episodes[0].verdict, episodes[0].ticks], ['equal', MOVES.length]);
  return { server, bySeat };
}

/** In the page: the picture, once nothing on it has moved for a while. */
const settled = () => new Promise(resolve => {
  let [picture, since] = ['', 0];
  const look = now => {
    const shown = document.querySelector('#stage').toDataURL();
    if (shown !== picture) [picture, since] = [shown, now];
    if (now - since > 400) resolve(picture);
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
});

/**
 * The different pictures, with their words, that a page was sent, in their order. What stands before them in a view, such as
 * its number, depends on the time; `archive` compares it without a network.
 */
function picturesOf({ sent }) {
  const views = sent.filter(bytes => bytes.subarray(0, 2).equals(VIEW) && bytes.includes(SIZE));
  return [...new Set(views.map(bytes => bytes.subarray(bytes.indexOf(SIZE)).toString('latin1')))];
}

test('nothing that a page of Hanabi is sent or shows depends on the hand of its own person', async t => {
  const [one, other] = [await play(t, deck(...HANDS)), await play(t, deck(...HANDS.toReversed()))];
  const [mine, changed] = [one.bySeat[0], other.bySeat[0]];
  assert.ok(picturesOf(mine).length > MOVES.length, 'the page was sent what it shows');
  assert.ok(picturesOf(mine).join() === picturesOf(changed).join(), 'every byte of every picture and its words is the same');
  assert.equal(mine.shown.length, MOVES.length);
  mine.shown.forEach((picture, tick) => assert.ok(picture === changed.shown[tick], `the picture after ${tick} moves`));
  // The partner sees the hand, so a difference would be found.
  const [partner, elsewhere] = [one.bySeat[1], other.bySeat[1]];
  assert.ok(picturesOf(partner).join() !== picturesOf(elsewhere).join());
  assert.ok(picturesOf(partner)[0].includes('1: red 1') && picturesOf(elsewhere)[0].includes('1: blue 1'));
  assert.ok(partner.shown[0] !== elsewhere.shown[0]);
  // The order of the cards stands in the study file, and its text reaches no page, in a message or in a file.
  const order = new RegExp(OTHER.join('[^A-Z0-9]{1,6}'));
  for (const person of [...one.bySeat, ...other.bySeat]) {
    const bodies = await Promise.all(person.bodies);
    assert.ok(bodies.some(body => body.includes('<!doctype html>')), 'the files of the page were read');
    const all = Buffer.concat([...person.sent, ...bodies]).toString('latin1');
    assert.ok(!order.test(all), 'the deck is in something that the page was sent');
  }
});

// Two people in a world that the server alone steps: each page shows what its seat sees, a key counts after a round trip,
// a reload comes back, and the file says that the world repeats itself.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Participant, Server, drawLess, launch, noFirefox, scratch } from './harness.mjs';
import { exported, verified } from './match.mjs';

const browsers = [];
before(async () => {
  const engines = noFirefox ? ['chromium'] : ['chromium', 'firefox'];
  browsers.push(...await Promise.all(engines.map(engine => launch(engine))));
});
after(() => Promise.all(browsers.map(browser => browser.close())));

/** A server with a kitchen on a host, and two people in it. */
async function play(t, more) {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await mkdir(study);
  await writeFile(path.join(study, 'study.yaml'), `format: 1
study: {id: hosted, version: 1.0.0, title: Hosted kitchen, contact: lab@example.edu}
timeline:
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 60, on_timeout: wait}
  - id: play
    type: env
    env: overcooked@2.0.0
    run: host
    players: [self, partner]
    config: {layout: cramped_room, horizon: 300, tick_hz: 20}
    ${more}
  - {id: thanks, type: end, file: thanks.md}
`);
  await writeFile(path.join(study, 'thanks.md'), '# Thanks\n');
  const server = await Server.start({ study, data: `${folder}/data`, args: ['--links', '2'] });
  t.after(() => server.kill());
  const people = await Promise.all(server.links.map((link, at) =>
    Participant.open(browsers[at % browsers.length], link, { name: `page ${at}`, before: drawLess })));
  t.after(() => Promise.all(people.map(person => person.context.close())));
  await Promise.all(people.map(person => person.knows(({ status }) => status === 'playing')));
  return { study, server, people };
}

/** All read the outcome and come to the end. */
async function finish({ server, people }) {
  await Promise.all(people.map(async person => {
    await person.goOn();
    await person.shows('end');
    // While there is no server, a browser may say that its socket cannot be opened.
    const errors = person.errors.filter(error => !error.includes(`:${server.port}/session`));
    assert.deepEqual(errors, [], 'nothing failed in the page');
  }));
  const { code, episodes } = await verified(server.data);
  assert.equal(code, 0, 'coplay verify finds nothing wrong');
  assert.equal(episodes.length, 1);
  assert.deepEqual([episodes[0].way, episodes[0].verdict], ['host', 'equal']);
  return episodes[0];
}

test('two people play a world on a host, and their pages load no environment', async t => {
  const game = await play(t, '');
  const [first, second] = game.people;
  for (const person of game.people) {
    const loaded = person.asked.filter(url => url.endsWith('.wasm') && url.includes('/modules/'));
    assert.deepEqual(loaded, [], 'no module is fetched');
    assert.ok((await person.report()).hosted);
  }
  await first.knows(({ tick }) => tick > 5);
  await first.page.keyboard.press('ArrowUp');
  // The page shows a pressed key immediately, though its picture comes from the server.
  const pressed = second.page.locator('.keys kbd.down').first();
  await second.page.keyboard.down('ArrowLeft');
  await pressed.waitFor();
  assert.equal(await pressed.innerText(), '←');
  await second.page.keyboard.up('ArrowLeft');
  await pressed.waitFor({ state: 'detached' });
  await first.knows(({ views, tick }) => views > 10 && tick > 20);
  // The second page is reloaded, and comes back to a world that went on.
  await second.page.reload();
  await second.knows(({ status, tick }) => status === 'playing' && tick > 30);
  await second.page.keyboard.press('ArrowRight');
  await finish(game);
  const { steps, keys } = await exported(game.server.data, ['steps', 'keys']);
  assert.equal(steps.length, 600);
  const [key] = keys.filter(row => row.action_name === 'move_up' && row.down === 'true');
  const entered = steps.find(row => row.seat === key.seat && row.tick === key.tick);
  assert.equal(entered.action_name, 'move_up', 'the tick that the key names is the one that it entered');
  assert.ok(Number(key.shown_unix_us) > Number(key.at_unix_us), 'a frame answered it');
});

test('a server that dies goes on with the world where its file ends', async t => {
  const game = await play(t, 'on_disconnect: {grace_s: 60, meanwhile: hold}');
  await Promise.all(game.people.map(person => person.knows(({ tick }) => tick > 40)));
  const { data, port } = game.server;
  await game.server.kill();
  const again = await Server.start({ study: game.study, data, port });
  t.after(() => again.kill());
  await Promise.all(game.people.map(person => person.knows(({ status, tick }) => status === 'playing' && tick > 60)));
  const episode = await finish(game);
  assert.equal(episode.ticks, 300);
});

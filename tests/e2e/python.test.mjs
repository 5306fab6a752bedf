// Environments in Python: a game of PettingZoo that nobody here wrote and one's own on a host, and CoGrid's own kitchen in
// the Python of pages, each played by two people in real browsers with real keys.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import { Participant, ROOT, Server, coplay, drawLess, launch, noFirefox, scratch } from './harness.mjs';
import { exported, verified } from './match.mjs';

/** The program that holds an episode beside the native kitchen. */
const KITCHENS = process.env.COPLAY_KITCHENS ? [process.env.COPLAY_KITCHENS]
  : [process.env.CARGO ?? 'cargo', 'run', '--quiet', '-p', 'page-python', '--example', 'kitchens', '--'];

/** Server and pages start a whole Python, one after the other on a small machine. */
const PYTHON_STARTS = 90_000;

const browsers = [];
before(async () => {
  const engines = noFirefox ? ['chromium'] : ['chromium', 'firefox'];
  browsers.push(...await Promise.all(engines.map(engine => launch(engine))));
});
after(() => Promise.all(browsers.map(browser => browser.close())));

/** The people of a study, all of them playing; `more` says for each how the page is opened. */
async function open(t, study, folder, more = () => ({}), count = 2) {
  const options = { study, data: `${folder}/data`, args: ['--links', String(count)], soon: PYTHON_STARTS };
  const server = await Server.start(options);
  t.after(() => server.kill());
  const people = await Promise.all(server.links.map((link, at) => {
    const { browser = browsers[at % browsers.length], ...options } = more(at);
    return Participant.open(browser, link, { name: `page ${at}`, before: drawLess, ...options });
  }));
  t.after(() => Promise.all(people.map(person => person.context.close())));
  await Promise.all(people.map(async person => {
    await person.page.waitForFunction(() => window.coplay?.report());
    if (await person.shows(['instructions', 'lobby', 'play']) === 'instructions') await person.read();
    await person.knows(({ status }) => status === 'playing', PYTHON_STARTS);
  }));
  const bySeat = [];
  for (const person of people) bySeat[(await person.report()).seat] = person;
  return { server, people: bySeat };
}

/** A study of one game for two people, or for those who are `players`. */
async function studyOf(t, env, more, players = '[self, partner]') {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await mkdir(study);
  await writeFile(path.join(study, 'study.yaml'), `format: 1
study: {id: python, version: 1.0.0, title: A game in Python, contact: lab@example.edu}
timeline:
${players.includes('partner') ? '  - {id: lobby, type: lobby, group_size: 2, timeout_s: 60, on_timeout: wait}' : ''}
  - {id: play, type: env, env: ${env}, players: ${players}${more}}
  - {id: thanks, type: end, file: thanks.md}
`);
  await writeFile(path.join(study, 'thanks.md'), '# Thanks\n');
  return { folder, study };
}

/** All read the outcome and come to the end; the one episode of the study, which holds. */
async function finish({ server, people }, way) {
  await Promise.all(people.map(async person => {
    await person.goOn();
    await person.shows('end');
    assert.deepEqual(person.errors, [], 'nothing failed in the page');
  }));
  const { code, episodes } = await verified(server.data);
  assert.equal(code, 0, 'coplay verify finds nothing wrong');
  assert.equal(episodes.length, 1);
  assert.deepEqual([episodes[0].way, episodes[0].verdict], [way, 'equal']);
  return episodes[0];
}

test('two people play Pong of PettingZoo on a host, unmodified, in pictures of its own', async t => {
  const world = '{pettingzoo: butterfly/cooperative_pong_v6, action_names: [wait, up, down], noop: wait, '
    + 'keys: {up: [ArrowUp], down: [ArrowDown]}, horizon: 60}';
  const { folder, study } = await studyOf(t, world, '');
  const game = await open(t, study, folder);
  const [first, second] = game.people;
  for (const person of game.people) assert.ok((await person.report()).hosted);
  await first.page.keyboard.down('ArrowUp');
  await second.page.keyboard.down('ArrowDown');
  await first.knows(({ views, tick }) => views > 5 && tick > 20);
  const colours = await first.page.evaluate(() => {
    const canvas = document.querySelector('section.play canvas');
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  });
  assert.ok(colours > 2, 'the paddles and the ball are in the picture');
  const { ticks } = await finish(game, 'host');
  const { steps } = await exported(game.server.data, ['steps']);
  assert.equal(steps.length, 2 * ticks);
  for (const [seat, name] of [['0', 'up'], ['1', 'down']]) {
    assert.ok(steps.filter(row => row.seat === seat && row.action_name === name).length > 5, `seat ${seat} went ${name}`);
  }
});

test('two people take turns in a game of PettingZoo that has its own rules for whose turn it is', async t => {
  const { folder, study } = await studyOf(t, '{pettingzoo: classic/tictactoe_v3}', ', mode: turns');
  const game = await open(t, study, folder);
  // Cells count down the columns: the first has 1, 2 and 3.
  const moves = [[0, 'Digit1'], [1, 'Digit4'], [0, 'Digit2'], [1, 'Digit5'], [0, 'Digit3']];
  for (const [tick, [seat, key]] of moves.entries()) {
    const [one, other] = [game.people[seat], game.people[1 - seat]];
    await one.knows(report => report.status === 'playing' && report.tick === tick);
    await one.says(/your turn/i);
    // It is not the other's turn: this key says nothing, now or later.
    await other.page.keyboard.press('Digit9');
    await one.page.keyboard.press(key);
  }
  const episode = await finish(game, 'host');
  assert.equal(episode.ticks, moves.length);
  const { seats } = await exported(game.server.data, ['seats']);
  assert.deepEqual(seats.map(row => Number(row.seat_score ?? row.score)).sort(), [-1, 1]);
});

test('a game of one\'s own is played on a host as `coplay new` writes it', async t => {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  const made = await coplay('new', 'environment', '--python', study);
  assert.equal(made.code, 0, made.stderr);
  const game = await open(t, study, folder);
  await game.people[0].page.keyboard.press('ArrowRight');
  await game.people[1].page.keyboard.press('ArrowLeft');
  await game.people[0].knows(({ tick }) => tick > 0);
});

/** A world in which each seat sees the word of the other, and no seat its own; it breaks down with both in its error. */
const SECRET = `
import time

WORDS = ["lantern-of-seat-zero", "compass-of-seat-one"]

class World:
    possible_agents = ["zero", "one"]
    action_names = ["wait", "break", "slow"]
    keys = {"break": ["Space"], "slow": ["KeyS"]}
    tick_hz, horizon = 10, 600

    def reset(self, seed=None, options=None):
        self.is_slow = False
        return self.observations(), {agent: {"word": WORDS[at]} for at, agent in enumerate(self.possible_agents)}

    def step(self, actions):
        if 1 in actions.values():
            raise ValueError("the words are " + ", ".join(WORDS))
        self.is_slow = self.is_slow or 2 in actions.values()
        if self.is_slow:
            time.sleep(0.5)
        nothing = {agent: 0.0 for agent in self.possible_agents}
        over = {agent: False for agent in self.possible_agents}
        return self.observations(), nothing, over, over, {agent: {"word": WORDS[at]} for at, agent in enumerate(self.possible_agents)}

    def observations(self):
        return {agent: [ord(letter) for letter in WORDS[1 - at][:8]] for at, agent in enumerate(self.possible_agents)}

    def describe(self, seat):
        return "The other has " + WORDS[1 - seat]

    def draw(self, seat):
        text = {"text": WORDS[1 - seat], "at": [4, 1], "size": 0.5}
        return {"width": 8, "height": 2, "background": "white", "shapes": [text]}

def make():
    return World()
`;

/** A study of that world. */
async function secretStudy(t) {
  const { folder, study } = await studyOf(t, '{python: secret.py:make, infos: [word]}', ', run: host');
  await writeFile(path.join(study, 'secret.py'), SECRET);
  return { folder, study };
}

test('no byte that is sent to a page tells what its seat may not see, not even when the world breaks down', async t => {
  const { folder, study } = await secretStudy(t);
  const bytes = [[], []];
  const waiting = [];
  const game = await open(t, study, folder, at => ({
    // Firefox does not tell what comes over a socket.
    browser: browsers[0],
    listen(page) {
      page.on('websocket', socket => socket.on('framereceived', ({ payload }) => bytes[at].push(Buffer.from(payload))));
      page.on('response', response => waiting.push(response.body().then(body => bytes[at].push(body), () => {})));
    },
  }));
  const order = game.people.map(({ name }) => Number(name.at(-1)));
  await game.people[0].knows(({ views }) => views > 3);
  // The world is asked for everything again by a page that comes back.
  await game.people[1].page.reload();
  await game.people[1].knows(({ status, views }) => status === 'playing' && views > 2);
  await game.people[0].page.keyboard.press('Space');
  await Promise.all(game.people.map(person => person.shows(['end', 'outcome', 'notice'])));
  await Promise.all(waiting);
  const words = ['lantern-of-seat-zero', 'compass-of-seat-one'];
  for (const seat of [0, 1]) {
    const sent = Buffer.concat(bytes[order[seat]]);
    assert.ok(sent.includes(words[1 - seat]), 'the word of the other was sent, and would be found');
    for (const encoding of ['utf8', 'utf16le', 'hex', 'base64']) {
      const own = encoding === 'hex' || encoding === 'base64' ? Buffer.from(words[seat]).toString(encoding).slice(0, 20) : words[seat];
      assert.ok(!sent.includes(own, encoding === 'utf16le' ? 'utf16le' : 'utf8'), `seat ${seat} was sent its own word as ${encoding}`);
    }
    assert.ok(!sent.includes('class World'), 'the source stays on the server');
  }
});

/** Two people in that world, on a server of `coplay dev`. */
async function developing(t) {
  const { folder, study } = await secretStudy(t);
  const server = await Server.start({ study, data: `${folder}/data`, reload: true, args: ['--links', '2'] });
  t.after(() => server.kill());
  const people = await Promise.all(server.links.map((link, at) => Participant.open(browsers[0], link, { name: `page ${at}` })));
  t.after(() => Promise.all(people.map(person => person.context.close())));
  await Promise.all(people.map(person => person.knows(({ status, views }) => status === 'playing' && views > 1)));
  return people;
}

test('a page of `coplay dev` shows the traceback of an environment that broke down', async t => {
  const people = await developing(t);
  await people[0].page.keyboard.press('Space');
  await people[0].says(/The environment broke down/);
  await people[0].says(/secret\.py", line \d+, in step[^]*ValueError: the words are/);
});

test('an environment that takes five ticks for a step ends its own episode, and says why', async t => {
  const people = await developing(t);
  await people[0].page.keyboard.press('s');
  await people[0].says(/the environment is too slow: a step takes \d+ ms on average, and a tick has 100 ms/, 60_000);
  await Promise.all(people.map(person => person.shows(['end', 'outcome', 'notice'])));
});

test('a function of the researcher plays the other paddle', async t => {
  const world = '{pettingzoo: butterfly/cooperative_pong_v6, action_names: [wait, up, down], noop: wait, '
    + 'keys: {up: [ArrowUp], down: [ArrowDown]}, horizon: 40, policy: "players.py:choose"}';
  const { folder, study } = await studyOf(t, world, '', '[self, {policy: environment}]');
  await writeFile(path.join(study, 'players.py'), 'def choose(observation, seat):\n    return "up"\n');
  const game = await open(t, study, folder, () => ({}), 1);
  await finish(game, 'host');
  const { steps } = await exported(game.server.data, ['steps']);
  const chosen = seat => new Set(steps.filter(row => row.seat === seat).map(row => row.action_name));
  assert.deepEqual([chosen('0'), chosen('1')], [new Set(['wait']), new Set(['up'])]);
});

test('two people play CoGrid\'s own kitchen, unmodified, in the Python of their pages, with rollback', async t => {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await cp(path.join(ROOT, 'tests/python-page'), study, { recursive: true });
  const installed = await coplay('pyodide', 'install', '--from', path.join(ROOT, '.tools/pyodide'));
  assert.equal(installed.code, 0, installed.stderr);
  const game = await open(t, study, folder, at => (at === 0 ? { network: { latency_ms: 150 } } : {}));
  const [first, second] = game.people;
  await first.knows(({ tick }) => tick > 3);
  for (const key of ['ArrowUp', 'ArrowRight', 'ArrowLeft', 'ArrowRight', 'ArrowDown']) {
    await first.page.keyboard.press(key);
    await second.page.keyboard.press(key === 'ArrowUp' ? 'Space' : key);
  }
  const reports = await Promise.all(game.people.map(person => person.report()));
  assert.ok(reports.every(report => !report.hosted), 'each page steps the world itself');
  await Promise.all(game.people.map(person => person.knows(({ status }) => status === 'over', 60_000)));
  const isKept = async () => (await (await caches.open('python-start-1')).keys()).length === 1;
  await first.page.waitForFunction(isKept, undefined, { timeout: PYTHON_STARTS });
  const ends = await Promise.all(game.people.map(person => person.report()));
  assert.ok(ends.some(({ rollbacks }) => rollbacks > 0), 'a page was wrong about the other, and went back');
  const episode = await finish(game, 'page');
  assert.equal(episode.ticks, 100);
  const { steps } = await exported(game.server.data, ['steps']);
  assert.deepEqual(new Set(steps.map(row => row.action_name)), new Set(['up', 'down', 'left', 'right', 'pick_up_or_drop', 'wait']));
  assert.ok(ends.every(({ digest }) => digest === episode.digest), 'both pages and the server came to the same state');
  const environment = await only(path.join(game.server.data, 'modules'), '.wasm');
  const { stdout } = await promisify(execFile)(KITCHENS[0], [...KITCHENS.slice(1), episode.path, environment]);
  assert.equal(JSON.parse(stdout).ticks, episode.ticks, 'at every tick, the native kitchen gives what the pages played');
});

/** The only file of a folder with this ending. */
async function only(folder, ending) {
  const files = (await readdir(folder)).filter(name => name.endsWith(ending));
  assert.equal(files.length, 1, files.join(' '));
  return path.join(folder, files[0]);
}

// The figures of Python in a page, one JSON line for each: the time around the environment's own step, a rollback, and the
// time until somebody plays at 20 Mbit/s, on the first visit and on a later one.
//
//     node bench_python.mjs

import assert from 'node:assert/strict';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ROOT, Server, coplay, launch, scratch } from './harness.mjs';

/** An environment with a step of some 0.1 ms in the Python of pages: it counts, and adds up. */
const GAME = `
class Game:
    possible_agents = ["one"]
    action_names = ["wait", "go"]
    keys = {"go": ["Space"]}
    tick_hz, horizon = 10, 36000

    def reset(self, seed=None, options=None):
        self.sum = seed or 0
        return {"one": [0.0]}, {"one": {}}

    def step(self, actions):
        for number in range(LOOPS):
            self.sum = (self.sum * 31 + number + actions["one"]) % 65521
        return {"one": [float(self.sum)]}, {"one": 0.0}, {"one": False}, {"one": False}, {"one": {}}

    def draw(self, seat):
        return {"width": 4, "height": 1, "shapes": [{"rect": [self.sum % 4, 0, 1, 1], "id": 1}]}

LOOPS = 400

def make():
    return Game()
`;

const STARTS = 180_000;

const print = (name, value, unit) => console.log(JSON.stringify({ name, value: Number(value.toPrecision(3)), unit }));

const closing = [];
const t = { after: step => closing.unshift(step) };
const browser = await launch();
try {
  const installed = await coplay('pyodide', 'install', '--from', path.join(ROOT, '.tools/pyodide'));
  assert.equal(installed.code, 0, installed.stderr);
  const server = await serve();
  await measureVisits(server);
  await measureSteps(server);
} finally {
  for (const step of closing) await step();
  await browser.close();
}

/** A server with a study of this game, for two people who play alone. */
async function serve() {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await mkdir(study);
  await writeFile(path.join(study, 'game.py'), GAME);
  await writeFile(path.join(study, 'study.yaml'), `format: 1
study: {id: bench, version: 1.0.0, title: A game, contact: lab@example.edu}
timeline:
  - {id: play, type: env, env: {python: "game.py:make"}, run: page, players: [self], countdown_s: 0}
  - {id: thanks, type: end, file: thanks.md}
`);
  await writeFile(path.join(study, 'thanks.md'), '# Thanks\n');
  const server = await Server.start({ study, data: `${folder}/data`, args: ['--links', '2'], soon: STARTS });
  t.after(() => server.kill());
  return server;
}

/** From the address to the game, by two people one after the other, in one browser that keeps what it has fetched. */
async function measureVisits(server) {
  const context = await browser.newContext();
  t.after(() => context.close());
  for (const [visit, link] of [['first', server.links[0]], ['later', server.links[1]]]) {
    const page = await context.newPage();
    const cdp = await context.newCDPSession(page);
    let bytes = 0;
    await cdp.send('Network.enable');
    cdp.on('Network.loadingFinished', ({ encodedDataLength }) => { bytes += encodedDataLength; });
    const speed = 20e6 / 8;
    await cdp.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: speed, uploadThroughput: speed });
    const begun = performance.now();
    await page.goto(link);
    await page.waitForFunction(() => JSON.parse(window.coplay?.report() ?? '{}').status === 'playing', undefined, { timeout: STARTS });
    print(`from the address to the game at 20 Mbit/s, ${visit} visit`, (performance.now() - begun) / 1_000, 's');
    print(`transferred for it, ${visit} visit`, bytes / 1e6, 'MB');
    await page.close();
  }
}

/** What the page's Python takes around the environment's own step. */
async function measureSteps(server) {
  const modules = path.join(server.data, 'modules');
  const [file] = (await readdir(modules)).filter(name => name.endsWith('.wasm'));
  const archive = (await readFile(path.join(modules, file))).toString('base64');
  const library = await readFile(path.join(ROOT, 'web/python_world.js'), 'utf8');
  const response = await fetch(new URL(`modules/${file}`, server.url));
  const version = response.headers.get('coplay-pyodide');
  assert.ok(version, 'the server says with which Pyodide the file is opened');
  // The lines of the page are brought by this program, which a page of the server would not take.
  const context = await browser.newContext({ bypassCSP: true });
  t.after(() => context.close());
  const page = await context.newPage();
  await page.goto(server.url);
  const { own, step, save, load, rollback } = await page.evaluate(timePython, { archive, library, version });
  print('step of an environment by itself, in the same Python', own, 'ms');
  print('the same step by the page', step, 'ms');
  print('what the page adds to a step', step - own, 'ms');
  print('saving a state', save, 'ms');
  print('loading a state', load, 'ms');
  print('rollback of 8 ticks', rollback, 'ms');
}

/** In the page: milliseconds, each the median of several rounds. */
async function timePython({ archive, library, version }) {
  const base = new URL(`/pyodide/${version}/`, location.href).href;
  const { loadPyodide } = await import(`${base}pyodide.mjs`);
  const lines = URL.createObjectURL(new Blob([library], { type: 'text/javascript' }));
  const { openWorld, startPython } = await import(lines);
  const python = await startPython(loadPyodide, base);
  const world = await openWorld(python, 'bench', Uint8Array.from(atob(archive), c => c.charCodeAt(0)));
  if (world.coplay_open(0) !== 0) throw new Error('the environment refuses its own defaults');
  world.coplay_facts();
  world.coplay_reset(7n);
  const time = (count, work) => {
    const rounds = Array.from({ length: 7 }, () => {
      const start = performance.now();
      for (let at = 0; at < count; at += 1) work(at);
      return (performance.now() - start) / count;
    });
    return rounds.sort((a, b) => a - b)[3];
  };
  const act = tick => {
    new Uint16Array(world.memory.buffer, world.coplay_inbox(2), 1)[0] = tick % 2;
    world.coplay_step(1);
  };
  const own = python.runPython(`
import time
import game as bench_game

def time_own_steps():
    env = bench_game.make()
    env.reset(7)
    rounds = []
    for _ in range(7):
        start = time.perf_counter()
        for at in range(500):
            env.step({"one": at % 2})
        rounds.append((time.perf_counter() - start) / 500 * 1000)
    return sorted(rounds)[3]

time_own_steps()
`);
  const step = time(500, act);
  const save = time(500, () => world.coplay_save(0));
  const load = time(500, () => world.coplay_load(0));
  const rollback = time(60, () => {
    world.coplay_load(0);
    for (let tick = 0; tick < 8; tick += 1) {
      world.coplay_save(1 + tick);
      act(tick);
    }
  });
  return { own, step, save, load, rollback };
}

// A world on a host whose picture is a photograph: it travels as JPEG, no finer than the page shows it; a point on it means
// what the environment says; and the infos that the study names are in the tables.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Participant, Server, launch, scratch } from './harness.mjs';
import { exported, verified } from './match.mjs';

/** The server starts a whole Python. */
const PYTHON_STARTS = 90_000;

/** A person looks for a mark in a photograph of 960 by 720 pixels: it lies to the left or to the right of the middle. */
const WORLD = `
import numpy as np

HEIGHT, WIDTH = 720, 960

class Search:
    action_names = ["wait", "left", "right"]
    momentary = ["left", "right"]
    tick_hz, horizon = 5, 900

    def reset(self, seed=None, options=None):
        grain = np.random.default_rng(seed).integers(0, 8, (HEIGHT, WIDTH, 3))
        y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
        smooth = np.stack([x // 5, y // 4, (x + y) // 9], axis=-1)
        self.photo, self.found, self.left = (smooth + grain).astype(np.uint8), 0, 60
        return np.zeros(1, np.float32), {"found": 0}

    def step(self, action):
        self.found += action in (1, 2)
        self.left -= self.found == 2
        return np.full(1, self.found, np.float32), float(action == 2), self.left == 0, False, {"found": self.found, "more": 7}

    def render(self):
        photo = self.photo.copy()
        # A flat square, which has to stay flat; it is where something was found last.
        photo[0:96, 96 * self.found : 96 * self.found + 96] = (250, 200, 0)
        return photo

    def point(self, seat, x, y):
        return None if abs(x - 8) < 1 else "left" if x < 8 else "right"

def make():
    return Search()
`;

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

test('a photograph of a host travels as JPEG, a click on it counts, and named infos are in the tables', async t => {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await mkdir(study);
  await writeFile(path.join(study, 'search.py'), WORLD);
  await writeFile(path.join(study, 'thanks.md'), '# Thanks\n');
  await writeFile(path.join(study, 'study.yaml'), `format: 1
study: {id: search, version: 1.0.0, title: A search, contact: lab@example.edu}
timeline:
  - {id: play, type: env, env: {python: "search.py:make", infos: [found]}, players: [self]}
  - {id: thanks, type: end, file: thanks.md}
`);
  const server = await Server.start({ study, data: `${folder}/data`, args: ['--links', '1'], soon: PYTHON_STARTS });
  t.after(() => server.kill());
  const views = [];
  const person = await Participant.open(browser, server.links[0], {
    listen: page => page.on('websocket', socket => socket.on('framereceived', ({ payload }) => views.push(Buffer.from(payload)))),
  });
  t.after(() => person.context.close());
  const { page } = person;
  await person.knows(({ status, views }) => status === 'playing' && views > 1, PYTHON_STARTS);
  /** The place of a point of the picture, which is 16 by 12 units: of the canvas, and of the page. */
  const placeOf = point => page.$eval('#stage', (canvas, [x, y]) => {
    const scale = Math.floor(Math.min(canvas.width / 16, canvas.height / 12));
    const at = [(canvas.width - 16 * scale) / 2 + x * scale, (canvas.height - 12 * scale) / 2 + y * scale];
    const box = canvas.getBoundingClientRect();
    return { canvas: at, page: [box.x + at[0] * box.width / canvas.width, box.y + at[1] * box.height / canvas.height] };
  }, point);
  const [left, middle, right] = await Promise.all([[4, 6], [8, 6], [12, 6]].map(placeOf));
  const named = name => page.waitForFunction(name => document.querySelector('#stage').title === name, name);
  const cursor = () => page.$eval('#stage', canvas => getComputedStyle(canvas).cursor);
  await page.mouse.move(...left.page);
  await named('Left');
  assert.equal(await cursor(), 'pointer');
  await page.mouse.move(...middle.page);
  await named('');
  assert.notEqual(await cursor(), 'pointer');
  await page.mouse.move(...right.page);
  await named('Right');
  await page.mouse.down();
  await page.mouse.up();
  await page.mouse.click(...left.page);
  // The square is at the third place now, in its own colour: it is 1.6 units wide.
  const square = await placeOf([4, 0.8]);
  await page.waitForFunction(([x, y]) => {
    const { data } = document.querySelector('#stage').getContext('2d').getImageData(x, y, 1, 1);
    return data[0] === 250 && data[1] === 200 && data[2] === 0;
  }, square.canvas);
  await person.goOn();
  await person.shows('end');
  assert.deepEqual(person.errors, [], 'nothing failed in the page');

  const jpegs = views.filter(bytes => bytes.includes(Buffer.from([0xff, 0xd8, 0xff])));
  assert.ok(jpegs.length > 0, 'the photograph came as JPEG');
  const total = views.reduce((sum, bytes) => sum + bytes.length, 0);
  assert.ok(total < 960 * 720 * 3 / 4, `${total} bytes for a photograph and its steps`);
  const { episodes } = await verified(server.data);
  assert.deepEqual([episodes[0].way, episodes[0].verdict], ['host', 'equal']);
  const { steps, keys, step_infos: infos } = await exported(server.data, ['steps', 'keys', 'step_infos']);
  const acted = steps.filter(row => row.action_name !== 'wait').map(row => row.action_name);
  assert.deepEqual(acted, ['right', 'left'], 'each click counts once, in the order of clicks');
  const downs = keys.filter(row => row.down === 'true');
  assert.deepEqual(downs.map(row => row.action_name), ['right', 'left']);
  assert.ok(downs.every(row => Number(row.shown_unix_us) > Number(row.at_unix_us)), 'a frame answered each click');
  assert.equal(infos.length, steps.length, 'the info of every step, and no other info');
  assert.ok(infos.every(row => row.name === 'found' && row.seat === '0'));
  const found = infos.map(row => Number(row.value));
  assert.equal(found.at(-1), 2);
  for (const [index, row] of steps.entries()) {
    const before = index > 0 ? found[index - 1] : 0;
    assert.equal(found[index] - before, row.action_name === 'wait' ? 0 : 1, `tick ${row.tick}`);
  }
});

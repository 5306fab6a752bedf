// Environments that weigh hundreds of megabytes, unmodified from their packages, played on a host in a real browser with
// real keys: Atari for one person at sixty frames a second, Atari for a person and a function of the researcher, and
// Craftax and XLand-MiniGrid in turns. `cargo xtask hosts` runs this file with a Python that has the packages.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { ROOT, launch } from './harness.mjs';
import { COMPILED, playAlone } from './hosted.mjs';
import { exported, verified } from './match.mjs';

const ROMS = execFileSync(process.env.COPLAY_PYTHON, [
  '-c', 'import ale_py, pathlib; print(pathlib.Path(ale_py.__file__).parent / "roms")',
]).toString().trim();

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const WORLDS = { 'jax_worlds.py': await readFile(path.join(ROOT, 'python/heavy/jax_worlds.py'), 'utf8') };

/** One person in a game; `files` are written beside the study. */
const open = (t, env, players, more, files = {}) => playAlone(t, browser, { env, players, more, files: { ...WORLDS, ...files } });

/** The person reads the outcome; the episode repeats itself, and its tables. */
async function finish({ server, person }, names) {
  await person.shows(['outcome', 'end'], COMPILED);
  await person.goOn();
  await person.shows('end');
  assert.deepEqual(person.errors, [], 'nothing failed in the page');
  const { code, episodes } = await verified(server.data);
  assert.equal(code, 0, 'coplay verify finds nothing wrong');
  assert.deepEqual([episodes[0].way, episodes[0].verdict], ['host', 'equal']);
  return { ...await exported(server.data, names), episode: episodes[0] };
}

/** Colours on the canvas. */
const colours = person => person.page.evaluate(() => {
  const canvas = document.querySelector('section.play canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
});

test('one person plays Atari at sixty frames a second, and keys count on every frame', async t => {
  const env = '{gymnasium: ALE/Pong-v5, tick_hz: 60, horizon: 300, kwargs: {frameskip: 1, repeat_action_probability: 0.25}}';
  const game = await open(t, env, '[self]', '');
  await game.person.page.keyboard.down('ArrowRight');
  await game.person.knows(({ tick }) => tick > 120);
  await game.person.page.keyboard.up('ArrowRight');
  assert.ok(await colours(game.person) > 3, 'the game is in the picture');
  const { views } = await game.person.report();
  const { steps, keys } = await finish(game, ['steps', 'keys']);
  assert.equal(steps.length, 300, 'every frame is a row');
  const held = steps.filter(row => row.action_name === 'right').map(row => Number(row.tick));
  assert.deepEqual(held, held.map((_, at) => held[0] + at), 'the key counts from one frame to another, without a gap');
  assert.equal(held[0], Number(keys.find(row => row.down === 'true').tick), 'from the frame that the key entered');
  const speed = Math.round(game.received.bytes / (steps.length / 60) / 1000);
  console.error(`    Pong: ${views} views in the first ${held.length} frames, ${speed} kB a second`);
});

test('a person and a function that decides every four frames play two-player Atari', async t => {
  const env = `{pettingzoo: atari/pong_v3, tick_hz: 60, horizon: 240, policy: "players.py:choose", kwargs: {auto_rom_install_path: "${ROMS}"}}`;
  const game = await open(t, env, '[self, {policy: environment}]', '', { 'players.py': `
frames = [0]

def choose(observation, seat):
    if len(observation.shape) != 3:
        raise ValueError("the function sees the frame")
    frames[0] += 1
    return ["right", "left"][frames[0] // 4 % 2]
` });
  await game.person.page.keyboard.press('Space');
  const { steps } = await finish(game, ['steps']);
  const partner = steps.filter(row => row.seat === '1').map(row => row.action_name);
  assert.equal(partner.length, 240);
  const changes = partner.flatMap((name, at) => (at > 0 && name !== partner[at - 1] ? [at] : []));
  assert.ok(changes.every((at, index) => index === 0 || at - changes[index - 1] === 4), 'it decides every four frames');
});

for (const [name, world, size] of [
  ['Craftax', 'craftax_classic', 'picture: "jax_worlds.py:craftax_classic_picture", '],
  ['XLand-MiniGrid', 'xland', ''],
]) {
  test(`one person plays ${name} in turns, with response times`, async t => {
    const env = `{python: "jax_worlds.py:${world}", ${size}tick_hz: 0, horizon: 6}`;
    const game = await open(t, env, '[self]', ', mode: turns');
    for (let tick = 0; tick < 6; tick += 1) {
      await game.person.knows(report => report.status !== 'playing' || (report.views > 0 && report.tick === tick), COMPILED);
      if (tick === 3) assert.ok(await colours(game.person) > 3, 'the world is in the picture');
      await game.person.page.keyboard.press((await game.person.page.evaluate(() => window.coplay.key_for(1))) ?? 'Digit2');
    }
    const { keys, episode } = await finish(game, ['keys']);
    assert.equal(episode.ticks, 6);
    const downs = keys.filter(row => row.down === 'true');
    assert.equal(downs.length, 6);
    assert.ok(downs.every(row => Number(row.shown_unix_us) >= Number(row.at_unix_us)), 'each key has the frame that answered it');
    console.error(`    ${name}: ${Math.round(game.received.bytes / 6 / 1000)} kB a key, ${downs.map(row => Math.round((row.shown_unix_us - row.at_unix_us) / 1000)).join(', ')} ms from key to frame`);
  });
}

// An environment that says what a point of its picture means: the template, as `coplay new environment` writes it.
// `cargo xtask test` makes the module.

import assert from 'node:assert/strict';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Participant, ROOT, Server, launch, scratch } from './harness.mjs';
import { exported } from './match.mjs';

const TEMPLATES = process.env.COPLAY_TEMPLATES ?? path.join(ROOT, 'target/templates');
const MODULE = path.join(TEMPLATES, 'target/wasm32-unknown-unknown/debug/rust_env.wasm');
const CELLS = 7;

const STUDY = `format: 1
study: {id: pointer, version: 1.0.0, title: Pointer, contact: lab@example.edu}
timeline:
  - {id: play, type: env, env: rust_env@0.1.0, module: rust_env.wasm, players: [self, vacant], config: {horizon: 60}}
  - {id: thanks, type: end, file: thanks.md}
`;

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

test('a click beside the player moves it there, and the pointer shows where a click means something', async t => {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await mkdir(study);
  await writeFile(path.join(study, 'study.yaml'), STUDY);
  await writeFile(path.join(study, 'thanks.md'), '# Thanks\n');
  await copyFile(MODULE, path.join(study, 'rust_env.wasm'));
  const server = await Server.start({ study, data: `${folder}/data` });
  t.after(() => server.kill());
  const person = await Participant.open(browser, server.links[0]);
  t.after(() => person.context.close());
  const { page } = person;
  await person.shows('play');
  await person.knows(({ status, tick }) => status === 'playing' && tick > 0);
  const words = /You are at column (\d), row (\d)/;
  await page.waitForFunction(pattern => new RegExp(pattern).test(document.querySelector('#words').textContent), words.source);
  const [column, row] = words.exec(await page.textContent('#words')).slice(1).map(Number);
  const right = column < CELLS;
  /** The middle of a cell on the page. */
  const at = async (column, row) => {
    const { x, y, width, height } = await page.locator('#stage').boundingBox();
    const side = Math.floor(Math.min(width, height) / CELLS);
    return [x + width / 2 + (column - 0.5 - CELLS / 2) * side, y + height / 2 + (row - 0.5 - CELLS / 2) * side];
  };
  const stage = () => page.$eval('#stage', canvas => [canvas.title, getComputedStyle(canvas).cursor]);
  const name = right ? 'Right' : 'Left';
  await page.mouse.move(...await at(column, row));
  await page.waitForFunction(() => document.querySelector('#stage').title === '');
  const beside = await at(column + (right ? 1 : -1), row);
  await page.mouse.move(...beside);
  await page.waitForFunction(name => document.querySelector('#stage').title === name, name);
  assert.deepEqual(await stage(), [name, 'pointer']);
  await page.mouse.down();
  await page.mouse.up();
  await person.goOn();
  await person.shows('end');
  const { steps } = await exported(server.data);
  const acted = steps.filter(({ seat, action_name }) => seat === '0' && action_name !== 'stay');
  assert.deepEqual(acted.map(({ action_name }) => action_name), [name.toLowerCase()], 'once, however long it is down');
});

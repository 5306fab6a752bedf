// An environment of one's own that breaks down in the middle of a match: no dead page, and nothing that was played is lost.
// `cargo xtask test` makes the module: the example in C, giving up in its 40th step.

import assert from 'node:assert/strict';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Participant, ROOT, SOON, Server, launch, scratch } from './harness.mjs';
import { verified } from './match.mjs';

const MODULE = path.join(process.env.COPLAY_TEMPLATES ?? path.join(ROOT, 'target/templates'), 'tired.wasm');
const STEPS = 39;

const STUDY = `format: 1
study: {id: tired, version: 1.0.0, title: Tag, contact: lab@example.edu}
timeline:
  - {id: lobby, type: lobby, group_size: 2, timeout_s: 60, on_timeout: wait}
  - {id: play, type: env, env: tag@0.1.0, module: tired.wasm, players: [self, partner]}
  - {id: thanks, type: end, file: thanks.md}
`;

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

test('a module that traps ends the round in a sentence, and what was played is kept', async t => {
  const folder = await scratch(t);
  const study = path.join(folder, 'study');
  await mkdir(study);
  await writeFile(path.join(study, 'study.yaml'), STUDY);
  await writeFile(path.join(study, 'thanks.md'), '# Thanks\n');
  await copyFile(MODULE, path.join(study, 'tired.wasm'));
  const server = await Server.start({ study, data: `${folder}/data` });
  t.after(() => server.kill());
  const people = await Promise.all(server.links.map((link, seat) =>
    Participant.open(browser, link, { name: `page ${seat}` })));
  t.after(() => Promise.all(people.map(person => person.context.close())));
  await Promise.all(people.map(async person => {
    await person.shows('outcome', 2 * SOON);
    assert.match(await person.page.textContent('section.play .overlay'), /technical problem/);
    await person.goOn();
    await person.shows('end');
    assert.deepEqual(person.errors, [], 'nothing failed in the page');
  }));
  const { code, episodes } = await verified(server.data);
  assert.equal(code, 0, 'coplay verify finds nothing wrong');
  assert.deepEqual(episodes.map(({ ticks }) => ticks), [STEPS]);
});

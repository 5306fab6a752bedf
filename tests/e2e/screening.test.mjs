// Screening in real browsers: a small window is told why and can be made larger, and who cannot take part ends as
// ineligible with the reason and the code.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Participant, Server, launch, sideBySide } from './harness.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

/** A server with a study that screens so, for the time of a test. */
async function serve(t, screening) {
  const dir = await mkdtemp(path.join(tmpdir(), 'coplay-screening-'));
  const study = path.join(dir, 'study');
  await mkdir(study);
  await writeFile(path.join(study, 'study.yaml'), `format: 1
study: {id: screened, version: 1.0.0, title: Cooking alone, contact: lab@example.edu}
recruitment:
  provider: none
  outcomes:
    ineligible: {do: screen_out, pay: none, code: SORRY-42}
screening: ${screening}
timeline:
  - {id: consent, type: consent, file: consent.md}
  - {id: play, type: env, env: overcooked@2.0.0, players: [self, {policy: cook}], config: {layout: cramped_room, horizon: 60}}
`);
  await writeFile(path.join(study, 'consent.md'), '# Take part?\n\nYou cook alone.\n');
  const server = await Server.start({ study, data: path.join(dir, 'data') });
  t.after(async () => {
    await server.stop();
    await rm(dir, { recursive: true, force: true });
  });
  return server;
}

const heading = person => person.page.textContent('h1');

sideBySide(3, () => {
  test('a small window is told what is needed, and goes on once it is large enough', async t => {
    const server = await serve(t, '{min_window: {width: 800, height: 600}, min_fps: 1, max_step_ms: 1000}');
    const person = await Participant.open(browser, server.url, { device: { viewport: { width: 640, height: 500 } } });
    await person.says(/window of at least 800 × 600\. Yours has 640 × 500\./);
    await person.page.setViewportSize({ width: 900, height: 700 });
    await person.says(/Yours has 900 × 700\./);
    await person.page.click('button.primary');
    await person.says(/You cook alone/);
    assert.equal(await heading(person), 'Take part?');
    assert.deepEqual(person.errors, []);
    await person.context.close();
  });

  test('who cannot take part ends as ineligible, with the reason and the code', async t => {
    const server = await serve(t, '{min_fps: 240, attempts: 1}');
    const person = await Participant.open(browser, server.url);
    await person.shows('end');
    await person.says(/The study needs 240 frames a second\./);
    await person.says(/SORRY-42/);
    assert.deepEqual(person.errors, []);
    // It is the same after a reload: nothing is measured again.
    await person.page.reload();
    await person.shows('end');
    await person.says(/240 frames/);
    await person.context.close();
  });

  test('who cannot change what is lacking says so, and is told the way out', async t => {
    const server = await serve(t, '{device: [phone], formula: width > 10000, explain: Turn the phone on its side.}');
    const person = await Participant.open(browser, server.url);
    await person.says(/The study needs a phone\./);
    await person.says(/Open the same link on a phone\./);
    await person.says(/Turn the phone on its side\./);
    await person.page.click('button.secondary');
    await person.shows('end');
    await person.says(/SORRY-42/);
    assert.deepEqual(person.errors, []);
    await person.context.close();
  });
});

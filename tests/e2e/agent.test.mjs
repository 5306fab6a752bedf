// A model of one's own as an AI partner: beside one person, and in the place of one who is gone. The server simulates
// the same episodes natively, so one bit of difference in the arithmetic of a browser would be told.

import assert from 'node:assert/strict';
import { copyFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Participant, ROOT, Server, launch, noFirefox, scratch, sideBySide, studyWith } from './harness.mjs';
import { exported, verified } from './match.mjs';
import { enter, survive } from './rounds.mjs';

const MODEL = path.join(ROOT, 'examples/overcooked-coord/cook_clone.onnx');
const BOT = '{policy: cook_clone.onnx, temperature: 0.5, every_ticks: 2}';

const browsers = {};
before(async () => {
  for (const engine of noFirefox ? ['chromium'] : ['chromium', 'firefox']) browsers[engine] = await launch(engine);
});
after(() => Promise.all(Object.values(browsers).map(browser => browser.close())));

async function serve(t, changes, links) {
  const folder = await scratch(t);
  const study = await studyWith({ bot: BOT, ...changes }, folder);
  await copyFile(MODEL, path.join(study, 'cook_clone.onnx'));
  const server = await Server.start({ study, data: `${folder}/data`, args: ['--links', String(links)] });
  t.after(() => server.kill());
  return server;
}

/** The only episode, which the server simulates as the pages did, and its tables. */
async function episode(server) {
  const { code, episodes } = await verified(server.data);
  assert.equal(code, 0, `coplay verify finds nothing wrong: ${JSON.stringify(episodes)}`);
  assert.equal(episodes.length, 1);
  assert.equal(episodes[0].diverged?.length ?? 0, 0, `no page simulated something else: ${JSON.stringify(episodes)}`);
  return { ...episodes[0], ...await exported(server.data) };
}

sideBySide(4, () => {
  for (const engine of ['chromium', 'firefox']) {
    test(`one person alone plays with a model: ${engine}`, { skip: engine === 'firefox' && noFirefox }, async t => {
      const server = await serve(t, { timeout_s: 5, horizon: 300, tick_hz: 20 }, 1);
      const person = await Participant.open(browsers[engine], server.links[0]);
      t.after(() => person.context.close());
      const report = await person.takePart();
      assert.deepEqual(person.errors, [], 'nothing failed in the page');
      const { ticks, digest, steps } = await episode(server);
      assert.equal(ticks, 300);
      assert.equal(report.digest, digest);
      const played = steps.filter(({ controller }) => /^cook_clone\.onnx@[0-9a-f]{64}$/.test(controller));
      assert.equal(played.length, 300, 'the model plays one seat from first to last');
      const acts = played.filter(({ action_name: name }) => name !== 'noop').length;
      assert.ok(acts > 10, `and does something: ${acts} actions in 300 ticks`);
    });
  }

  test('one person alone plays with a model on a host', async t => {
    const hosted = { env: 'overcooked@2.0.0\n    run: host' };
    const server = await serve(t, { timeout_s: 5, horizon: 200, tick_hz: 20, ...hosted }, 1);
    const person = await Participant.open(browsers.chromium, server.links[0]);
    t.after(() => person.context.close());
    await person.takePart();
    assert.deepEqual(person.errors, [], 'nothing failed in the page');
    const { ticks, way, verdict, steps } = await episode(server);
    assert.deepEqual([ticks, way, verdict], [200, 'host', 'equal']);
    const played = steps.filter(({ controller }) => /^cook_clone\.onnx@[0-9a-f]{64}$/.test(controller));
    assert.equal(played.length, 200, 'the model plays one seat from first to last');
    assert.ok(played.some(({ action_name: name }) => name !== 'noop'), 'and does something');
  });

  test('a model takes the seat of a person whose tab is killed', async t => {
    const gone = { horizon: 360, tick_hz: 30, on_disconnect: '{grace_s: 1, meanwhile: bot, then: bot}' };
    const server = await serve(t, gone, 2);
    const people = await enter(t, server, [browsers.chromium, browsers.firefox ?? browsers.chromium]);
    const [killed, ...survivors] = people;
    const surviving = survive(t, survivors, 1_500);
    await killed.play(({ report }) => report.confirmed >= 120);
    await killed.context.close();
    const [report] = await surviving;
    assert.equal(report.ended, gone.horizon);
    const { digest, steps } = await episode(server);
    assert.equal(report.digest, digest);
    const taken = steps.filter(({ controller }) => controller.startsWith('cook_clone.onnx@'));
    assert.ok(taken.length > 150, `it played on: ${taken.length} ticks`);
  });
});

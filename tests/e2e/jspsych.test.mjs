// The plugin of `packages/jspsych-coplay` in the real jsPsych, with a study on a real server.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { test } from 'node:test';
import { Participant, ROOT, SOON, Server, coplay, launch, scratch } from './harness.mjs';

/** The files of the page of an experiment, by their path. */
const FILES = {
  '/jspsych.js': path.join(ROOT, 'tests/e2e/node_modules/jspsych/dist/index.browser.js'),
  '/index.browser.js': path.join(ROOT, 'packages/jspsych-coplay/index.browser.js'),
  '/plugin.js': path.join(ROOT, 'packages/jspsych-coplay/plugin.js'),
};

/** The website of an experiment with one trial before the study, and one after it. */
async function experiment(t, link) {
  const page = () => `<!doctype html><title>Experiment</title><script src="/jspsych.js"></script><script type="module">
    import '/index.browser.js';
    class Button {
      static info = { name: 'button', version: '1.0.0', parameters: { label: { type: jsPsychModule.ParameterType.STRING } }, data: {} };
      constructor(jsPsych) { this.jsPsych = jsPsych; }
      trial(display, { label }) {
        const button = Object.assign(document.createElement('button'), { textContent: label });
        button.onclick = () => this.jsPsych.finishTrial({});
        display.replaceChildren(button);
      }
    }
    const jsPsych = initJsPsych({ on_finish: () => { window.data = jsPsych.data.get().values(); } });
    jsPsych.run([
      { type: Button, label: 'Begin' }, { type: jsPsychCoplay, url: ${JSON.stringify(link())} }, { type: Button, label: 'Finish' },
    ]);
  </script>`;
  const server = createServer(async ({ url }, answer) => {
    const file = FILES[url];
    answer.writeHead(200, { 'content-type': file ? 'text/javascript' : 'text/html' });
    answer.end(file ? await readFile(file) : page());
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  t.after(() => { server.close(); server.closeAllConnections(); });
  return `http://127.0.0.1:${server.address().port}/`;
}

test('a study is a trial of jsPsych, which goes on with the next when the study has ended', async t => {
  const folder = await scratch(t);
  const { code, stderr } = await coplay('new', 'survey', `${folder}/study`);
  assert.equal(code, 0, stderr);
  let link;
  const address = await experiment(t, () => link);
  const args = ['--parent', address];
  const server = await Server.start({ study: `${folder}/study`, data: `${folder}/data`, serve: true, args });
  t.after(() => server.kill());
  [link] = server.links;
  const browser = await launch();
  t.after(() => browser.close());

  const { page, errors } = await Participant.open(browser, address, { name: 'person' });
  await page.getByRole('button', { name: 'Begin' }).click({ timeout: SOON });
  const study = page.frameLocator('iframe');
  await study.getByRole('button', { name: 'I do not agree' }).click({ timeout: SOON });
  await page.getByRole('button', { name: 'Finish' }).click({ timeout: SOON });
  await page.waitForFunction(() => window.data, null, { timeout: SOON });
  const trials = await page.evaluate(() => window.data);
  assert.deepEqual(trials.map(({ trial_type }) => trial_type), ['button', 'coplay', 'button']);
  assert.equal(trials[1].outcome, 'no_consent');
  assert.equal(typeof trials[1].receipt, 'string');
  assert.ok(trials[1].rt > 0, `${trials[1].rt} ms`);
  assert.deepEqual(errors.filter(line => !line.includes('favicon')), []);
});

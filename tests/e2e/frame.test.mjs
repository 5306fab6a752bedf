// A study in the frame of another page: only declared pages may show it, and they get a message at the end.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { Participant, SOON, Server, coplay, launch, scratch, sideBySide } from './harness.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser?.close());

/** A website that shows what `address` says in a frame, and writes down the messages that it gets. */
async function website(t, address) {
  const server = createServer((_, answer) => {
    answer.writeHead(200, { 'content-type': 'text/html' });
    answer.end(`<title>Questionnaire</title><script>
      window.heard = [];
      addEventListener('message', ({ origin, data }) => heard.push({ origin, data }));
    </script><iframe src="${address()}" width="700" height="600"></iframe>`);
  });
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
  t.after(() => { server.close(); server.closeAllConnections(); });
  return `http://127.0.0.1:${server.address().port}/`;
}

sideBySide(2, () => {
  test('a declared page shows a study, and hears how it has ended; another page shows nothing', async t => {
    const folder = await scratch(t);
    const study = `${folder}/study`;
    const { code, stderr } = await coplay('new', 'survey', study);
    assert.equal(code, 0, stderr);
    let link;
    const parent = await website(t, () => link);
    const stranger = await website(t, () => link);
    const server = await Server.start({ study, data: `${folder}/data`, serve: true, args: ['--parent', `${parent}form`] });
    t.after(() => server.kill());
    [link] = server.links;

    const other = await Participant.open(browser, stranger, { name: 'stranger' });
    await other.page.waitForFunction(() => document.readyState === 'complete', null, { timeout: SOON });
    assert.equal(await other.page.frameLocator('iframe').locator('#app').count(), 0, 'the browser shows nothing');
    assert.ok(other.errors.some(line => line.includes('frame-ancestors')), `${other.errors}`);

    const person = await Participant.open(browser, parent, { name: 'person' });
    const frame = person.page.frameLocator('iframe');
    await frame.getByRole('button', { name: 'I do not agree' }).click({ timeout: SOON });
    await frame.locator('section.end').waitFor({ timeout: SOON });
    await person.page.waitForFunction(() => window.heard.length > 0, null, { timeout: SOON });
    const [{ origin, data }] = await person.page.evaluate(() => window.heard);
    assert.equal(origin, new URL(server.url).origin);
    assert.equal(data.type, 'coplay.ended');
    assert.equal(data.outcome, 'no_consent');
    assert.equal(typeof data.code, 'string');
    assert.deepEqual(person.errors, []);
  });
});
